// What a visitor does, step by step; the same in each browser.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { until } from "./drive.mjs";

const CORPUS_DOCS = 7376;

/** Runs the story in `demo` as subtests of `t`; `url` is the page, `dir` an empty folder. */
export async function tellStory(t, { demo, url, dir }) {
  await t.test("builds the bundled corpus with live progress", async () => {
    await demo.page.goto(url);
    await until(() => demo.visible("#build-corpus"), "the start page");
    await demo.click("#build-corpus");
    const seen = new Set();
    await until(async () => {
      seen.add(await demo.text("#build-count"));
      return demo.visible("#app");
    }, "the build", 240_000);
    await demo.opened();
    assert.ok(seen.size >= 4, `the counter moved: ${[...seen].join(" ")}`);
    assert.deepEqual(await demo.segments(), { segments: 5, docs: CORPUS_DOCS, deleted: 0 });
    assert.equal(await demo.text("#tally"), "7,376 documents");
  });

  await t.test("searches as one types, marks matches, shows times and costs", async () => {
    await demo.mode("text");
    await demo.type("chess eng");
    assert.ok((await demo.ids()).length > 3);
    const marks = await demo.eval(() => [...document.querySelectorAll("#hits mark")].map((mark) => mark.textContent.toLowerCase()));
    assert.ok(marks.includes("chess") && marks.includes("engine"), `a prefix matches: ${marks}`);
    assert.match(await demo.text("#tally"), /^[\d,]+ of 7,376 documents$/);
    assert.match(await demo.text("#took"), /^[\d.]+ m?s$/);
    assert.match(await demo.cost("Waves"), /^\d+$/);
    assert.match(await demo.cost("Bytes read"), /B$/);
    assert.match(await demo.cost("Cache blocks hit"), /^[\d,]+ of [\d,]+$/);
  });

  await t.test("text, vector and both give rankings of their own", async () => {
    await demo.type("watch disk usage as a tree map");
    const text = await demo.ids();
    assert.equal(await demo.cost("Vectors scored"), undefined);
    await demo.mode("vector");
    const vector = await demo.ids();
    assert.equal(await demo.cost("Vectors scored"), "7,376");
    await demo.mode("hybrid");
    const hybrid = await demo.ids();
    assert.notDeepEqual(text, vector);
    assert.notDeepEqual(hybrid, vector);
    assert.ok(hybrid.slice(0, 5).some((id) => text.slice(0, 10).includes(id)) && hybrid.slice(0, 5).some((id) => vector.slice(0, 10).includes(id)));
    assert.ok(vector.slice(0, 10).some((id) => ["baobab", "filelight", "qdirstat", "k4dirstat", "ncdu", "gdmap", "xdiskusage"].includes(id)), `${vector}`);
  });

  await t.test("a query without a vector is answered by the text alone, and the page says so", async () => {
    await demo.type("postscript viewer");
    assert.match(await demo.text("#note"), /text alone answers/);
    assert.ok((await demo.ids()).length > 0);
    await demo.type("play music from the terminal");
    assert.equal(await demo.visible("#note"), false);
  });

  await t.test("facets and ranges narrow the hits", async () => {
    await demo.mode("text");
    await demo.type("game");
    const all = await demo.text("#tally");
    const [label, docs] = await demo.eval(() => {
      const first = document.querySelector("[data-field=section] .value");
      return [first.querySelector("span").textContent, first.querySelector("i").textContent];
    });
    await demo.click("[data-field=section] .value input");
    await demo.settled();
    assert.ok((await demo.text("#tally")).startsWith(`${docs} of `), `${await demo.text("#tally")}, facet says ${docs}, was ${all}`);
    assert.ok(await demo.eval(() => document.querySelectorAll("[data-field=section] .value").length > 1), "other sections still counted");
    const sections = await demo.eval(() => [...document.querySelectorAll("#hits .meta > div:first-child span:first-child")].map((span) => span.textContent));
    assert.ok(sections.length > 0 && sections.every((section) => section === label), `${sections}`);
    await demo.eval(() => {
      const from = document.querySelector("[data-facet='installed_kb.gte']");
      from.value = "100000";
      from.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await demo.settled();
    const sizes = await demo.eval(() => [...document.querySelectorAll("#hits .meta [title^=Installed]")].map((span) => span.textContent));
    assert.ok(sizes.every((size) => /^[\d.]+ [GM]B$/.test(size)), `${sizes}`);
    await demo.click("#clear-filters");
    await demo.settled();
    assert.equal(await demo.text("#tally"), all);
  });

  await t.test("sorts by a column", async () => {
    await demo.eval(() => {
      const sort = document.getElementById("sort");
      sort.value = "installed_kb:desc";
      sort.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await demo.settled();
    const largest = await demo.ids();
    await demo.eval(() => {
      const sort = document.getElementById("sort");
      sort.value = "";
      sort.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await demo.settled();
    assert.notDeepEqual(await demo.ids(), largest);
  });

  await t.test("keyboard: slash, arrows, Enter, Escape", async () => {
    await demo.eval(() => document.activeElement.blur());
    await demo.press("/");
    assert.equal(await demo.eval(() => document.activeElement.id), "q");
    const ids = await demo.ids();
    const focused = () => demo.eval(() => document.activeElement.closest("li")?.dataset.id ?? document.activeElement.id);
    await demo.press("ArrowDown");
    assert.equal(await focused(), ids[0]);
    await demo.press("ArrowDown");
    assert.equal(await focused(), ids[1]);
    await demo.press("Enter");
    assert.equal(await demo.eval(() => document.activeElement.getAttribute("aria-expanded")), "true");
    assert.ok(await demo.visible(".hit .full"));
    await demo.press("ArrowUp");
    await demo.press("ArrowUp");
    assert.equal(await focused(), "q");
    await demo.press("Escape");
    await demo.settled();
    assert.equal(await demo.eval(() => document.getElementById("q").value), "");
  });

  await t.test("more like this, and where a score comes from", async () => {
    await demo.type("solve sudoku puzzles");
    const [first] = await demo.ids();
    await demo.click("#hits [data-act=like]");
    await demo.settled();
    assert.match(await demo.text("#like"), /^More like /);
    const like = await demo.ids();
    assert.ok(like.length > 0 && !like.includes(first));
    await demo.click("#like button");
    await demo.settled();
    await demo.click("#hits h3 button");
    await demo.click("#hits .full .acts .link");
    assert.ok(await until(() => demo.text("#hits .derive"), "the derivation"));
  });

  let before;
  await t.test("a cancelled merge leaves everything as it was", async () => {
    await demo.type("solve sudoku puzzles");
    before = await demo.ids();
    await demo.eval(() => {
      document.getElementById("merge").click();
      document.querySelector("#merge-box .job button").click();
    });
    await until(() => demo.visible("#merge"), "the merge to end");
    assert.match(await demo.text("#toast"), /cancelled/);
    await demo.settled();
    assert.deepEqual(await demo.segments(), { segments: 5, docs: CORPUS_DOCS, deleted: 0 });
    assert.deepEqual(await demo.ids(), before);
  });

  await t.test("merges into one segment with equal results", async () => {
    await demo.click("#merge");
    await until(async () => (await demo.segments()).segments === 1, "the merge", 240_000);
    await demo.settled();
    assert.deepEqual(await demo.segments(), { segments: 1, docs: CORPUS_DOCS, deleted: 0 });
    assert.deepEqual(await demo.ids(), before);
    assert.match(await demo.text("#toast"), /^Merged 5 segments/);
  });

  await t.test("deletes a hit, and a merge drops its bytes", async () => {
    const [victim] = before;
    await demo.click("#hits [data-act=delete]");
    await until(async () => (await demo.segments()).deleted === 1, "the deletion");
    await demo.settled();
    assert.deepEqual(await demo.segments(), { segments: 1, docs: CORPUS_DOCS - 1, deleted: 1 });
    assert.ok(!(await demo.ids()).includes(victim));
    await demo.click("#merge");
    await until(async () => (await demo.segments()).deleted === 0, "the second merge", 240_000);
    await demo.settled();
    assert.deepEqual(await demo.segments(), { segments: 1, docs: CORPUS_DOCS - 1, deleted: 0 });
    before = await demo.ids();
    assert.ok(before.length > 0 && !before.includes(victim));
  });

  await t.test("checks every byte", async () => {
    await demo.click("#check");
    await until(async () => /^Sound\./.test(await demo.text("#verdict") ?? ""), "the verdict", 120_000);
  });

  await t.test("a reload finds the index and the query again", async () => {
    await demo.page.reload();
    await demo.opened();
    assert.deepEqual(await demo.segments(), { segments: 1, docs: CORPUS_DOCS - 1, deleted: 0 });
    assert.equal(await demo.eval(() => document.getElementById("q").value), "solve sudoku puzzles");
    assert.deepEqual(await demo.ids(), before);
  });

  await t.test("opens an index by URL over range requests", async () => {
    await demo.click("#switch");
    await until(() => demo.visible("#dialog-sources input[type=url]"), "the dialog");
    await demo.eval((address) => {
      document.querySelector("#dialog-sources input[type=url]").value = address;
      document.querySelector("#dialog-sources form button").click();
    }, `${url}index/`);
    await until(async () => /^127\.0\.0\.1|^localhost/.test(await demo.text("#source-where")), "the remote index");
    await demo.settled();
    assert.match(await demo.text("#toast"), /^Opened in [\d.]+ m?s, with [\d.]+ [KM]B of metadata$/);
    assert.equal((await demo.segments()).docs, CORPUS_DOCS);
    assert.equal(await demo.visible("#merge"), false);
    await demo.type("terminal multiplexer");
    const remote = await demo.ids();
    assert.ok(Number(await demo.cost("Requests")) > 0, "it asks the server");
    assert.ok(Number(await demo.cost("Waves")) <= 4, `in ${await demo.cost("Waves")} waves`);
    await demo.click("#switch");
    await demo.click("#dialog-sources [data-open=debian]");
    await until(async () => (await demo.text("#source-where")) === "in this browser", "the local index");
    await demo.type("terminal multiplexer");
    assert.deepEqual(remote, await demo.ids());
  });

  await t.test("builds an index of a CSV file", async () => {
    const path = join(dir, "peaks.csv");
    writeFileSync(path, 'name,notes,country,height\n"Piz Bernina","Highest of the Eastern Alps, with the ""Biancograt""",CH,4049\nZugspitze,"Highest in Germany; a cog railway",DE,2962\nSäntis,"Seen from far away",CH,2502\n');
    await demo.click("#switch");
    await demo.upload(path);
    await until(async () => (await demo.text("#source-label")) === "peaks.csv" && demo.visible("#app"), "the build");
    await demo.settled();
    assert.equal(await demo.text("#tally"), "3 documents");
    assert.equal(await demo.visible("#modes"), false, "no vectors, no modes");
    await demo.type("santis");
    assert.equal((await demo.ids()).length, 1, "accents fold");
    await demo.type("highest");
    assert.equal((await demo.ids()).length, 2);
  });

  await t.test("a file that is no JSON is refused in words, and the page goes on", async () => {
    const path = join(dir, "broken.jsonl");
    writeFileSync(path, '{"a": 1}\nnot json\n');
    await demo.click("#switch");
    await demo.upload(path);
    await until(async () => /line 2 is not JSON/.test(await demo.text("#welcome .error") ?? ""), "the message");
    await demo.click("#welcome [data-open=debian]");
    await demo.opened();
  });

  await t.test("everything has a name, nothing overflows, nothing was logged as an error", async () => {
    const unnamed = await demo.eval(() => [...document.querySelectorAll("button, input, select, a, dialog, fieldset, [role=img]")].filter((element) => {
      if (!element.checkVisibility()) return false;
      const label = element.getAttribute("aria-label") || element.textContent.trim() || element.labels?.[0]?.textContent.trim() || document.getElementById(element.getAttribute("aria-labelledby"))?.textContent;
      return !label;
    }).map((element) => element.outerHTML.slice(0, 120)));
    assert.deepEqual(unnamed, []);
    assert.ok(await demo.eval(() => document.scrollingElement.scrollWidth <= innerWidth), "no horizontal scroll");
    assert.deepEqual(demo.errors, []);
  });
}
