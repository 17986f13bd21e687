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
    await t.test("embeds free queries where the model can be had, and says so where it cannot", async () => {
      // Stands for the library: it knows one query, whose vector is that of an example.
      const vector = await demo.eval(async () => (await (await fetch("corpus/queries.json")).json()).find(({ text }) => text === "chess engine").vector);
      let online = false;
      await context.route("https://cdn.jsdelivr.net/**", (route) => online
        ? route.fulfill({ contentType: "text/javascript", headers: { "access-control-allow-origin": "*" }, body: `export const pipeline = async () => async () => ({ data: ${JSON.stringify(vector)} });` })
        : route.abort());
      await demo.mode("vector");
      await demo.type("program that plays the royal game");
      await demo.click("#note button");
      await until(async () => /could not be loaded/.test(await demo.text("#note")), "the page to say so");
      assert.ok((await demo.ids()).length > 0, "the text alone answers");
      assert.equal(await demo.eval(() => document.getElementById("embed").checked), false);
      demo.errors = demo.errors.filter((error) => !/ERR_FAILED/.test(error));
      online = true;
      await demo.page.reload();
      await demo.opened();
      await demo.click("#embed");
      await until(async () => (await demo.cost("Vectors scored")) !== undefined, "the vector leg");
      await demo.settled();
      assert.equal(await demo.visible("#note"), false);
      const embedded = await demo.ids();
      await demo.type("chess engine");
      assert.deepEqual(await demo.ids(), embedded);
    });
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
