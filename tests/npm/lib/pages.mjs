// Test pages: folders to serve, and how to run the scenario in what is served.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../../../scripts/serve.mjs";
import { here, project, report, root } from "./package.mjs";

/** Longest scenario in a browser, milliseconds. */
export const PAGE_TIMEOUT = 420_000;

/** Whether the module is the quick build, which has the crash query. */
export const hasCrash = readFileSync(join(root, "dist/rangefind.wasm")).includes("the query of the crash test");

/** A project with the scripts of a test page beside `files`. */
export async function pageProject(name, files) {
  const folder = await project(name, files);
  copyFileSync(join(here, "scenario.mjs"), join(folder, "scenario.mjs"));
  writeFileSync(join(folder, "main.js"), readFileSync(join(here, "page-main.js")));
  return folder;
}

/** Serves `folder`; `headers` go with every answer. Does not keep this process alive. */
export async function served(folder, { headers = {}, onRequest } = {}) {
  const { url, server } = await serve({ mounts: { "/": folder }, onRequest });
  server.prependListener("request", (_, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  });
  server.unref();
  return url;
}

/** A page without any bundler: an import map names the package's file. */
export function plainHtml(entry = "/node_modules/rangefind/dist/browser.js") {
  return `<!doctype html><meta charset="utf-8"><title>plain</title><link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports: { rangefind: entry } })}</script>
<script type="module" src="./main.js"></script>`;
}

/** Runs the scenario in an opened page and reports it. `page` is Playwright's or Puppeteer's. */
export async function runInPage(t, page, url, options) {
  await page.goto(url);
  await page.waitForFunction(() => typeof globalThis.runTests === "function", { timeout: 60_000 });
  const results = await page.evaluate((options) => globalThis.runTests(options), { crash: hasCrash, ...options });
  await report(t, results);
}
