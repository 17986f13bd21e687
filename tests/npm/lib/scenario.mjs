// What every runtime must be able to do, through the public API alone. Runs unchanged in pages, Node.js, Deno and
// Workers: imports nothing, is told everything, answers plain data.

const DIMS = 16;
const TOPICS = [
  ["ocean", "wave", "harbour", "sailor", "tide"],
  ["mountain", "glacier", "summit", "ridge", "climber"],
  ["compiler", "parser", "register", "linker", "syntax"],
  ["bread", "oven", "flour", "baker", "yeast"],
];
const COUNTRIES = ["de", "fr", "jp"];

/** The schema of all test indexes. */
export const SCHEMA = {
  title: { type: "text", boost: 2 },
  body: "text",
  country: "keyword",
  year: "integer",
  price: "number",
  published: "date",
  draft: "bool",
  embedding: { type: "vector", dims: DIMS, metric: "cosine" },
};

/** Numbers of a seed, the same everywhere. */
function random(seed) {
  let state = seed * 2654435761 + 12345;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 8) / (1 << 24);
  };
}

/** A vector near its topic's axis. */
export function vectorOf(number) {
  const next = random(number + 1);
  const vector = Float32Array.from({ length: DIMS }, () => (next() - 0.5) * 0.4);
  vector[(number % TOPICS.length) * 4] += 1;
  return vector;
}

/** Document `number`: every fourth one is of one topic. */
export function documentOf(number) {
  const next = random(1000 + number);
  const words = TOPICS[number % TOPICS.length];
  const word = () => words[Math.floor(next() * words.length)];
  return {
    id: `doc-${number}`,
    title: `${word()} number ${number}`,
    body: `The ${word()} and the ${word()} met a ${word()} near the common place. Unique${number} word.`,
    country: COUNTRIES[number % COUNTRIES.length],
    year: 2000 + (number % 25),
    price: number / 4,
    published: new Date(Date.UTC(2020, 0, 1 + number)),
    draft: number % 10 === 0,
    embedding: number % 2 === 0 ? vectorOf(number) : Array.from(vectorOf(number)),
  };
}

/** Documents `from` to `to`, the latter left out. */
export function* documents(from, to) {
  for (let number = from; number < to; number += 1) yield documentOf(number);
}

async function* slowly(docs) {
  for (const doc of docs) {
    if (doc.year % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    yield doc;
  }
}

function assert(condition, message) {
  if (!condition) throw new Error(message);
}

function equal(actual, expected, what) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a}, expected ${b}`);
}

/** Ids of a response, best first. */
const idsOf = ({ hits }) => hits.map(({ id }) => id);

/** What of a response must not depend on where and how the index is stored. */
const essence = ({ hits, total, facets }) => ({
  total,
  facets,
  hits: hits.map(({ id, score, doc }) => [id, Math.round(score * 1e5), doc.title]),
});

/** Searches whose answers are compared between an index and its copies. */
export const QUERIES = [
  { query: "glacier summit", limit: 20 },
  { query: '"common place"', facets: ["country"], limit: 5 },
  { query: "unique17" },
  { vector: { field: "embedding", value: [...vectorOf(3)] }, limit: 12 },
  { query: "baker", vector: { field: "embedding", value: vectorOf(3) }, filter: { country: ["de", "fr"] } },
  { filter: { year: { gte: 2010, lt: 2015 }, draft: false }, sort: [{ field: "price", order: "desc" }], limit: 7 },
];

/** Answers of `index` to all of {@link QUERIES}. */
export async function answers(index) {
  const all = [];
  for (const request of QUERIES) all.push(essence(await index.search(request)));
  return all;
}

/**
 * Runs the checks and answers `[{ name, ok, error, millis }]`.
 *
 * @param rangefind the package
 * @param options `storage()`: a fresh writable storage each time; `persistent`: `[name] => storage`, the same again
 *   for the same name, where there are any; `http`: URL of an index of documents 0–200, with the answers it must
 *   give; `gpu`: whether a (software) adapter must be there or must not; `crash`: whether the build has the crash
 *   query; `only`: names of checks to run.
 */
export async function runScenario(rangefind, options) {
  const { open, build, merge, memory, custom, http, SearchError } = rangefind;
  const { storage, persistent, http: remote, gpu, crash, only, timeoutMillis = 60_000 } = options;
  const results = [];

  const check = async (name, work) => {
    if (only !== undefined && !only.includes(name)) return;
    const started = Date.now();
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no end after ${timeoutMillis} ms`)), timeoutMillis);
    });
    try {
      await Promise.race([work(), late]);
      results.push({ name, ok: true, millis: Date.now() - started });
    } catch (error) {
      const text = error instanceof Error ? `${error.code ?? error.name}: ${error.message}\n${error.stack}` : String(error);
      results.push({ name, ok: false, error: text, millis: Date.now() - started });
    } finally {
      clearTimeout(timer);
    }
  };

  /** `work` must reject with a SearchError of `code`. */
  const rejects = async (code, work, what) => {
    let value;
    try {
      value = await (typeof work === "function" ? work() : work);
    } catch (error) {
      assert(error instanceof SearchError, `${what}: not a SearchError but ${error?.stack ?? error}`);
      assert(error.code === code, `${what}: code ${error.code} instead of ${code} (${error.message})`);
      assert(error.message.length > 0, `${what}: no message`);
      return error;
    }
    throw new Error(`${what}: no error but ${JSON.stringify(value)}`);
  };

  if (storage !== undefined) {
    const place = storage();
    let reference;

    await check("builds from an async iterable, with progress", async () => {
      const news = [];
      const report = await build(slowly(documents(0, 200)), {
        storage: place, schema: SCHEMA, onProgress: (progress) => news.push(progress),
      });
      equal(report.numDocs, 200, "documents");
      equal(report.refused, [], "refused");
      equal(report.numSegments, 1, "segments");
      assert(report.bytes > 10_000, `bytes: ${report.bytes}`);
      assert(news.length > 0, "no progress");
      for (const { phase, done, total } of news) {
        assert(typeof phase === "string" && done >= 0 && total >= 0, `progress ${JSON.stringify([phase, done, total])}`);
      }
      await rejects("invalid_argument", build([], { storage: place, schema: SCHEMA }), "a second build in one place");
    });

    await check("opens and describes", async () => {
      const index = await open({ storage: place });
      const info = await index.info();
      equal([info.numDocs, info.numDeleted, info.segments.length, info.readOnly], [200, 0, 1, false], "info");
      equal(info.fields.map(({ name }) => name), ["id", ...Object.keys(SCHEMA)], "fields");
      equal(info.schema.embedding.dims, DIMS, "dims");
      await index.close();
      await index.close();
    });

    await check("searches text, with highlights in UTF-16", async () => {
      const index = await open({ storage: place });
      const all = await index.search("glacier");
      assert(all.total > 20 && all.hits.length === 10, `glacier: ${all.total}, ${all.hits.length}`);
      for (const { id, doc } of all.hits) {
        assert(Number(id.slice(4)) % 4 === 1 && JSON.stringify(doc).includes("glacier"), `${id} is no mountain`);
        assert(!("embedding" in doc), "the stored document holds its vector");
      }
      const one = await index.search({ query: "unique42", highlight: ["body"], explain: true });
      equal(idsOf(one), ["doc-42"], "unique42");
      const [{ ranges }] = one.hits[0].highlights;
      equal(one.hits[0].doc.body.slice(...ranges[0]), "Unique42", "highlight");
      assert(Math.abs(one.hits[0].explain.value - one.hits[0].score) < 1e-3, "explanation");
      equal((await index.search({ query: '"place common"' })).total, 0, "a phrase in the wrong order");
      equal((await index.search({ query: '"common place"', limit: 0 })).total, 200, "a phrase");
      equal((await index.search({ query: "nothing", limit: 3 })).hits, [], "no hits");
      await index.close();
    });

    await check("searches vectors exactly", async () => {
      const index = await open({ storage: place });
      const query = vectorOf(77);
      const cosine = (a, b) => {
        const dot = (x, y) => x.reduce((sum, value, at) => sum + value * y[at], 0);
        return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
      };
      const expected = Array.from({ length: 200 }, (_, number) => [`doc-${number}`, (1 + cosine(query, vectorOf(number))) / 2])
        .sort((a, b) => b[1] - a[1]).slice(0, 10);
      const { hits, total, stats } = await index.search({ vector: { field: "embedding", value: query } });
      equal(total, 200, "total");
      equal(hits.map(({ id }) => id), expected.map(([id]) => id), "nearest");
      hits.forEach(({ score }, at) => assert(Math.abs(score - expected[at][1]) < 1e-5, `score ${score}`));
      assert(stats.vectorsScored >= 200 && stats.compute.length > 0, JSON.stringify(stats));
      equal(query.length, DIMS, "the caller's vector after the search");
      const like = await index.search({ vector: { field: "embedding", like: "doc-77" }, limit: 9 });
      equal(idsOf(like), expected.slice(1).map(([id]) => id), "more like this");
      await index.close();
    });

    await check("fuses text and vectors", async () => {
      const index = await open({ storage: place });
      const vector = { field: "embedding", value: Array.from(vectorOf(3)) };
      const hybrid = await index.search({ query: "baker bread", vector, limit: 5 });
      assert(hybrid.hits.length === 5 && hybrid.hits.every(({ id }) => Number(id.slice(4)) % 4 === 3), idsOf(hybrid).join());
      assert(hybrid.hits.some(({ textScore, vectorScore }) => textScore > 0 && vectorScore > 0), "no fused hit");
      const weights = (text, vector) => ({ weights: { text, vector } });
      const textOnly = await index.search({ query: "baker bread", vector, fuse: weights(1, 0), limit: 5 });
      equal(idsOf(textOnly), idsOf(await index.search({ query: "baker bread", limit: 5 })), "the text leg alone");
      const vectorOnly = await index.search({ query: "baker bread", vector, fuse: weights(0, 1), limit: 5 });
      equal(idsOf(vectorOnly), idsOf(await index.search({ vector, limit: 5 })), "the vector leg alone");
      await index.close();
    });

    await check("filters, sorts and counts", async () => {
      const index = await open({ storage: place });
      const { hits, total, facets } = await index.search({
        filter: { country: ["de", "jp"], year: { gte: 2010 }, published: { lt: new Date(Date.UTC(2020, 3, 1)) } },
        sort: [{ field: "price", order: "desc" }], facets: ["country", { field: "draft", limit: 5 }], limit: 4,
      });
      const all = [...documents(0, 200)].filter(({ country, year, published }) =>
        country !== "fr" && year >= 2010 && published < new Date(Date.UTC(2020, 3, 1)));
      equal(total, all.length, "total");
      equal(hits.map(({ doc }) => doc.price), all.map(({ price }) => price).sort((a, b) => b - a).slice(0, 4), "order");
      const count = (country) => all.filter((doc) => doc.country === country).length;
      equal(Object.fromEntries(facets[0].values.map(({ value, count }) => [value, count])), { de: count("de"), jp: count("jp") }, "facet");
      equal(facets[1].field, "draft", "second facet");
      const { hits: [selected] } = await index.search({ query: "unique8", select: ["year"] });
      equal(selected.doc, { year: 2008 }, "selected fields");
      equal(await index.get(["doc-5", "absent"]).then((docs) => docs.map((doc) => doc?.year)), [2005, undefined], "get");
      equal((await index.get("doc-6")).year, 2006, "get one");
      reference = await answers(index);
      await index.close();
    });

    await check("adds, refuses, replaces, deletes, rolls back", async () => {
      const index = await open({ storage: storage(), schema: SCHEMA, mode: "create" });
      const docs = [...documents(0, 20)];
      docs[3] = { ...docs[3], year: "soon" };
      docs[7] = { ...docs[7], embedding: [1, 2, 3] };
      docs[9] = 17;
      docs[11] = { ...docs[11], embedding: new Float32Array(DIMS).fill(NaN) };
      const news = [];
      const report = await index.add(docs, { onProgress: (progress) => news.push(progress) });
      equal(report.added, 16, "added");
      equal(report.refused.map(({ row, field, code }) => [row, field, code]),
        [[3, "year", "wrong_type"], [7, "embedding", "wrong_dims"], [9, undefined, "not_an_object"], [11, "embedding", "not_finite"]].map(([row, field, code]) => [row, field ?? null, code]),
        "refused");
      equal(report.refused[0].id, "doc-3", "id of a refused document");
      assert(report.refused.every(({ reason }) => reason.length > 0), "a refusal without a reason");
      equal(news.at(-1), { phase: "add", done: 20, total: 20 }, "progress");
      equal((await index.search("number")).total, 0, "before the commit");
      equal((await index.info()).pendingDocs, 16, "pending");
      const commit = await index.commit();
      equal([commit.numDocs, commit.changed], [16, true], "commit");
      equal((await index.search("number")).total, 16, "after the commit");
      await index.add([{ ...documentOf(0), title: "replaced" }]);
      equal(await index.delete(["doc-1", "absent"]), 1, "deleted");
      equal(await index.delete("doc-2"), 1, "deleted one");
      await index.commit();
      equal([(await index.search("number")).total, idsOf(await index.search("replaced"))], [13, ["doc-0"]], "after changes");
      await index.add(documents(100, 110));
      await index.delete("doc-4");
      await index.rollback();
      equal([(await index.commit()).changed, (await index.search({})).total], [false, 14], "after a rollback");
      await index.close();
    });

    await check("takes columns, streams and any iterable", async () => {
      const index = await open({ storage: storage(), schema: SCHEMA });
      const data = new Float32Array(3 * DIMS);
      [50, 51, 52].forEach((number, row) => data.set(vectorOf(number), row * DIMS));
      await index.add({ ids: [50, 51, 52], vectors: { embedding: { data, dims: DIMS } }, docs: [{ year: 1 }, {}, { title: "x" }] });
      equal(data.length, 3 * DIMS, "the caller's array after the add");
      await index.add(new ReadableStream({
        start(controller) {
          for (const doc of documents(0, 5)) controller.enqueue(doc);
          controller.close();
        },
      }));
      await index.add(new Set(documents(5, 8)));
      await index.commit();
      equal((await index.search({})).total, 11, "documents");
      const nearest = await index.search({ vector: { field: "embedding", value: vectorOf(51) }, limit: 1 });
      equal([idsOf(nearest), nearest.hits[0].doc], [[51], { id: 51 }], "nearest");
      await rejects("invalid_argument", index.add({ ids: [1], vectors: { embedding: { data, dims: DIMS } } }), "wrong columns");
      await rejects("invalid_argument", index.add(7), "a number");
      const broken = async function* () {
        yield documentOf(90);
        throw new RangeError("source broke");
      };
      const error = await rejects("invalid_argument", index.add(broken()), "a source that throws");
      assert(error.cause instanceof RangeError, "its cause");
      await index.close();
    });

    await check("reads a source no faster than it indexes", async () => {
      const index = await open({ storage: storage(), schema: SCHEMA });
      const body = "wave after wave ".repeat(4096);
      let [pulled, done, most] = [0, 0, 0];
      const source = async function* () {
        for (const doc of documents(0, 64)) {
          most = Math.max(most, (pulled += 1) - done);
          yield { ...doc, body };
        }
      };
      await index.add(source(), { onProgress: (progress) => (done = progress.done) });
      equal([pulled, done], [64, 64], "documents");
      // 16 documents of 64 KiB make a batch: one in the engine, one waiting, one being made.
      assert(most <= 3 * 17, `${most} documents were read ahead`);
      await index.rollback();
      await index.close();
    });

    await check("infers a schema", async () => {
      const index = await open({ storage: storage() });
      await index.add([
        { id: 1, name: "red apple pie", kind: "fruit", size: 3, vec: Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0) },
        { id: 2, name: "green pear cake", kind: "fruit", size: 4, vec: Float32Array.of(0, 1, 0, 0, 0, 0, 0, 0) },
      ]);
      await index.commit();
      equal(idsOf(await index.search("pear")), [2], "text");
      equal(idsOf(await index.search({ vector: { field: "vec", value: [1, 0.1, 0, 0, 0, 0, 0, 0] } })), [1, 2], "vectors");
      equal((await index.info()).schema.vec.dims, 8, "inferred dims");
      await index.close();
    });

    await check("merges with progress; answers stay the same", async () => {
      const place = storage();
      const index = await open({ storage: place, schema: SCHEMA, autoMerge: false });
      for (let part = 0; part < 4; part += 1) {
        await index.add(documents(part * 50, part * 50 + 50));
        if (part === 3) await index.add([documentOf(300)]);
        await index.commit();
      }
      await index.delete("doc-300");
      await index.commit();
      const before = await answers(index);
      equal(before.map(({ total }) => total), reference.map(({ total }) => total), "totals against one build");
      const news = [];
      const running = index.merge({ maxSegments: 1, memory: "16MiB", onProgress: (progress) => news.push(progress) });
      const during = await index.search("unique42");
      equal(idsOf(during), ["doc-42"], "a search during the merge");
      const report = await running;
      equal([report.numSegments, report.docs, report.droppedDocs], [1, 200, 1], "report");
      assert(news.length > 0 && news.at(-1).done === news.at(-1).total && news.at(-1).total > 0, JSON.stringify(news.at(-1)));
      equal(await answers(index), reference, "answers after the merge against one build");
      equal((await index.info()).segments.length, 1, "segments");
      const verdict = await index.check();
      equal([verdict.ok, verdict.problems], [true, []], "check");
      await index.close();
    });

    await check("merges several storages into one", async () => {
      const [left, right, into] = [memory(), storage(), storage()];
      await build(documents(0, 120), { storage: left, schema: SCHEMA });
      await build(documents(100, 200), { storage: right, schema: SCHEMA });
      const news = [];
      const report = await merge([left, right], { into, onProgress: (progress) => news.push(progress) });
      equal([report.numSegments, report.docs], [1, 200], "report");
      assert(news.length > 0, "no progress");
      const index = await open({ storage: into, mode: "readOnly" });
      equal(await answers(index), reference, "answers");
      await rejects("read_only", index.add([documentOf(0)]), "adding to a reader");
      await index.close();
      await rejects("invalid_argument", merge([left], { into }), "merging into an index");
    });

    await check("cancels", async () => {
      const index = await open({ storage: place });
      const reason = new Error("the user left");
      const aborted = AbortSignal.abort(reason);
      for (const [what, work] of Object.entries({
        open: () => open({ storage: place, signal: aborted }),
        search: () => index.search({ query: "glacier", signal: aborted }),
        get: () => index.get("doc-1", { signal: aborted }),
        add: () => index.add(documents(0, 3), { signal: aborted }),
        merge: () => index.merge({ signal: aborted }),
        check: () => index.check({ signal: aborted }),
        build: () => build(documents(0, 3), { storage: memory(), signal: aborted }),
        "merge of storages": () => merge([place], { into: memory(), signal: aborted }),
      })) {
        equal((await rejects("aborted", work, what)).cause, reason, `${what}: cause`);
      }
      const during = new AbortController();
      const search = index.search({ query: "glacier", signal: during.signal });
      during.abort(reason);
      const outcome = await search.then(() => undefined, (error) => error);
      if (outcome !== undefined) equal([outcome.code, outcome.cause === reason], ["aborted", true], "a running search");
      // A source that never goes on must not keep the add from ending.
      const stuck = new AbortController();
      let closed = false;
      const adding = index.add({
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise((resolve) => setTimeout(() => stuck.abort(reason), 10)),
          return: async () => ({ done: (closed = true), value: undefined }),
        }),
      }, { signal: stuck.signal });
      await rejects("aborted", adding, "a stuck source");
      assert(closed, "the source was not closed");
      // A build that is cancelled leaves nothing behind.
      const target = storage();
      const building = new AbortController();
      const endless = function* () {
        for (let number = 0; ; number += 1) {
          if (number === 500) building.abort(reason);
          yield documentOf(number);
        }
      };
      const error = await rejects("aborted", build(endless(), { storage: target, schema: SCHEMA, signal: building.signal }), "a build");
      equal(error.cause, reason, "its cause");
      await rejects("not_found", open({ storage: target, mode: "open" }), "what a cancelled build left");
      await index.close();
    });

    await check("cancels a merge and keeps the index", async () => {
      // A small merge may be over before it can be stopped: then a larger one is tried.
      for (const docs of [400, 1600, 6400]) {
        const index = await open({ storage: storage(), schema: SCHEMA, autoMerge: false });
        for (let part = 0; part < 3; part += 1) {
          await index.add(documents(part * docs, (part + 1) * docs));
          await index.commit();
        }
        const controller = new AbortController();
        const merging = index.merge({ onProgress: () => controller.abort(), signal: controller.signal });
        const outcome = await merging.then(() => undefined, (error) => error);
        if (outcome !== undefined) {
          await rejects("aborted", Promise.reject(outcome), "a merge");
          equal([(await index.info()).segments.length, (await index.search({})).total], [3, 3 * docs], "the index afterwards");
          equal((await index.merge()).numSegments, 1, "the next merge");
        }
        await index.close();
        if (outcome !== undefined) return;
      }
      throw new Error("no merge could be stopped");
    });

    await check("fails with typed errors", async () => {
      await rejects("not_found", open({ storage: storage(), mode: "open" }), "an index that is not there");
      await rejects("invalid_argument", open({ storage: storage(), schema: { a: "nonsense" } }), "a bad schema");
      await rejects("invalid_argument", open({ storage: place, memory: "lots" }), "a bad budget");
      await rejects("invalid_argument", open({}), "no storage");
      const index = await open({ storage: place });
      await rejects("invalid_argument", index.search({ vector: { field: "embedding", value: [1, 2] } }), "wrong dims");
      await rejects("invalid_argument", index.search({ filter: { nowhere: 1 } }), "an unknown field");
      await rejects("invalid_argument", index.search({ wrong: 1 }), "an unknown option");
      await index.close();
      await rejects("closed", index.search("x"), "a closed index");
      await rejects("closed", index.add([]), "a closed index");
    });

    await check("refuses what it would have to guess at", async () => {
      const { signal } = new AbortController();
      const index = await open({ storage: place });
      const request = (more) => () => index.search({ query: "glacier", ...more });
      const vector = (clause) => request({ vector: { field: "embedding", ...clause } });
      for (const [message, work] of [
        ['open: unknown option "shema"', () => open({ storage: memory(), shema: SCHEMA })],
        ["open: a signal goes into", () => open({ storage: memory() }, signal)],
        ["open: graceMillis: NaN", () => open({ storage: memory(), graceMillis: NaN })],
        ["signal: an AbortSignal is needed", () => open({ storage: memory(), signal: new AbortController() })],
        ['build: unknown option "maxSegment"', () => build([], { storage: memory(), maxSegment: 1 })],
        ["merge: a signal goes into", () => merge([place], { into: memory() }, signal)],
        ["search: a signal goes into", () => index.search("glacier", signal)],
        ["search: too many arguments", () => index.search("glacier", { limit: 3 })],
        ["search: limit: NaN", request({ limit: NaN })],
        ['search: limit: expected a whole number of at least 0, found "5"', request({ limit: "5" })],
        ['unknown key "limt", expected query, syntax', request({ limt: 5 })],
        ["search: filter.country: a function", request({ filter: { country: () => "de" } })],
        ["search: filter.year.gte: 2000n is a BigInt", request({ filter: { year: { gte: 2000n } } })],
        ["vector: an object such as", request({ vector: [...vectorOf(3)] })],
        ['vector: "field" is missing', vector({ field: undefined, value: vectorOf(3) })],
        ["vector.value: a list of numbers is needed, found a string", vector({ value: "near" })],
        ["vector.value[1]: a number is needed, found a bigint", vector({ value: [1, 2n] })],
        ["vector.values[1]: a list", vector({ values: [vectorOf(3), 3] })],
        ["a query vector of zeros", vector({ value: new Float32Array(DIMS) })],
        ["goes over a graph", vector({ value: vectorOf(3), mode: "walk" })],
        ["query.phras: unknown clause, expected one of term, match, phrase", request({ query: { phras: {} } })],
        ["add: a signal goes into", () => index.add([], signal)],
        ["get: [0]: 5n is a BigInt", () => index.get(5n)],
        ["delete: [1]: NaN", () => index.delete([1, NaN])],
        ['merge: unknown option "maxSegment"', () => index.merge({ maxSegment: 1 })],
      ]) {
        const error = await rejects("invalid_argument", work, message);
        assert(error.message.includes(message), `${error.message}, expected ${message}`);
      }
      const { ignored } = await index.search({ query: "glacier", select: ["title", "nosuch"] });
      equal(ignored, ['select: no document has a stored field ["nosuch"]'], "ignored");
      await index.close();
      const fresh = await open({ storage: memory(), schema: SCHEMA });
      const { added, refused } = await fresh.add([
        { id: 1, title: "fine" }, { id: 2, run: () => 1 }, { id: 3, price: NaN }, { id: 4n }, { id: 5, deep: { at: [1, Infinity] } },
      ]);
      equal([added, refused.map(({ id, row, code }) => [id ?? null, row, code])],
        [1, [[2, 1], [3, 2], [null, 3], [5, 4]].map((where) => [...where, "bad_json"])], "documents");
      assert(refused[3].reason.includes("deep.at[1]: Infinity"), refused[3].reason);
      await fresh.close();
    });

    await check("keeps memory to its object", async () => {
      const [one, other] = [memory(), memory()];
      await build(documents(0, 10), { storage: one, schema: SCHEMA });
      const [a, b, c] = await Promise.all([open({ storage: one }), open({ storage: one }), open({ storage: other, schema: SCHEMA })]);
      equal([(await a.search({})).total, (await b.search({})).total, (await c.search({})).total], [10, 10, 0], "totals");
      await a.close();
      await a.close();
      await b.add(documents(10, 12));
      await b.commit();
      await b.close();
      await c.close();
      const again = await open({ storage: one });
      equal((await again.search({})).total, 12, "after closing");
      await again.close();
    });

    await check("works on an object of the caller's", async () => {
      const files = new Map();
      const calls = { read: 0, lock: 0, unlock: 0 };
      const object = {
        label: "map",
        profile: { blockBytes: 4096, latencyMicros: 100 },
        read: (name, offset, length) => {
          calls.read += 1;
          return files.get(name).slice(offset, offset + length);
        },
        get: async (name) => files.get(name),
        size: (name) => files.get(name)?.length,
        list: () => [...files].map(([name, { length }]) => ({ name, size: length })),
        create: (name) => {
          const parts = [];
          return {
            append: async (bytes) => void parts.push(bytes),
            finish: async () => void files.set(name, new Uint8Array(await new Blob(parts).arrayBuffer())),
          };
        },
        put: async (name, bytes) => void files.set(name, bytes),
        delete: async (name) => void files.delete(name),
        lock: () => {
          if (calls.lock > calls.unlock) return undefined;
          calls.lock += 1;
          return () => (calls.unlock += 1);
        },
      };
      await build(documents(0, 200), { storage: custom(object), schema: SCHEMA });
      const index = await open({ storage: custom(object) });
      equal(await answers(index), reference, "answers");
      await index.add([{ ...documentOf(1), title: "changed" }]);
      const second = await open({ storage: custom(object), writerWaitMillis: 0 });
      await rejects("locked", second.add([documentOf(2)]), "a second writer");
      await index.commit();
      equal(await second.reopen(), true, "reopen");
      equal(idsOf(await second.search("changed")), ["doc-1"], "what the second one sees");
      await second.close();
      await index.close();
      assert(calls.read > 0, "never read");
      equal(calls.lock, calls.unlock, "locks given back");
      const failing = { ...object, read: () => Promise.reject(Object.assign(new Error("broken disk"), { name: "QuotaExceededError" })) };
      await rejects("quota", open({ storage: custom(failing) }), "an object whose reads fail");
    });

    await check("disposes itself", async () => {
      if (Symbol.asyncDispose === undefined) return;
      const index = await open({ storage: place });
      await index[Symbol.asyncDispose]();
      await rejects("closed", index.info(), "a disposed index");
    });

    if (persistent !== undefined) {
      await check("finds it again", async () => {
        const name = `kept-${Date.now()}`;
        await build(documents(0, 200), { storage: persistent(name), schema: SCHEMA });
        const first = await open({ storage: persistent(name) });
        equal(await answers(first), reference, "answers");
        await first.add([{ ...documentOf(4), title: "kept" }]);
        await first.commit();
        const second = await open({ storage: persistent(name), writerWaitMillis: 0 });
        equal(idsOf(await second.search("kept")), ["doc-4"], "a second reader");
        await rejects("locked", second.delete("doc-5"), "a second writer");
        await first.delete("doc-6");
        await first.commit();
        equal([await second.reopen(), (await second.search({})).total], [true, 199], "reopened");
        await first.close();
        equal(await second.delete("doc-7"), 1, "the second one writes when the first one is closed");
        await second.close();
        const third = await open({ storage: persistent(name), mode: "open" });
        equal((await third.search({})).total, 199, "what was not committed is forgotten");
        await third.close();
      });
    }

    if (crash) {
      await check("a crash rejects every call in flight and ends the index", async () => {
        const place = storage();
        await build(documents(0, 30), { storage: place, schema: SCHEMA });
        const index = await open({ storage: place });
        const calls = [index.search("glacier"), index.search("\u0000crash-test"), index.search("glacier"), index.check()];
        const outcomes = await Promise.allSettled(calls);
        const codes = outcomes.map(({ reason }) => reason?.code);
        equal(codes[1], "crashed", "the crashing call");
        assert(outcomes[1].reason.message.includes("crash test"), outcomes[1].reason.message);
        assert(codes.every((code) => code === undefined || code === "crashed"), codes.join());
        await rejects("crashed", index.search("glacier"), "the next search");
        await rejects("crashed", index.add([documentOf(1)]), "the next add");
        await index.close();
        if (place.kind === "memory") return;
        const again = await open({ storage: place });
        equal((await again.search({})).total, 30, "opened again");
        await again.close();
      });
    }

    await check(`GPU ${gpu}`, async () => {
      const index = await open({ storage: place });
      const request = { vector: { field: "embedding", value: vectorOf(9) } };
      const auto = await index.search({ ...request, gpu: "auto" });
      const off = await index.search({ ...request, gpu: "off" });
      equal(idsOf(auto), idsOf(off), "auto against off");
      assert(off.stats.compute.startsWith("cpu"), off.stats.compute);
      if (gpu === "required") {
        const required = await index.search({ ...request, gpu: "required" });
        equal(idsOf(required), idsOf(off), "GPU against CPU");
        assert(required.stats.compute.startsWith("gpu"), required.stats.compute);
      } else if (gpu === "absent") {
        await rejects("no_gpu", index.search({ ...request, gpu: "required" }), "a GPU that is not there");
        equal(idsOf(await index.search(request)), idsOf(off), "afterwards");
      }
      await index.close();
    });
  }

  if (remote !== undefined) {
    await check("searches over HTTP", async () => {
      const index = await open({ storage: http(remote.url) });
      const info = await index.info();
      equal([info.numDocs, info.readOnly], [200, true], "info");
      equal(await answers(index), remote.answers, "answers");
      const cold = await open({ storage: http(remote.url) });
      const { stats } = await cold.search({ query: "glacier" });
      assert(stats.requests > 0 && stats.bytes > 0 && stats.waves > 0 && stats.waves <= 3, JSON.stringify(stats));
      await cold.close();
      await rejects("read_only", index.add([documentOf(0)]), "adding over HTTP");
      await rejects("aborted", index.search({ query: "x", signal: AbortSignal.abort() }), "cancelled");
      await index.close();
      await rejects("not_found", open({ storage: http(`${remote.url}nowhere/`) }), "no index there");
    });

    await check("lays an index of one's own over one behind HTTP", async () => {
      const mine = storage?.() ?? memory();
      const index = await open({ storage: mine, base: http(remote.url) });
      equal(await answers(index), remote.answers, "answers before any change");
      await index.add([{ ...documentOf(4), title: "mine" }, documentOf(500)]);
      await index.delete("doc-5");
      await index.commit();
      equal([(await index.search({})).total, idsOf(await index.search("mine"))], [200, ["doc-4"]], "after changes");
      equal([await index.get("doc-5"), (await index.get("doc-500")).id], [undefined, "doc-500"], "get");
      await index.close();
      const again = await open({ storage: mine, base: http(remote.url) });
      equal([(await again.search({})).total, (await again.info()).base !== undefined], [200, true], "opened again");
      await again.close();
    });
  }
  return results;
}
