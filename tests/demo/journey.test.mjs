// One index, everywhere: built in a browser, checked and merged by the command line, searched again in the browser over
// byte ranges, with equal results at each station.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { launchChromiumProfile } from "../../scripts/lib/browsers.mjs";
import { Demo, until } from "./drive.mjs";
import { startSite } from "./site.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const QUERIES = ["chess engine", "read comic books", "monitor temperature and fan speed", "gnome editor"];

let site;
before(async () => { site = await startSite({ withIndex: false }); });
after(() => site?.close());

/** Runs the command line; its JSON answer and exit status. */
function rangefind(...args) {
  const { status, stdout, stderr } = spawnSync("cargo", ["run", "--quiet", "--features", "cli", "--bin", "rangefind", "--", "--json", ...args], { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
  assert.ok(stdout !== "", stderr);
  return { status, answer: JSON.parse(stdout) };
}

/** Files of a directory of the page's private file system, by name. */
async function readOpfs(demo, name) {
  const names = await demo.eval(async (folder) => {
    const dir = await (await navigator.storage.getDirectory()).getDirectoryHandle(folder);
    const found = [];
    for await (const [file, handle] of dir.entries()) if (handle.kind === "file") found.push(file);
    return found;
  }, name);
  const files = new Map();
  for (const file of names) {
    const text = await demo.eval(async ([folder, wanted]) => {
      const dir = await (await navigator.storage.getDirectory()).getDirectoryHandle(folder);
      const blob = await (await dir.getFileHandle(wanted)).getFile();
      return new Promise((done) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
        reader.readAsDataURL(blob);
      });
    }, [name, file]);
    files.set(file, Buffer.from(text, "base64"));
  }
  return files;
}

async function hitsOf(demo) {
  const all = {};
  for (const mode of ["text", "hybrid", "vector"]) {
    await demo.mode(mode);
    for (const query of QUERIES) {
      await demo.type(query);
      all[`${mode}: ${query}`] = await demo.ids();
    }
  }
  return all;
}

test("an index built in a browser is checked, merged and served natively with equal results", { timeout: 900_000 }, async (t) => {
  const context = await launchChromiumProfile({ viewport: { width: 1440, height: 900 } });
  try {
    const demo = new Demo(await context.newPage());
    await demo.page.goto(site.url);
    await demo.click("#build-corpus");
    await demo.opened();
    const inBrowser = await hitsOf(demo);
    const { docs } = await demo.segments();

    await t.test("the command line finds the browser's files sound", async () => {
      mkdirSync(site.index, { recursive: true });
      for (const [name, bytes] of await readOpfs(demo, "demo-debian")) writeFileSync(join(site.index, name), bytes);
      const { status, answer } = rangefind("check", site.index);
      assert.deepEqual({ status, ok: answer.ok, docs: answer.docs, segments: answer.segments }, { status: 0, ok: true, docs, segments: 5 });
    });

    await t.test("the command line merges them and finds the result sound", async () => {
      const { status, answer } = rangefind("merge", site.index);
      assert.equal(status, 0);
      assert.deepEqual([answer.mergedSegments, answer.numSegments, answer.docs], [5, 1, docs]);
      assert.equal(rangefind("check", site.index).answer.ok, true);
    });

    await t.test("searched natively, it answers as in the browser", async () => {
      for (const query of QUERIES) {
        const prefix = query === "gnome editor" ? ["--prefix"] : [];
        const { answer } = rangefind("search", site.index, query, "--limit", "20", ...prefix);
        assert.deepEqual(answer.hits.map((hit) => hit.id), inBrowser[`text: ${query}`], query);
      }
    });

    await t.test("opened in the browser over byte ranges, it answers as before", async () => {
      await demo.page.goto(`${site.url}?index=${encodeURIComponent(`${site.url}index/`)}`);
      await demo.opened();
      await until(async () => (await demo.segments()).segments === 1, "the merged index");
      assert.deepEqual(await hitsOf(demo), inBrowser);
    });
  } finally {
    await context.close();
  }
});
