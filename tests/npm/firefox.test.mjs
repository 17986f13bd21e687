// The packed package in Firefox: a plain page.
import { after, before, test } from "node:test";
import { launchFirefox } from "../../scripts/lib/browsers.mjs";
import { PAGE_TIMEOUT, pageProject, plainHtml, runInPage, served } from "./lib/pages.mjs";
import { remoteIndex } from "./lib/remote.mjs";

let browser;
before(async () => (browser = await launchFirefox()));
after(() => browser?.close());

for (const [kind, name] of [["opfs", "private file system"], ["memory", "memory"]]) {
  test(`a plain page, ${name}`, { timeout: PAGE_TIMEOUT }, async (t) => {
    const page = await browser.newPage();
    page.setDefaultTimeout(PAGE_TIMEOUT);
    const url = await served(await pageProject("firefox", { "index.html": plainHtml() }));
    await runInPage(t, page, url, { kind, http: kind === "opfs" ? await remoteIndex() : undefined, gpu: "required" });
    await page.close();
  });
}
