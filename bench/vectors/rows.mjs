// What the curves of one set say, as rows of the report.
import { row } from "../report.mjs";
import { pointAt, rateAt } from "./curve.mjs";

/** DESIGN.md §10 and the largest file and codes that are good enough, as parts of the raw vectors. */
const GOALS = { wasmOverPeer: 10, wasmOverNative: 2, nativeOverNative: 4, buildOverWasm: 15, buildOverNative: 5, file: 1.35, codes: 0.35 };
const RECALLS = [0.9, 0.95, 0.99];
const BYTES_PER_FLOAT = 4;
const percent = (recall) => Math.round(recall * 100);

/** Rows of set `set`, from players with their `curve` and what building took; `bandwidth` in bytes per second. */
export function rowsOf(set, all, bandwidth) {
  const raw = set.count * set.dims * BYTES_PER_FLOAT;
  const of = (name) => all.find((player) => player.name === name && player.failed === undefined);
  const told = (player) => {
    const part = player.set.count === set.count ? "" : `, of ${player.set.count} rows alone, in its favour`;
    const border = player.built?.borderSeconds ? `, less ${(player.built.borderSeconds * 1e6).toFixed(0)} us a call, or what it was in each round, for crossing into native code` : "";
    return `${player.name}${part}${border}`;
  };
  const rows = [];

  /** Queries per second of `ours` against the best of `names` at each recall; a goal for 0.95 alone. */
  const rates = (key, ours, names, goal) => {
    const own = of(ours);
    const peers = names.map(of).filter((player) => player !== undefined);
    if (own === undefined || peers.length === 0) return;
    for (const recall of RECALLS) {
      const rate = rateAt(own.curve, recall);
      const best = peers.map((player) => ({ player, rate: rateAt(player.curve, recall) })).filter(({ rate }) => rate !== null).sort((a, b) => b.rate - a.rate)[0];
      const point = JSON.stringify(pointAt(own.curve, recall)?.point ?? null);
      rows.push(row({
        key: key.replace("qps95", `qps${percent(recall)}`), ours: rate ?? 0, unit: "1/s", peer: best === undefined ? "none reaches it" : best.player.name,
        peerValue: best?.rate ?? null, goal: recall === 0.95 ? goal : null, better: "larger",
        note: `at recall@10 ${recall}, ours near ${point}; ${best === undefined ? "no peer reaches it" : told(best.player)}`,
      }));
    }
  };
  const wasmPeers = (runtime) => [`hnswlib-wasm-${runtime}`, `edgevec-${runtime}`];
  rates(`wasm-qps95-vs-best-peer-${set.name}`, "rangefind-node", wasmPeers("node"), GOALS.wasmOverPeer);
  rates(`chromium-qps95-vs-best-peer-${set.name}`, "rangefind-chromium", wasmPeers("chromium"), GOALS.wasmOverPeer);
  rates(`wasm-qps95-vs-native-hnswlib-${set.name}`, "rangefind-node", ["hnswlib-native"], GOALS.wasmOverNative);
  rates(`wasm-qps95-vs-native-usearch-${set.name}`, "rangefind-node", ["usearch-native"], GOALS.wasmOverNative);
  rates(`native-qps95-vs-usearch-${set.name}`, "rangefind-native", ["usearch-native"], GOALS.nativeOverNative);
  rates(`native-qps95-vs-hnswlib-${set.name}`, "rangefind-native", ["hnswlib-native"], GOALS.nativeOverNative);

  const pair = (key, ours, peer, goal, value, unit, note) => {
    const [own, other] = [of(ours), of(peer)];
    if (own === undefined || other === undefined) return;
    // Crossing into native code is not the peer's.
    const peerValue = value(other) - (unit === "s" ? (other.built.borderSeconds ?? 0) * other.set.count : 0);
    rows.push(row({ key, ours: value(own), unit, peer: peer, peerValue, goal, note: note ?? told(other) }));
  };
  const seconds = ({ built }) => built.seconds;
  pair(`wasm-build-vs-hnswlib-wasm-${set.name}`, "rangefind-node", "hnswlib-wasm-node", GOALS.buildOverWasm, seconds, "s");
  pair(`chromium-build-vs-hnswlib-wasm-${set.name}`, "rangefind-chromium", "hnswlib-wasm-chromium", GOALS.buildOverWasm, seconds, "s");
  pair(`wasm-build-vs-native-hnswlib-${set.name}`, "rangefind-node", "hnswlib-native", GOALS.buildOverNative, seconds, "s");
  pair(`native-build-vs-usearch-${set.name}`, "rangefind-native", "usearch-native", null, seconds, "s");
  pair(`native-build-vs-hnswlib-${set.name}`, "rangefind-native", "hnswlib-native", null, seconds, "s");

  const megabytes = ({ built }) => built.memoryBytes / 1e6;
  const grown = "growth of the process after all queries, rows in memory, what building took and did not give back included";
  pair(`wasm-memory-vs-hnswlib-wasm-${set.name}`, "rangefind-node", "hnswlib-wasm-node", null, megabytes, "MB", grown);
  pair(`files-memory-vs-hnswlib-wasm-${set.name}`, "rangefind-files-node", "hnswlib-wasm-node", null, megabytes, "MB",
    "growth of the process after all queries: ours opened from files with the default cache, the peer with its index");
  pair(`native-memory-vs-hnswlib-${set.name}`, "rangefind-native", "hnswlib-native", null, megabytes, "MB", "growth of the process by the index");

  const files = of("rangefind-files-node");
  if (files !== undefined) {
    const [only] = files.curve;
    rows.push(row({ key: `files-qps-${set.name}`, ours: only.qps, unit: "1/s", better: "larger", note: `opened from files with the default cache, default recall: ${only.recall.toFixed(4)}` }));
  }
  const own = of("rangefind-node") ?? of("rangefind-native");
  if (own !== undefined) {
    const peers = ["usearch-native", "hnswlib-native"].map(of).filter((player) => player !== undefined);
    rows.push(row({
      key: `file-vs-raw-${set.name}`, ours: own.built.fileBytes / raw, unit: "x", peer: "goal", peerValue: GOALS.file, goal: 1,
      note: ["full precision kept", ...peers.map(({ name, built }) => `${name} ${(built.fileBytes / raw).toFixed(3)}`)].join("; "),
    }));
  }
  const walking = of("rangefind-native-walking");
  if (walking !== undefined) {
    const plain = of("rangefind-native");
    const beside = plain === undefined ? "" : `; without the graph ${((plain.built.fileBytes - raw) / raw).toFixed(3)}`;
    rows.push(row({
      key: `code-memory-vs-raw-${set.name}`, ours: (walking.built.fileBytes - raw) / raw, unit: "x", peer: "goal", peerValue: GOALS.codes, goal: 1,
      note: `all but full precision: codes, centers, graph, ids${beside}`,
    }));
  }

  for (const [name, key] of [["rangefind-native", "native"], ["rangefind-node", "wasm"]]) {
    const player = of(name);
    const at = player && pointAt(player.curve, 0.95);
    if (!at || !bandwidth[key]) continue;
    const codeBytes = (player.built.fileBytes - raw) / set.count;
    const bytes = at.stats.codes * codeBytes + at.stats.rows * set.dims * BYTES_PER_FLOAT;
    rows.push(row({
      key: `${key}-read-vs-bandwidth-${set.name}`, ours: (bytes * at.qps) / 1e9, unit: "GB/s", peer: "a loop that reads", peerValue: bandwidth[key] / 1e9, better: "larger",
      note: `${at.stats.codes.toFixed(0)} codes of ${codeBytes.toFixed(0)} bytes, ${at.stats.rows.toFixed(0)} rows, ${at.stats.cells.toFixed(0)} cells a query at ${JSON.stringify(at.point)}`,
    }));
  }
  for (const { name, failed } of all) {
    if (failed !== undefined) rows.push(row({ key: `failed-${name}-${set.name}`, ours: null, unit: "", note: failed }));
  }
  return rows;
}
