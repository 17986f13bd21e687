// The demo page in Firefox.
import { after, before, test } from "node:test";

import { launchFirefox } from "../../scripts/lib/browsers.mjs";
import { Demo } from "./drive.mjs";
import { startSite } from "./site.mjs";
import { tellStory } from "./story.mjs";

let site;
before(async () => { site = await startSite(); });
after(() => site?.close());

test("the demo page in Firefox", { timeout: 600_000 }, async (t) => {
  const browser = await launchFirefox();
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: 1440, height: 900 });
    await tellStory(t, { demo: new Demo(page), ...site });
  } finally {
    await browser.close();
  }
});
