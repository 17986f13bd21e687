// The same vectors give the same bytes: an index that the package builds and one that the command line builds are
// compared section by section. What differs are the random ids of segments, outside of the sections. And the package
// finds in what the command line built what brute force finds.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { execute, project, root, temporaryFolder } from "./lib/package.mjs";

/** More than a segment needs for cells. */
const COUNT = 4200;
/** Every third document repeats the vectors of another. */
const REPEATED = 3;
const SEED = 20;

/** One field for each form that sections have; dimensions decide how many bits codes have. */
const SCHEMA = {
  title: "text",
  plain: { type: "vector", dims: 24 },
  euclidean: { type: "vector", dims: 7, metric: "l2", storage: "f16" },
  line: { type: "vector", dims: 1, metric: "dot" },
  products: { type: "vector", dims: 24, codes: "pq", rescore: "nvq" },
  anisotropic: { type: "vector", dims: 9, metric: "dot", codes: { pq: 3, anisotropic: 0.2 }, rescore: "nvq4" },
  walked: { type: "vector", dims: 16, metric: "l2", graph: { degree: 8 }, dedup: true },
  middling: { type: "vector", dims: 96, metric: "dot" },
  wide: { type: "vector", dims: 256, metric: "l2" },
};

/** Numbers from 0 to 1, the same everywhere: xorshift32 (Marsaglia, "Xorshift RNGs", 2003). */
function random(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Documents with vectors around some centers, of different lengths. */
function documents(seed) {
  const next = random(seed);
  const row = (dims, scale) => Array.from({ length: dims }, () => (next() - 0.5) * scale);
  const fields = Object.entries(SCHEMA).filter(([, { type }]) => type === "vector");
  const centers = new Map(fields.map(([name, { dims }]) => [name, Array.from({ length: 40 }, () => row(dims, 2))]));
  const vector = (name, dims) => {
    const [center, noise, length] = [centers.get(name)[Math.floor(next() * 40)], row(dims, 1), 0.5 + next()];
    return center.map((value, at) => Math.fround((value + noise[at]) * length));
  };
  const docs = [];
  for (let id = 0; id < COUNT; id++) {
    const vectors = fields.map(([name, { dims }]) => [name, vector(name, dims)]);
    const { id: _, title: __, ...repeated } = id % REPEATED === 2 ? docs[id - 2] : {};
    docs.push({ id, title: `number ${id}`, ...Object.fromEntries(vectors), ...repeated });
  }
  return docs;
}

/** Kinds of sections that are there for each field with cells, and for each with a graph. */
const [CELL_CODES, ADJACENCY] = [16, 18];

/** Sections of the only segment in a folder: `kind/field` to bytes. FORMAT.md describes the table. */
function sections(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith(".seg"));
  assert.equal(names.length, 1, `${folder}: ${names}`);
  const file = readFileSync(join(folder, names[0]));
  const table = file.subarray(Number(file.readBigUInt64LE(file.length - 16)));
  const found = new Map();
  for (let at = 44; found.size < table.readUInt32LE(40); at += 32) {
    const [offset, length] = [Number(table.readBigUInt64LE(at + 16)), Number(table.readBigUInt64LE(at + 24))];
    found.set(`${table.readUInt16LE(at)}/${table.readUInt16LE(at + 2)}`, file.subarray(offset, offset + length));
  }
  return found;
}

const BUILD = `
import { build, files } from "rangefind";
import { readFileSync } from "node:fs";
const { schema, docs } = JSON.parse(readFileSync("input.json", "utf8"));
const report = await build(docs, { storage: files("index"), schema });
console.log(JSON.stringify(report));
`;

const FIND = `
import { files, open } from "rangefind";
import { readFileSync } from "node:fs";
const { folder, requests } = JSON.parse(readFileSync("requests.json", "utf8"));
const index = await open({ storage: files(folder), mode: "readOnly" });
const answers = [];
for (const request of requests) {
  const { hits, stats } = await index.search(request);
  answers.push({ hits: hits.map(({ id, score }) => ({ id, score })), stats });
}
console.log(JSON.stringify(answers));
`;

const docs = documents(SEED);
const native = temporaryFolder("native");
let here;

before(async () => {
  here = await project("bytes", { "build.mjs": BUILD, "find.mjs": FIND, "input.json": JSON.stringify({ schema: SCHEMA, docs }) });
  await execute(process.execPath, ["build.mjs"], { cwd: here, timeout: 300_000 });
  writeFileSync(join(native, "schema.json"), JSON.stringify(SCHEMA));
  writeFileSync(join(native, "docs.json"), JSON.stringify(docs));
  const args = ["run", "--quiet", "--features", "cli", "--bin", "rangefind", "--", "--quiet", "build", "--strict"];
  const places = [join(native, "docs.json"), "--schema", join(native, "schema.json"), "--out", join(native, "index")];
  await execute("cargo", [...args, ...places], { cwd: root, timeout: 500_000 });
});

test("an index has the same bytes whether the package or the command line built it", () => {
  const [ours, theirs] = [sections(join(here, "index")), sections(join(native, "index"))];
  assert.deepEqual([...ours.keys()], [...theirs.keys()]);
  const count = (kind) => [...ours.keys()].filter((key) => key.startsWith(`${kind}/`)).length;
  assert.deepEqual([count(CELL_CODES), count(ADJACENCY)], [Object.keys(SCHEMA).length - 1, 1], "all that is to be compared");
  const different = [...ours.keys()].filter((key) => !ours.get(key).equals(theirs.get(key)));
  assert.deepEqual(different, [], "sections by kind and field");
});

/** Score of `b` for the query `a`. */
function scoreOf(metric, a, b) {
  const sum = (term) => a.reduce((total, _, at) => total + term(a[at], b[at]), 0);
  if (metric === "l2") return 1 / (1 + sum((x, y) => (x - y) ** 2));
  const length = metric === "dot" ? 1 : Math.sqrt(sum((x) => x * x) * sum((_, y) => y * y));
  return (1 + sum((x, y) => x * y) / length) / 2;
}

test("the package finds the nearest in an index of the command line, with each metric", async () => {
  const next = random(SEED + 2);
  const asked = [["plain", "probe"], ["middling", "probe"], ["walked", "probe"], ["walked", "walk"]];
  const requests = asked.flatMap(([field, mode]) => Array.from({ length: 20 }, () => {
    const near = docs[Math.floor(next() * COUNT)][field];
    const value = near.map((component) => Math.fround(component + (next() - 0.5) * 0.3));
    return [10, 100].map((limit) => ({ vector: { field, value, mode }, limit, select: [] }));
  })).flat();
  writeFileSync(join(here, "requests.json"), JSON.stringify({ folder: join(native, "index"), requests }));
  const { stdout } = await execute(process.execPath, ["find.mjs"], { cwd: here });
  const recalls = new Map();
  for (const [at, { hits, stats }] of JSON.parse(stdout).entries()) {
    const { vector: { field, value, mode }, limit } = requests[at];
    const scores = docs.map((doc) => scoreOf(SCHEMA[field].metric ?? "cosine", value, doc[field]));
    const least = [...scores].sort((a, b) => b - a)[limit - 1];
    for (const { id, score } of hits) assert.ok(Math.abs(score - scores[id]) < 1e-4 * (1 + score), `${field}: ${score} for ${scores[id]}`);
    assert.ok(mode === "walk" ? stats.vectorsExpanded > 0 : stats.cellsProbed > 0, JSON.stringify(stats));
    const found = hits.filter(({ id }) => scores[id] >= least - 1e-6).length;
    const key = `${field}, ${mode}: recall@${limit}`;
    recalls.set(key, (recalls.get(key) ?? 0) + found / limit / 20);
  }
  assert.equal(recalls.size, 8);
  assert.deepEqual([...recalls].filter(([, recall]) => recall < 0.93), []);
});
