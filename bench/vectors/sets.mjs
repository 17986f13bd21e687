// Vector sets of $RANGEFIND_DATA as plain files that every engine reads, and what queries must find by brute force.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const data = process.env.RANGEFIND_DATA ?? fileURLToPath(new URL("../../../shared/data", import.meta.url));

/** Hits that are asked for. */
export const K = 10;
/** Queries of a set whose stored truth is compared with brute force. */
const VERIFIED = 20;
/** Scores as near as this are equal: sums are rounded in different orders. */
const TOLERANCE = 1e-5;

/** An array of a NumPy file as 32-bit floats, and its row length. */
function npy(path) {
  const bytes = readFileSync(path);
  const start = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", 10, start);
  const dims = Number(/'shape': \(\d+, (\d+)\)/.exec(header)[1]);
  const raw = bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length);
  if (header.includes("'<f4'")) return { values: new Float32Array(raw), dims };
  if (header.includes("'<i4'")) return { values: new Int32Array(raw), dims };
  if (header.includes("'|u1'")) return { values: Float32Array.from(new Uint8Array(raw)), dims };
  if (!header.includes("'<f2'")) throw new Error(`${path}: ${header}`);
  const halves = new Uint16Array(raw);
  return { values: Float32Array.from(halves, fromHalf), dims };
}

function fromHalf(bits) {
  const [exponent, mantissa] = [(bits >> 10) & 31, bits & 1023];
  const value = exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15);
  return bits >> 15 ? -value : value;
}

/** Makes each row of unit length: then the inner product is the cosine, for engines that know only that. */
function normalise(values, dims) {
  for (let start = 0; start < values.length; start += dims) {
    let sum = 0;
    for (let at = start; at < start + dims; at++) sum += values[at] * values[at];
    const scale = sum > 0 ? 1 / Math.sqrt(sum) : 1;
    for (let at = start; at < start + dims; at++) values[at] *= scale;
  }
}

/** Score of a row, larger is nearer. */
function score({ metric, dims, base, queries }, query, row) {
  let [sum, a, b] = [0, query * dims, row * dims];
  if (metric === "l2") {
    for (let at = 0; at < dims; at++) sum -= (queries[a + at] - base[b + at]) ** 2;
  } else {
    for (let at = 0; at < dims; at++) sum += queries[a + at] * base[b + at];
  }
  return sum;
}

/** Score of the tenth nearest row. */
function tenth(set, query) {
  const best = new Float64Array(K).fill(-Infinity);
  for (let row = 0; row < set.count; row++) {
    const own = score(set, query, row);
    if (own <= best[0]) continue;
    let at = 0;
    for (; at + 1 < K && best[at + 1] < own; at++) best[at] = best[at + 1];
    best[at] = own;
  }
  return best[0];
}

/** Reads a set and writes its first `count` rows and `numQueries` queries into `folder`. */
export function prepare(name, { count = Infinity, numQueries, folder }) {
  const from = join(data, name);
  const metric = JSON.parse(readFileSync(join(from, "meta.json"), "utf8")).normalised ? "cosine" : "l2";
  const { values: all, dims } = npy(join(from, "base.npy"));
  const asked = npy(join(from, "queries.npy")).values.subarray(0, numQueries * dims);
  const base = all.subarray(0, Math.min(all.length, count * dims));
  const set = { name, metric, dims, count: base.length / dims, numQueries: asked.length / dims, folder, base, queries: asked };
  if (metric === "cosine") [base, asked].forEach((values) => normalise(values, dims));
  const isWhole = base.length === all.length;
  const truth = npy(join(from, metric === "l2" ? "gt_l2.ids.npy" : "gt_cos.ids.npy"));
  const stored = (query) => Math.min(...[...truth.values.subarray(query * truth.dims, query * truth.dims + K)].map((row) => score(set, query, row)));
  set.least = Array.from({ length: set.numQueries }, (_, query) => (isWhole ? stored(query) : tenth(set, query)));
  for (let query = 0; isWhole && query < VERIFIED; query++) {
    const exact = tenth(set, query);
    if (Math.abs(exact - set.least[query]) > TOLERANCE * Math.max(1, Math.abs(exact))) throw new Error(`${name}: truth of query ${query}`);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "base.f32"), base);
  writeFileSync(join(folder, "queries.f32"), asked);
  return set;
}

/** Recall@10 of `ids`, ten per query. Of rows as near as the tenth any may stand for it. */
export function recallOf(set, ids) {
  let hits = 0;
  for (let query = 0; query < set.numQueries; query++) {
    const least = set.least[query] - TOLERANCE * Math.max(1, Math.abs(set.least[query]));
    const found = new Set(ids.slice(query * K, query * K + K).filter((id) => id >= 0));
    for (const id of found) if (id < set.count && score(set, query, id) >= least) hits += 1;
  }
  return hits / (K * set.numQueries);
}
