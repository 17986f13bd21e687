// The demo page over the built package, with the corpus as an index at /index/.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { buildDemoIndex } from "../../scripts/demo-index.mjs";
import { demoMounts, serve } from "../../scripts/serve.mjs";

/** Serves the demo; `dir` is a folder for the test's own files, `index` in it holds the served index. */
export async function startSite({ withIndex = true } = {}) {
  assert.ok(existsSync(join(demoMounts()["/dist/"], "browser.js")), "run npm run build first");
  const dir = mkdtempSync(join(tmpdir(), "rangefind-demo-"));
  const index = join(dir, "index");
  if (withIndex) await buildDemoIndex(index);
  const site = await serve({ mounts: { ...demoMounts(), "/index/": index } });
  return {
    url: site.url, dir, index,
    async close() {
      await site.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
