// Drives the demo page alike through Playwright (Chromium) and Puppeteer (Firefox).
import assert from "node:assert/strict";

/** Asks until `ask` gives something truthy. */
export async function until(ask, what, millis = 60_000) {
  const end = Date.now() + millis;
  let last;
  while (Date.now() < end) {
    try {
      const answer = await ask();
      if (answer) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`waited ${millis} ms for ${what}${last ? `: ${last.message}` : ""}`);
}

/** The page object of the demo over a Playwright or Puppeteer page. */
export class Demo {
  constructor(page) {
    this.page = page;
    this.errors = [];
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && !/favicon|status of 404/.test(message.text())) this.errors.push(message.text());
    });
  }

  /** Value of an expression in the page. */
  eval(fn, arg) {
    return this.page.evaluate(fn, arg);
  }

  /** Text of the first element that matches, trimmed; undefined where there is none. */
  text(selector) {
    return this.eval((s) => document.querySelector(s)?.textContent.trim(), selector);
  }

  visible(selector) {
    return this.eval((s) => document.querySelector(s)?.checkVisibility() ?? false, selector);
  }

  /** Clicks as a script does: works the same in both drivers, wherever the element is scrolled to. */
  async click(selector) {
    await until(() => this.eval((s) => { const found = document.querySelector(s); return found && !found.disabled; }, selector), `${selector} to click`);
    await this.eval((s) => document.querySelector(s).click(), selector);
  }

  /** Types into the search box, key by key. */
  async type(text) {
    await this.page.focus("#q");
    await this.eval(() => document.getElementById("q").select());
    await this.page.keyboard.press("Delete");
    await this.page.keyboard.type(text);
    await this.settled();
  }

  press(key) {
    return this.page.keyboard.press(key);
  }

  /** Waits until no search is on its way. */
  async settled() {
    let before;
    await until(async () => {
      const now = await this.eval(() => `${document.getElementById("tally").textContent}|${document.getElementById("hits").innerText}|${document.getElementById("cost").textContent}`);
      const busy = await this.eval(() => document.getElementById("hits").getAttribute("aria-busy") !== "false");
      const same = now === before && now !== "" && !busy;
      before = now;
      if (!same) await new Promise((done) => setTimeout(done, 150));
      return same;
    }, "the search to settle");
  }

  /** Ids of the hits shown. */
  ids() {
    return this.eval(() => [...document.querySelectorAll("#hits .hit")].map((hit) => hit.dataset.id));
  }

  /** A row of the panel on the last query, as text. */
  cost(name) {
    return this.eval((wanted) => [...document.querySelectorAll("#cost dt")].find((dt) => dt.textContent === wanted)?.nextElementSibling.textContent, name);
  }

  /** `{ segments, docs, deleted }` from the picture of the segments. */
  async segments() {
    const label = await this.eval(() => document.querySelector("#segments .strip").getAttribute("aria-label"));
    const [, segments, docs, deleted] = /^([\d,]+) segments?: ([\d,]+) documents?, ([\d,]+) deleted$/.exec(label);
    const number = (text) => Number(text.replaceAll(",", ""));
    return { segments: number(segments), docs: number(docs), deleted: number(deleted) };
  }

  async mode(name) {
    await this.eval((value) => document.querySelector(`[name=mode][value=${value}]`).click(), name);
    await this.settled();
  }

  /** Hands a file to the file picker. */
  async upload(path) {
    await until(() => this.eval(() => document.querySelector("input[type=file]") !== null), "the file picker");
    const picker = await this.page.$("dialog[open] input[type=file], main:not([hidden]) input[type=file]");
    if (picker.setInputFiles) await picker.setInputFiles(path);
    else await picker.uploadFile(path);
  }

  /** Waits for the search view of an open index. */
  async opened(millis = 240_000) {
    await until(async () => {
      if (await this.visible("#welcome .error")) assert.fail(`the page says: ${await this.text("#welcome .error")}`);
      return (await this.visible("#app")) && (await this.visible("#hits li"));
    }, "an open index", millis);
    await this.settled();
  }
}
