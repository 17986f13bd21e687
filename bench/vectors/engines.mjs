// Vector indexes behind one face, for Node.js and for workers of a page alike:
//
//   start(env)              -> engine
//   engine.build(base, set)    an index of all rows, M 16 and efConstruction 200 where there are such
//   engine.at(point)        -> search(query): the ids of the ten nearest, nearest first
//   engine.queryOf(values)     a query as the engine takes it; made before the clock starts
//   engine.fileBytes()         of the index as it is stored
//
// `env` is `{ isNode, bytesOf(url), scratch }`: reading a file beside this script, and a folder for files.
const K = 10;
const [M, EF_CONSTRUCTION, SEED] = [16, 200, 100];
/** Breadths of a walk over a graph, 10 points of a curve. */
const BREADTHS = [10, 16, 24, 36, 50, 75, 110, 160, 240, 400].map((ef) => ({ ef }));
/** Space of unit vectors for engines with an inner product. */
const spaceOf = ({ metric }) => (metric === "l2" ? "l2" : "ip");
const rowOf = (base, { dims }, row) => base.subarray(row * dims, row * dims + dims);

/** Recalls that are asked for, and cells and shortlists that are named: 10 points of a curve each. */
export const OWN_POINTS = [
  ...[0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995].map((recall) => ({ recall })),
  ...[[8, 2], [12, 2], [16, 3], [24, 4], [40, 4], [56, 4], [96, 5], [160, 8], [256, 10], [512, 20]].map(([probes, oversample]) => ({ probes, oversample })),
];

/** The package as a caller in the same thread sees it. */
const rangefind = {
  points: OWN_POINTS,
  async start({ isNode }) {
    const { build, memory, open } = await import(isNode ? "../../dist/node.js" : "../../dist/inline.js");
    // The module is loaded here, as those of the peers are.
    const first = await open({ storage: memory() });
    await first.close();
    const storage = memory();
    let index, bytes, stats;
    return {
      async build(base, { dims, count, metric }) {
        const ids = Array.from({ length: count }, (_, id) => id);
        const schema = { v: { type: "vector", dims, metric } };
        ({ bytes } = await build({ ids, vectors: { v: { data: base, dims } } }, { storage, schema, memory: "1 GiB" }));
        index = await open({ storage, mode: "readOnly" });
      },
      at: (point) => async (value) => {
        const found = await index.search({ vector: { field: "v", value, ...point }, limit: K, select: [], gpu: "off" });
        stats = found.stats;
        return found.hits.map(({ id }) => id);
      },
      queryOf: (values) => values,
      fileBytes: () => bytes,
      lastStats: () => ({ cells: stats.cellsProbed, codes: stats.codesScored, rows: stats.vectorsScored }),
      close: () => index.close(),
    };
  },
};

/** The package over files, with the cache it has by default: `set.index` holds them. */
const rangefindFiles = {
  points: [{}],
  async start() {
    const { files, memory, open } = await import("../../dist/node.js");
    const first = await open({ storage: memory() });
    await first.close();
    let index;
    return {
      async build(_, set) {
        index = await open({ storage: files(set.index), mode: "readOnly" });
      },
      at: (point) => async (value) => {
        const { hits } = await index.search({ vector: { field: "v", value, ...point }, limit: K, select: [], gpu: "off" });
        return hits.map(({ id }) => id);
      },
      queryOf: (values) => values,
      fileBytes: () => null,
      close: () => index.close(),
    };
  },
};

const hnswlibWasm = {
  points: BREADTHS,
  async start({ isNode }) {
    // Made for pages: it looks for these before it starts.
    if (isNode) Object.assign(globalThis, { window: globalThis, self: globalThis, document: { currentScript: null } });
    const { default: factory } = await import("../node_modules/hnswlib-wasm/dist/hnswlib-317962d7.js");
    const { HierarchicalNSW } = await factory();
    let index, links;
    return {
      build(base, set) {
        index = new HierarchicalNSW(spaceOf(set), set.dims, "");
        index.initIndex(set.count, M, EF_CONSTRUCTION, SEED);
        for (let row = 0; row < set.count; row++) index.addPoint(rowOf(base, set, row), row, false);
        links = set.count * (set.dims * 4 + 2 * M * 4 + 4 + 8);
      },
      at({ ef }) {
        index.setEfSearch(ef);
        return (query) => index.searchKnn(query, K, undefined).neighbors;
      },
      queryOf: (values) => values,
      // It writes to IndexedDB alone: rows, links of the lowest level and labels, which are all but a few percent.
      fileBytes: () => links,
    };
  },
};

const edgevec = {
  /** Rows that it builds in minutes: of a part of the set, in its favour. */
  part: 20_000,
  // A walk is as broad as hits are asked for; binary codes are scored again by a multiple of them.
  points: [...[10, 20, 40, 80, 160, 320].map((ef) => ({ ef })), ...[2, 5, 10, 25].map((rescore) => ({ rescore }))],
  async start({ bytesOf }) {
    const { default: init, EdgeVec, EdgeVecConfig } = await import("../node_modules/edgevec/edgevec.js");
    await init({ module_or_path: await bytesOf("../node_modules/edgevec/edgevec_bg.wasm") });
    let index, first;
    return {
      build(base, set) {
        const config = new EdgeVecConfig(set.dims);
        // Of unit vectors the same order as the cosine, and quicker.
        config.metric = "l2";
        [config.m, config.m0, config.ef_construction, config.ef_search] = [M, 2 * M, EF_CONSTRUCTION, K];
        index = new EdgeVec(config);
        for (let row = 0; row < set.count; row++) {
          const id = index.insert(rowOf(base, set, row));
          first ??= id;
        }
        if (set.dims % 8 === 0) index.enableBQ();
      },
      at: ({ ef, rescore }) => rescore === undefined
        ? (query) => index.search(query, ef).slice(0, K).map(({ id }) => id - first)
        : (query) => index.searchBQRescored(query, K, rescore).map(({ id }) => id - first),
      queryOf: (values) => values,
      fileBytes: () => index.serializedSize(),
    };
  },
};

/** Seconds of a call that finds the only vector there is: what crossing into native code takes. */
function borderOf(search, query) {
  const times = Array.from({ length: 9 }, () => {
    const started = performance.now();
    for (let call = 0; call < 50; call++) search(query);
    return (performance.now() - started) / 50 / 1000;
  });
  return times.sort((a, b) => a - b)[4];
}

const usearch = {
  points: BREADTHS,
  async start({ scratch }) {
    const { Index } = await import("usearch");
    const { statSync } = await import("node:fs");
    const path = `${scratch}/usearch.index`;
    const made = ({ dims, metric }, ef) => new Index({
      dimensions: dims, metric: metric === "l2" ? "l2sq" : "ip", quantization: "f32", connectivity: M, expansion_add: EF_CONSTRUCTION,
      expansion_search: ef, multi: false,
    });
    let index, set;
    return {
      build(base, given) {
        set = given;
        index = made(set, K);
        for (let row = 0; row < set.count; row++) index.add(BigInt(row), rowOf(base, set, row), 1);
        index.save(path);
      },
      at({ ef }) {
        // The breadth is set for good when an index is made.
        index = made(set, ef);
        index.load(path);
        return (query) => index.search(query, K, 1).keys;
      },
      queryOf: (values) => values,
      fileBytes: () => statSync(path).size,
      border(query) {
        const one = made(set, K);
        one.add(0n, query, 1);
        return borderOf((asked) => one.search(asked, 1, 1), query);
      },
    };
  },
};

const hnswlibNode = {
  points: BREADTHS,
  async start({ scratch }) {
    const { default: { HierarchicalNSW } } = await import("hnswlib-node");
    const { statSync } = await import("node:fs");
    const path = `${scratch}/hnswlib.index`;
    const made = (set, count) => {
      const index = new HierarchicalNSW(spaceOf(set), set.dims);
      index.initIndex(count, M, EF_CONSTRUCTION, SEED);
      return index;
    };
    let index, set;
    return {
      build(base, given) {
        set = given;
        index = made(set, set.count);
        for (let row = 0; row < set.count; row++) index.addPoint(Array.from(rowOf(base, set, row)), row);
      },
      at({ ef }) {
        index.setEf(ef);
        return (query) => index.searchKnn(query, K).neighbors;
      },
      // It takes nothing but plain arrays.
      queryOf: (values) => Array.from(values),
      fileBytes() {
        index.writeIndexSync(path);
        return statSync(path).size;
      },
      border(query) {
        const one = made(set, 1);
        one.addPoint(query, 0);
        return borderOf((asked) => one.searchKnn(asked, 1), query);
      },
    };
  },
};

/** Engines by name. */
export const engines = { rangefind, "rangefind-files": rangefindFiles, "hnswlib-wasm": hnswlibWasm, edgevec, usearch, "hnswlib-node": hnswlibNode };
