// The private file system between tabs, through the built package: readers while another tab writes, the writer lock
// after a killed tab, a full disk; and that reading over HTTP asks for nothing in advance.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build, files } from "rangefind";
import { launchChromiumProfile, launchFirefox } from "../../scripts/lib/browsers.mjs";
import { serve } from "../../scripts/serve.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const SCHEMA = { title: "text", n: "number" };
let site;

before(async () => {
  site = await serve({ mounts: { "/": at("pages"), "/dist/": at("../../dist") } });
});
after(() => site?.close());

/** A tab with the package as `rf`, and `docs(from, to)`. */
async function tab(browser) {
  const page = await browser.newPage();
  await page.goto(`${site.url}tab.html`);
  for (let tries = 0; !(await page.evaluate(() => globalThis.rf !== undefined)); tries += 1) {
    assert.ok(tries < 100, "the package loads");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return page;
}

/** Opens an index in a tab under a name. */
const open = (page, path, options = {}) =>
  page.evaluate(async ({ path, options }) => {
    globalThis.index = await rf.open({ storage: rf.opfs(path), ...options });
  }, { path, options });

const info = (page) => page.evaluate(() => index.info());

/** What a call in a tab rejects with. */
const codeOf = (page, call) => page.evaluate(`(async () => { try { await (${call}); return "done" } catch (error) { return error.code ?? String(error) } })()`);

for (const [name, launch] of [["Chromium", launchChromiumProfile], ["Firefox", launchFirefox]]) {
  describe(name, { timeout: 300_000 }, () => {
    let browser;
    before(async () => (browser = await launch()), { timeout: 120_000 });
    after(() => browser?.close());

    test("a tab reads while another one writes", async () => {
      const path = `tabs-reading-${Date.now()}`;
      const [writer, reader] = [await tab(browser), await tab(browser)];
      await open(writer, path, { schema: SCHEMA });
      await writer.evaluate(async () => {
        await index.add(docs(0, 200));
        await index.commit();
        globalThis.writing = index.add(docs(200, 3000));
      });
      await open(reader, path, { mode: "readOnly" });
      assert.equal((await info(reader)).numDocs, 200);
      const found = await reader.evaluate(() => index.get("d7"));
      assert.equal(found.title, "document 7 of many");
      await writer.evaluate(async () => {
        await writing;
        await index.commit();
      });
      assert.equal((await info(reader)).numDocs, 200, "a snapshot stays what it is");
      assert.equal(await reader.evaluate(() => index.reopen()), true);
      assert.equal((await info(reader)).numDocs, 3000);
      const hits = await reader.evaluate(() => index.search({ query: "document 2999", limit: 1 }));
      assert.equal(hits.hits[0].id, "d2999");
      // The writer merges and drops what the reader has open; both go on.
      await writer.evaluate(() => index.merge({ maxSegments: 1 }));
      assert.equal((await reader.evaluate(() => index.get("d1234"))).n, 1234);
      assert.equal((await writer.evaluate(() => index.get("d1234"))).n, 1234);
      await writer.evaluate(() => index.close());
      await reader.evaluate(() => index.close());
      await writer.close();
      await reader.close();
    });

    test("a killed tab loses the writer lock within seconds", async () => {
      const path = `tabs-killed-${Date.now()}`;
      const [first, second] = [await tab(browser), await tab(browser)];
      await open(first, path, { schema: SCHEMA });
      await first.evaluate(async () => {
        await index.add(docs(0, 50));
        await index.commit();
        await index.add(docs(50, 2000));
      });
      await open(second, path, { writerWaitMillis: 0 });
      assert.equal(await codeOf(second, "index.add(docs(5000, 5001))"), "locked");
      await kill(browser, first);
      await second.evaluate(() => index.close());
      await open(second, path, { writerWaitMillis: 8000 });
      const started = Date.now();
      assert.equal(await codeOf(second, "index.add(docs(5000, 5010))"), "done");
      assert.ok(Date.now() - started < 8000);
      assert.equal(await codeOf(second, "index.commit()"), "done");
      assert.equal((await info(second)).numDocs, 60, "what was committed is there, what was not is gone");
      const report = await second.evaluate(() => index.check());
      assert.deepEqual(report.problems ?? [], []);
      await second.evaluate(() => index.close());
      await second.close();
    });
  });
}

/** Ends a tab without a chance to clean up. */
async function kill(browser, page) {
  if (typeof browser.newCDPSession !== "function") return page.close();
  const session = await browser.newCDPSession(page);
  // It never answers: the process is gone.
  session.send("Page.crash").catch(() => {});
  await new Promise((resolve) => page.once("crash", resolve));
}

describe("Chromium alone", { timeout: 300_000 }, () => {
  let browser;
  before(async () => (browser = await launchChromiumProfile()), { timeout: 120_000 });
  after(() => browser?.close());

  test("a full disk is a typed error, and the last commit stays", async () => {
    const path = `tabs-full-${Date.now()}`;
    const page = await tab(browser);
    const session = await browser.newCDPSession(page);
    await open(page, path, { schema: SCHEMA });
    await page.evaluate(async () => {
      await index.add(docs(0, 100));
      await index.commit();
    });
    const origin = new URL(site.url).origin;
    await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 200_000 });
    const call = "index.add(docs(100, 60000)).then(() => index.commit())";
    assert.equal(await codeOf(page, call), "quota");
    await session.send("Storage.overrideQuotaForOrigin", { origin });
    await page.evaluate(() => index.close());
    await open(page, path);
    assert.equal((await info(page)).numDocs, 100);
    assert.equal(await codeOf(page, "index.add(docs(100, 200)).then(() => index.commit())"), "done");
    assert.equal((await info(page)).numDocs, 200);
    await page.close();
  });

  test("a remote index is read without preflights and in parts", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rangefind-remote-"));
    const docs = Array.from({ length: 2000 }, (_, n) => ({ id: `d${n}`, title: `document ${n} of many`, n }));
    await build(docs, { storage: files(folder), schema: SCHEMA });
    const server = spawn(process.execPath, [at("../servers/misbehaving.mjs"), "--dir", folder, "--port", "0"], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      const line = await new Promise((resolve) => server.stdout.once("data", (chunk) => resolve(String(chunk))));
      const base = /http:\S+/.exec(line)[0];
      const page = await tab(browser);
      const hits = await page.evaluate(async (url) => {
        const index = await rf.open({ storage: rf.http(url) });
        const answer = await index.search({ query: "document 1234", limit: 1 });
        await index.close();
        return answer.hits;
      }, `${base}/with/cors=strict/`);
      assert.equal(hits[0].id, "d1234");
      const stats = await (await fetch(`${base}/__stats`)).json();
      assert.equal(stats.preflights, 0, "Chromium sends ranges at once");
      assert.ok(stats.statuses[206] > 0);
      assert.ok(stats.ranges.every((range) => range === null || /^bytes=\d+-\d+$/.test(range)), "no suffix ranges");
      await page.close();
    } finally {
      server.stdin.end();
      server.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
