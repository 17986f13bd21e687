// The demo page in Chromium, at desktop and phone width.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launchChromiumProfile } from "../../scripts/lib/browsers.mjs";
import { Demo, until } from "./drive.mjs";
import { startSite } from "./site.mjs";
import { tellStory } from "./story.mjs";

let site;
before(async () => { site = await startSite(); });
after(() => site?.close());

test("the demo page in Chromium", { timeout: 600_000 }, async (t) => {
  const context = await launchChromiumProfile({ viewport: { width: 1440, height: 900 } });
  try {
    const demo = new Demo(await context.newPage());
    await tellStory(t, { demo, ...site });
    await t.test("takes a file dropped anywhere", async () => {
      await demo.eval(() => {
        const data = new DataTransfer();
        data.items.add(new File(['{"id":"a","title":"Dropped here","year":2024}\n{"id":"b","title":"Dropped there","year":2025}\n'], "drop.jsonl"));
        dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
      });
      await until(async () => (await demo.text("#source-label")) === "drop.jsonl" && demo.visible("#app"), "the build");
      await demo.settled();
      assert.equal(await demo.text("#tally"), "2 documents");
    });
    await t.test("fits a phone, with filters and index as sheets", async () => {
      await demo.page.setViewportSize({ width: 390, height: 844 });
      assert.ok(await demo.eval(() => document.scrollingElement.scrollWidth <= innerWidth));
      await demo.page.focus("#show-filters");
      await demo.press("Enter");
      await until(() => demo.visible("#facets .facet"), "the sheet");
      await demo.press("Escape");
      await until(async () => !(await demo.visible("#facets .facet")), "the sheet to close");
      assert.equal(await demo.eval(() => document.activeElement.id), "show-filters", "focus returns");
      await demo.click("#show-index");
      assert.ok(await demo.visible("#segments .strip"));
      await demo.click("#inspector [data-close]");
    });
  } finally {
    await context.close();
  }
});
