// `npm run bench -- remote [--quick]`: opening an index over a network and a cold query of it. In virtual time by
// bench/src/remote, then the same indexes in Chromium through a real server, 30 ms and 50 Mbit/s away.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, isStale } from "../../scripts/build.mjs";
import { launchChromium } from "../../scripts/lib/browsers.mjs";
import { serve } from "../../scripts/serve.mjs";
import { farServer } from "../remote/server.mjs";
import { report, row } from "../report.mjs";
import { median } from "../vectors/curve.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const bench = join(root, "bench");
const quick = process.argv.includes("--quick");
const at = process.argv.indexOf("--out");
const out = at < 0 ? join(bench, "results", "remote.json") : process.argv[at + 1];
const LINK = { roundTripMillis: 30, bytesPerSecond: 6.25e6 };
/** Cold queries in the browser, each of an index that was just opened. */
const QUERIES = quick ? 20 : 50;
const K = 10;
const KIB = 1024;

/** The native suite: its rows; the indexes are left in `folder`. */
function native(folder) {
  const target = join(root, "target", "bench");
  const args = ["run", "--release", "--quiet", "--locked", "--manifest-path", join(bench, "Cargo.toml"), "--target-dir", target, "--", "remote"];
  const { status } = spawnSync("cargo", [...args, ...(quick ? ["--quick"] : []), "--out", join(folder, "native.json")], {
    cwd: root, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, REMOTE_FOLDER: folder },
  });
  if (status !== 0) throw new Error("the native suite failed");
  return JSON.parse(readFileSync(join(folder, "native.json"), "utf8"));
}

/** Rows of one set, asked in `browser`. */
async function inChromium(browser, pages, name, folder) {
  const { dims, least } = JSON.parse(readFileSync(join(folder, "set.json"), "utf8"));
  const bytes = readFileSync(join(folder, "queries.f32"));
  const queries = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const far = await farServer(join(folder, "index"), LINK);
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(0);
  await page.goto(`${pages}bench/remote/page.html`);
  await page.waitForFunction(() => globalThis.search !== undefined);
  const [opens, asks] = [[], []];
  const counted = async (work) => {
    const before = far.counts();
    const result = await work();
    const after = far.counts();
    return { result, requests: after.requests - before.requests, kib: (after.bytes - before.bytes) / KIB };
  };
  // The first open compiles the module: it is not counted.
  await page.evaluate((url) => globalThis.openIndex(url), far.url);
  const step = Math.max(1, Math.floor(least.length / QUERIES));
  for (let query = 0; query < least.length; query += step) {
    opens.push(await counted(() => page.evaluate((url) => globalThis.openIndex(url), far.url)));
    const value = Array.from(queries.subarray(query * dims, (query + 1) * dims));
    asks.push({ ...await counted(() => page.evaluate((value) => globalThis.search(value), value)), least: least[query] });
  }
  await page.context().close();
  far.close();
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const hits = asks.map(({ result, least }) => Math.min(K, result.scores.filter((score) => score >= least).length));
  const waves = Math.max(...asks.map(({ result }) => result.stats.waves));
  const millis = asks.map(({ result }) => result.millis);
  const key = (what) => `chromium-remote-${what}-${name}`;
  const goal = { peer: "goal", goal: 1 };
  return [
    row({ key: key("open-kib"), ours: mean(opens.map(({ kib }) => kib)), unit: "KiB", ...goal, peerValue: 4096, note: `a real server 30 ms and 50 Mbit/s away; ${mean(opens.map(({ requests }) => requests)).toFixed(1)} requests` }),
    row({ key: key("open-ms"), ours: median(opens.map(({ result }) => result)), unit: "ms", note: "median, the start of a worker included" }),
    row({ key: key("waves"), ours: waves, unit: "waves", ...goal, peerValue: 3, note: "of the query with most of them" }),
    row({ key: key("kib"), ours: mean(asks.map(({ kib }) => kib)), unit: "KiB", ...goal, peerValue: 512, note: `mean of ${asks.length} cold queries, by the server's count; ${mean(asks.map(({ requests }) => requests)).toFixed(1)} requests` }),
    row({ key: key("ms"), ours: median(millis), unit: "ms", note: `median; slowest ${Math.max(...millis).toFixed(0)} ms` }),
    row({ key: key("recall10"), ours: mean(hits) / K, unit: "recall@10", ...goal, peerValue: 0.93, better: "larger" }),
  ];
}

const work = mkdtempSync(join(tmpdir(), "rangefind-remote-"));
let browser;
let site;
try {
  if (isStale()) await build();
  const rows = native(work);
  site = await serve({ mounts: { "/": root } });
  browser = await launchChromium();
  const names = rows.map(({ key }) => /^remote-open-kib-(.*)$/.exec(key)?.[1]).filter((name) => name !== undefined);
  for (const name of names.filter((name) => existsSync(join(work, name, "index")))) {
    rows.push(...await inChromium(browser, site.url, name, join(work, name)));
  }
  report(rows, out);
} finally {
  await browser?.close();
  await site?.close();
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}
