// The packed package in Chromium: a plain page, a page with a strict policy and scripts from elsewhere, Vite, webpack.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { launchChromiumProfile } from "../../scripts/lib/browsers.mjs";
import { PAGE_TIMEOUT, pageProject, plainHtml, runInPage, served } from "./lib/pages.mjs";
import { remoteIndex } from "./lib/remote.mjs";

let context;
let remote;
before(async () => {
  context = await launchChromiumProfile();
  remote = await remoteIndex();
});
after(() => context?.close());

/** A page whose own errors fail the test that opened it. */
async function newPage(t, { expected = () => false } = {}) {
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_TIMEOUT);
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  t.after(async () => {
    await page.close();
    // A server's 404 for a commit slot that is not there is an answer, whatever the console makes of it; and the
    // engine that the scenario crashes says so.
    const unexpected = errors.filter((text) => !/status of 404|the query of the crash test/.test(text) && !expected(text));
    assert.deepEqual(unexpected, []);
  });
  return page;
}

test("a plain page, private file system", { timeout: PAGE_TIMEOUT }, async (t) => {
  const url = await served(await pageProject("plain", { "index.html": plainHtml() }));
  await runInPage(t, await newPage(t), url, { kind: "opfs", http: remote, gpu: "required" });
});

test("a plain page, memory", { timeout: PAGE_TIMEOUT }, async (t) => {
  const url = await served(await pageProject("plain", { "index.html": plainHtml() }));
  await runInPage(t, await newPage(t), url, { kind: "memory", gpu: "required" });
});

test("in the page's own thread", { timeout: PAGE_TIMEOUT }, async (t) => {
  const entry = "/node_modules/rangefind/dist/inline.js";
  const url = await served(await pageProject("inline", { "index.html": plainHtml(entry) }));
  await runInPage(t, await newPage(t), url, { kind: "memory", http: remote, gpu: "required" });
});

test("scripts from another origin under a strict policy", { timeout: PAGE_TIMEOUT }, async (t) => {
  const folder = await pageProject("cdn", {});
  const elsewhere = await served(join(folder, "node_modules/rangefind/dist"));
  const policy = [
    "default-src 'none'", `script-src 'self' ${elsewhere} 'wasm-unsafe-eval'`, `worker-src blob: ${elsewhere}`,
    `connect-src 'self' ${elsewhere} ${new URL(remote.url).origin}`, "img-src data:",
  ].join("; ");
  const page = await pageProject("policy", {
    "index.html": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>`,
  });
  const { readFileSync, writeFileSync } = await import("node:fs");
  const script = readFileSync(join(page, "main.js"), "utf8").replace('"rangefind"', JSON.stringify(`${elsewhere}browser.js`));
  writeFileSync(join(page, "main.js"), script);
  const url = await served(page, { headers: { "Content-Security-Policy": policy } });
  await runInPage(t, await newPage(t), url, { kind: "opfs", http: remote, only: ["builds from an async iterable, with progress", "searches over HTTP", "searches vectors exactly"] });
});

test("a Vite page", { timeout: PAGE_TIMEOUT }, async (t) => {
  const folder = await pageProject("vite", {
    "index.html": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/main.js"></script>`,
  });
  const { build } = await import("vite");
  await build({ root: folder, logLevel: "error", build: { outDir: "out", target: "esnext" } });
  const url = await served(join(folder, "out"));
  await runInPage(t, await newPage(t), url, { kind: "opfs", http: remote, gpu: "required" });
});

test("a page of Vite's development server", { timeout: PAGE_TIMEOUT }, async (t) => {
  const folder = await pageProject("vite-dev", {
    "index.html": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/main.js"></script>`,
  });
  const { createServer } = await import("vite");
  const server = await createServer({
    root: folder, configFile: false, logLevel: "error",
    server: { port: 0, host: "127.0.0.1", hmr: false, ws: false },
    optimizeDeps: { exclude: ["rangefind"] },
  });
  await server.listen();
  t.after(() => server.close());
  const { port } = server.httpServer.address();
  // The page's own socket to the server is turned off, and says so.
  const page = await newPage(t, { expected: (text) => /websocket/i.test(text) });
  await runInPage(t, page, `http://127.0.0.1:${port}/`, { kind: "opfs", only: ["builds from an async iterable, with progress", "searches vectors exactly"] });
});

test("a webpack page", { timeout: PAGE_TIMEOUT }, async (t) => {
  const folder = await pageProject("webpack", {
    "index.html": `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script defer src="/bundle.js"></script>`,
  });
  const { default: webpack } = await import("webpack");
  const stats = await new Promise((resolve, reject) => {
    const config = { mode: "production", context: folder, entry: "./main.js", output: { path: folder, filename: "bundle.js" }, performance: { hints: false } };
    webpack(config, (error, stats) => (error ? reject(error) : resolve(stats)));
  });
  assert.deepEqual([stats.hasErrors(), stats.hasWarnings()], [false, false], stats.toString());
  const url = await served(folder);
  await runInPage(t, await newPage(t), url, { kind: "opfs", http: remote, gpu: "required" });
});

test("a worker that cannot be started says so", async (t) => {
  const folder = await pageProject("no-worker", { "index.html": plainHtml() });
  const { rmSync } = await import("node:fs");
  rmSync(join(folder, "node_modules/rangefind/dist/worker.js"));
  const page = await newPage(t);
  await page.goto(await served(folder));
  await page.waitForFunction(() => typeof globalThis.runTests === "function");
  const outcome = await page.evaluate(() =>
    globalThis.rangefind.open({ storage: globalThis.rangefind.opfs("x") }).then(() => "opened", ({ code, message }) => `${code} ${message}`));
  assert.match(outcome, /^io .*worker.*init\(\{ worker \}\)/);
});

test("searches stay quick while another worker merges", { timeout: PAGE_TIMEOUT }, async (t) => {
  const page = await newPage(t);
  await page.goto(await served(await pageProject("responsive", { "index.html": plainHtml() })));
  await page.waitForFunction(() => typeof globalThis.runTests === "function");
  const { idle, merging, mergeMillis } = await page.evaluate(async () => {
    const { open, opfs } = globalThis.rangefind;
    const { SCHEMA, documents } = await import("/scenario.mjs");
    const index = await open({ storage: opfs(`responsive-${Date.now()}`), schema: SCHEMA, autoMerge: false });
    for (let part = 0; part < 4; part += 1) {
      await index.add(documents(part * 2000, part * 2000 + 2000));
      await index.commit();
    }
    const timed = async () => {
      const started = performance.now();
      await index.search("glacier summit");
      return performance.now() - started;
    };
    const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
    const idle = [];
    for (let n = 0; n < 20; n += 1) idle.push(await timed());
    let over = false;
    const started = performance.now();
    const merge = index.merge().then(() => (over = true));
    const merging = [];
    while (!over) merging.push(await timed());
    await merge;
    const mergeMillis = performance.now() - started;
    await index.close();
    return { idle: median(idle), merging: median(merging), mergeMillis };
  });
  t.diagnostic(`median search ${idle.toFixed(1)} ms idle, ${merging.toFixed(1)} ms during a merge of ${mergeMillis.toFixed(0)} ms`);
  // In one worker a search would wait for whole slices of the merge; two workers share two cores.
  assert.ok(merging < Math.max(10 * idle, 100), `${merging} ms during the merge, ${idle} ms idle`);
});
