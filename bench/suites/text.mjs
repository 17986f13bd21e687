// `npm run bench -- text [--quick]`: text against tantivy (native, by bench/src/text), and the package in Node against
// tantivy and against MiniSearch, FlexSearch, Orama and SQLite FTS5, over the same documents. Each in a process of its own.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { install } from "../install.mjs";
import { report, row } from "../report.mjs";
import { build, isStale } from "../../scripts/build.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const bench = join(root, "bench");
const quick = process.argv.includes("--quick");
const at = process.argv.indexOf("--out");
const out = at < 0 ? join(bench, "results", "text.json") : process.argv[at + 1];
const work = mkdtempSync(join(tmpdir(), "rangefind-bench-"));

/** Engines and how many times faster than them we are to be, in the mean query. */
const PEERS = { minisearch: 200, flexsearch: 40, orama: null, sqlite: null };
/** What takes minutes to index the whole corpus gets a part of it: in its favour. */
const PARTS = { orama: ["wordnet"] };
/** Queries that the JavaScript engines answer: some take a tenth of a second each. */
const PEER_QUERIES = quick ? 20 : 60;
/** Indexing and answering of one peer; one that takes longer is noted as such. */
const PEER_MILLIS = (quick ? 30 : 100) * 1000;

function node(script, args, timeout) {
  const { status, error } = spawnSync(process.execPath, ["--expose-gc", "--max-old-space-size=6144", join(bench, "text", script), ...args], {
    cwd: root, stdio: ["ignore", "inherit", "inherit"], timeout,
  });
  return status === 0 && !error;
}

function job(name, value) {
  const path = join(work, `${name}.json`);
  writeFileSync(path, JSON.stringify(value));
  return path;
}

const read = (name) => JSON.parse(readFileSync(join(work, name), "utf8"));
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const geometric = (values) => Math.exp(mean(values.map(Math.log)));

/** Runs the native suite; its rows, and the classes with tantivy's times. */
function native() {
  const target = join(root, "target", "bench");
  const args = ["run", "--release", "--quiet", "--locked", "--manifest-path", join(bench, "Cargo.toml"), "--target-dir", target, "--", "text"];
  const { status } = spawnSync("cargo", [...args, ...(quick ? ["--quick"] : []), "--out", join(work, "native.json")], {
    cwd: root, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, TEXT_QUERIES: join(work, "queries.json") },
  });
  if (status !== 0) throw new Error("the native suite failed");
  return { rows: read("native.json"), exported: read("queries.json") };
}

/** The package against tantivy, class by class: both give the ten best and the exact number of matches. */
function ofPackage({ collections, index_seconds, classes }) {
  const settings = job("own", { collections, classes, rounds: quick ? 3 : 5 });
  const step = (name) => {
    if (!node("own.mjs", [name, join(work, "index"), settings, join(work, `own-${name}.json`)])) throw new Error(`the package failed to ${name}`);
    return read(`own-${name}.json`);
  };
  const own = { ...step("build"), ...step("search") };
  const asked = classes.reduce((sum, { queries }) => sum + queries.length, 0);
  const different = own.wrong.length > 0 ? `; the first other count: ${JSON.stringify(own.wrong[0])}` : "";
  const rows = [];
  for (const { name, wall, inside } of own.measured) {
    const measured = classes.find((one) => one.name === name).measured;
    // Matches of one score have no such mode: their best are compared.
    const peer = measured.find(({ mode }) => mode === "top10count") ?? measured[0];
    rows.push(row({
      key: `wasm-vs-tantivy-${name}`, ours: wall.mean, unit: "us", peer: "tantivy native", peerValue: peer.peer.mean,
      note: `search() as a caller sees it, ten best and exact count; inside the engine ${inside.mean.toFixed(1)}, p99 ${wall.p99.toFixed(1)}; native ours ${peer.ours.mean.toFixed(1)}`,
    }));
  }
  const ratio = geometric(rows.map(({ ratio }) => ratio));
  const inside = geometric(own.measured.map(({ inside }, ix) => rows[ix].peer_value / inside.mean));
  rows.unshift(row({
    key: "wasm-vs-tantivy", ours: ratio, unit: "x", peer: "equal", peerValue: 1, goal: 1, better: "larger",
    note: `geometric mean over ${own.measured.length} classes of the ratio of mean times, as a caller of the package sees them; by the time inside the engine ${inside.toFixed(2)}`,
  }));
  rows.push(row({
    key: "differential-wasm", ours: asked - own.wrong.length, unit: "queries", peer: "asked", peerValue: asked, goal: 1, better: "larger",
    note: `as many documents as the native engine finds${different}`,
  }));
  rows.push(row({
    key: "index-time-vs-tantivy-wasm", ours: own.indexSeconds, unit: "s", peer: "tantivy native", peerValue: index_seconds, goal: 0.6,
    note: `build() from JavaScript objects with ids and stored documents, ${(own.bytes / 1e6).toFixed(1)} MB; the peer indexes the text alone`,
  }));
  return { rows, own };
}

/** The package against engines of JavaScript and wasm: queries of the AOL sets, any and all words. */
function ofPeers(collections, classes, own) {
  const queries = ["Union", "Intersection"].flatMap((name) => {
    const list = classes.find((one) => one.name === name)?.queries ?? [];
    const step = Math.max(1, Math.floor(list.length / (PEER_QUERIES / 2)));
    return list.filter((_, ix) => ix % step === 0).map((text) => ({ words: text.replaceAll("+", "").split(" "), all: name === "Intersection" }));
  });
  const ours = mean(["Union", "Intersection"].map((name) => own.measured.find((one) => one.name === name).wall.mean));
  const rows = [];
  for (const [name, goal] of Object.entries(PEERS)) {
    const given = PARTS[name] ?? collections;
    const part = given === collections ? "" : `; the peer with ${given.join(", ")} alone`;
    const settings = job("peers", { collections: given, queries, rounds: quick ? 1 : 3 });
    const ran = node("peer.mjs", [name, settings, join(work, `${name}-out.json`)], PEER_MILLIS);
    if (!ran) {
      const note = `did not index ${given.join(", ")} and answer ${queries.length} queries in ${PEER_MILLIS / 1000} s`;
      rows.push(row({ key: `wasm-vs-${name}`, ours, unit: "us", peer: name, note }));
      continue;
    }
    const peer = read(`${name}-out.json`);
    rows.push(row({
      key: `wasm-vs-${name}`, ours, unit: "us", peer: name, peerValue: peer.micros.mean, goal,
      note: `mean query of the AOL sets, any and all words; median ${peer.micros.median.toFixed(0)}, p99 ${peer.micros.p99.toFixed(0)}${part}`,
    }));
    rows.push(row({ key: `wasm-index-time-vs-${name}`, ours: own.indexSeconds, unit: "s", peer: name, peerValue: peer.indexSeconds, goal: 5, note: part.slice(2) }));
    rows.push(row({
      key: `wasm-memory-vs-${name}`, ours: own.memoryBytes / 1e6, unit: "MB", peer: name, peerValue: peer.memoryBytes / 1e6, goal: name === "sqlite" ? null : 5,
      note: `growth of the process: ours opened from files after all queries, the peer with its index${part}`,
    }));
  }
  return rows;
}

try {
  if (isStale()) await build();
  install();
  const { rows, exported } = native();
  const { rows: wasm, own } = ofPackage(exported);
  report([...rows, ...wasm, ...ofPeers(exported.collections, exported.classes, own)], out);
} finally {
  rmSync(work, { recursive: true });
}
