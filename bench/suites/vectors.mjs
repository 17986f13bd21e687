// `npm run bench -- vectors [--quick] [--sets a,b] [--engines x,y]`: recall and queries per second of the package and of its
// peers, one thread each, over the same vectors. All stay open, and are asked in turns, so that what else the machine does
// falls on all of them. Beside the rows: the curves as data and as a picture of each set, and where the time goes.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, isStale } from "../../scripts/build.mjs";
import { install } from "../install.mjs";
import { report } from "../report.mjs";
import { wasmBandwidth } from "../vectors/bandwidth.mjs";
import { front, median, pointAt } from "../vectors/curve.mjs";
import { OWN_POINTS, engines } from "../vectors/engines.mjs";
import { plot } from "../vectors/plot.mjs";
import { chromium, inNode, native } from "../vectors/players.mjs";
import { instructionsOf, perf } from "../vectors/profile.mjs";
import { prepare, recallOf } from "../vectors/sets.mjs";
import { rowsOf } from "../vectors/rows.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const quick = process.argv.includes("--quick");
const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const out = option("--out") ?? join(root, "bench", "results", "vectors.json");
const wanted = option("--engines")?.split(",");
const SETS = option("--sets")?.split(",") ?? (quick ? ["wordnet_minilm"] : ["wordnet_minilm", "fashion_mnist"]);
/** Rows and queries of a set, queries whose time is taken, rounds; rows of engines that build slowly. */
const SIZE = quick
  ? { count: Number(option("--count") ?? 10_000), numQueries: 200, timed: 200, rounds: 3, part: 2_000 }
  : { count: Infinity, numQueries: 1000, timed: 500, rounds: 5, part: undefined };
/** A walk over our graph: the breadth, 10 points of a curve. */
const WALKS = [10, 16, 24, 32, 48, 64, 96, 140, 200, 320].map((efSearch) => ({ mode: "walk", efSearch }));

/** What takes part: by name in the rows, in which runtime, how it starts. */
function players({ program, browser, set, part }) {
  const peer = (name, runtime, of = set) => ({
    name: `${name}-${runtime}`, engine: name, runtime, set: of, points: engines[name].points,
    start: () => (runtime === "chromium" ? browser.start(name, of) : inNode(name, of)),
  });
  return [
    { name: "rangefind-native", engine: "rangefind", runtime: "native", set, points: OWN_POINTS, start: () => native(program, set) },
    { name: "rangefind-native-walking", engine: "rangefind", runtime: "native", set, points: WALKS, start: () => native(program, set, { graph: true }) },
    peer("rangefind", "node"),
    peer("rangefind", "chromium"),
    peer("rangefind-files", "node"),
    peer("hnswlib-wasm", "node"),
    peer("hnswlib-wasm", "chromium"),
    peer("edgevec", "node", part),
    peer("edgevec", "chromium", part),
    { ...peer("usearch", "node"), name: "usearch-native", runtime: "native" },
    { ...peer("hnswlib-node", "node"), name: "hnswlib-native", runtime: "native" },
  ].filter(({ name }) => wanted === undefined || wanted.some((some) => name.startsWith(some)));
}

const say = (text) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

/** A player that failed says so and is out. */
async function attempt(player, what) {
  if (player.failed !== undefined) return;
  try {
    await what();
  } catch (error) {
    player.failed = String(error.message ?? error).split("\n")[0];
    say(`${player.name}: ${error.stack ?? error}`);
  }
}

/** Builds all indexes, one after another, then asks for every point of every curve. */
async function measure(all, set) {
  for (const player of all) {
    await attempt(player, async () => {
      player.handle = await player.start();
      player.built = await player.handle.ask({ op: "build" });
      say(`${player.name}: built in ${player.built.seconds.toFixed(1)} s`);
      // Others open what it has built.
      if (player.name === "rangefind-native") await player.handle.ask({ op: "save", folder: set.index });
      player.curve = [];
      for (const point of player.points) {
        const { ids, stats } = await player.handle.ask({ op: "answer", point });
        player.curve.push({ point, recall: recallOf(player.set, ids), stats, seconds: [] });
      }
    });
  }
  for (let round = 0; round < SIZE.rounds; round++) {
    say(`round ${round + 1} of ${SIZE.rounds}`);
    const most = Math.max(...all.map(({ points }) => points.length));
    for (let ix = 0; ix < most; ix++) {
      for (const player of all.filter(({ points }) => ix < points.length)) {
        await attempt(player, async () => {
          const one = player.curve[ix];
          const { seconds, borderSeconds = 0 } = await player.handle.ask({ op: "time", point: one.point, count: SIZE.timed });
          // What crossing into native code takes is the package's around the peer, not the peer's.
          one.seconds.push(Math.max(seconds - borderSeconds, seconds / 10));
        });
      }
    }
  }
  for (const player of all) {
    for (const one of player.curve ?? []) one.qps = one.seconds.length > 0 ? SIZE.timed / median(one.seconds) : 0;
    await attempt(player, async () => {
      if (player.runtime !== "native" || player.engine !== "rangefind") {
        Object.assign(player.built, await player.handle.ask({ op: "memory", before: player.built.before }));
      }
    });
  }
}

/** The hottest functions of those that are profiled, at a recall of 0.95. */
async function profiles(all, work) {
  const found = [];
  for (const player of all.filter(({ runtime, failed }) => runtime !== "chromium" && failed === undefined)) {
    const at = pointAt(player.curve, 0.95) ?? player.curve.at(-1);
    const ask = { point: at.point, count: SIZE.timed };
    const rounds = Math.max(1, Math.ceil((at.qps * 3) / SIZE.timed));
    const again = async () => {
      for (let round = 0; round < rounds; round++) await player.handle.ask({ op: "time", ...ask });
    };
    await attempt({ ...player }, async () => {
      const functions = player.handle.pid !== undefined
        ? await perf(player.handle.pid, join(work, "perf.data"), again)
        : (await player.handle.ask({ op: "profile", ...ask })).functions;
      if (functions === null) return;
      if (player.name === "rangefind-node") {
        const numberOf = ({ name }) => Number(/^wasm-function\[(\d+)\]$/.exec(name)?.[1] ?? NaN);
        const numbers = functions.map(numberOf).filter((number) => !Number.isNaN(number));
        const instructions = instructionsOf(join(root, "dist", "rangefind.wasm"), numbers);
        for (const one of functions) one.instructions = instructions.get(numberOf(one));
      }
      found.push({ player: player.name, point: at.point, functions });
      const shown = functions.slice(0, 3).map(({ name, share, instructions }) => `${Math.round(share * 100)} % ${name}${instructions ? ` (${instructions})` : ""}`);
      say(`${player.name}, most of its time: ${shown.join("; ")}`);
    });
  }
  return found;
}

mkdirSync(dirname(out), { recursive: true });
const work = mkdtempSync(join(tmpdir(), "rangefind-vectors-"));
let browser;
try {
  if (isStale()) await build();
  install();
  const target = join(root, "target", "bench");
  const made = spawnSync("cargo", ["build", "--release", "--quiet", "--locked", "--manifest-path", join(root, "bench", "Cargo.toml"), "--target-dir", target], { stdio: "inherit" });
  if (made.status !== 0) throw new Error("the native engine was not built");
  const program = join(target, "release", "rangefind-bench");
  browser = await chromium(work);
  const [rows, curves] = [[], {}];
  for (const name of SETS) {
    const set = prepare(name, { ...SIZE, folder: join(work, name) });
    set.index = join(work, name, "index");
    const part = prepare(name, { ...SIZE, count: SIZE.part ?? engines.edgevec.part, folder: join(work, `${name}-part`) });
    const all = players({ program, browser, set, part });
    say(`${name}: ${set.count} x ${set.dims}, ${set.metric}`);
    await measure(all, set);
    const [reader] = [native(program, set)];
    const bandwidth = { native: (await reader.ask({ op: "bandwidth" })).bytesPerSecond, wasm: wasmBandwidth(work) };
    reader.end();
    const profile = await profiles(all, work);
    for (const { handle } of all) await handle?.end();
    rows.push(...rowsOf(set, all, bandwidth));
    const told = all.filter(({ failed }) => failed === undefined);
    curves[name] = {
      bandwidth, profile,
      curves: told.map(({ name, built, curve, set }) => ({
        name, rows: set.count, buildSeconds: built.seconds, memoryBytes: built.memoryBytes, wasmBytes: built.wasmBytes,
        fileBytes: built.fileBytes, borderSeconds: built.borderSeconds,
        points: curve.map(({ point, recall, qps, stats }) => ({ ...point, recall: Number(recall.toFixed(5)), qps: Math.round(qps), ...stats })),
      })),
    };
    const drawn = told.filter(({ curve }) => curve.length > 1);
    const title = `${name}: ${set.count.toLocaleString("en")} × ${set.dims}, ${set.metric}`;
    writeFileSync(join(dirname(out), `vectors-${name}.svg`), plot(title, drawn.map(({ name, set: { count }, curve }) => ({
      name: count === set.count ? name : `${name} (${count.toLocaleString("en")})`, points: front(curve),
    }))));
  }
  const worst = rows.filter(({ key }) => key.startsWith("file-vs-raw-")).sort((a, b) => a.ratio - b.ratio)[0];
  if (worst !== undefined) rows.push({ ...worst, key: "file-vs-raw", note: "the largest of all sets" });
  const largest = rows.filter(({ key }) => key.startsWith("code-memory-vs-raw-")).sort((a, b) => a.ratio - b.ratio)[0];
  if (largest !== undefined) rows.push({ ...largest, key: "code-memory-vs-raw", note: "the largest of all sets" });
  report(rows, out);
  writeFileSync(join(dirname(out), "vectors-curves.json"), `${JSON.stringify(curves, null, 1)}\n`);
} finally {
  await browser?.close();
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}
