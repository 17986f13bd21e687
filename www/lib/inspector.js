// The right-hand panel: a picture of the segments, the merge, what the last query cost, and a check of every byte.
import { $, fill, h, toast } from "./dom.js";
import { explain, isAbort } from "./engine.js";
import { bytes, count, millis, phase, plural } from "./format.js";

/** Draws segments side by side, as wide as they have documents; deletions are hatched. */
export function drawStrip(box, segments) {
  const most = Math.max(1, ...segments.map((segment) => segment.numDocs + segment.numDeleted));
  const blocks = segments.map((segment, ix) => {
    const docs = segment.numDocs + segment.numDeleted;
    const block = box.children[ix]?.tagName === "SPAN" ? box.children[ix] : h("span");
    block.style.setProperty("--docs", docs);
    block.style.setProperty("--shade", (0.55 + 0.45 * Math.sqrt(docs / most)).toFixed(3));
    block.title = `${segment.id.slice(0, 8)}: ${plural(segment.numDocs, "document")}, ${count(segment.numDeleted)} deleted, ${bytes(segment.bytes)}`;
    block.replaceChildren();
    if (segment.numDeleted > 0) block.append(h("i", { style: { "--gone": `${((100 * segment.numDeleted) / docs).toFixed(2)}%` } }));
    return block;
  });
  box.replaceChildren(...blocks);
}

/** The panel of one open index: `{ draw(info), cost(response, millis), opening(cost) }`. */
export function createInspector({ getIndex, onChanged }) {
  const history = [];
  const strip = h("div", { class: "strip", role: "img" });
  const table = h("table", { class: "seg" });
  $("segments").replaceChildren(strip, table);
  let readOnly = false;
  let running;

  function draw(info) {
    readOnly = info.readOnly;
    const { segments } = info;
    drawStrip(strip, segments);
    strip.hidden = segments.length === 0;
    strip.setAttribute("aria-label", `${plural(segments.length, "segment")}: ${plural(info.numDocs, "document")}, ${count(info.numDeleted)} deleted`);
    const row = (cells, tag = "td") => h("tr", {}, cells.map((cell) => h(tag, tag === "th" ? { scope: "col" } : {}, cell)));
    table.replaceChildren(
      h("thead", {}, row(["Segment", "Docs", "Deleted", "Size"], "th")),
      h("tbody", {}, segments.map((s) => row([s.id.slice(0, 6), count(s.numDocs), count(s.numDeleted), bytes(s.bytes)]))),
      h("tfoot", { hidden: segments.length < 2 }, row([count(segments.length), count(info.numDocs), count(info.numDeleted), bytes(info.bytes)])),
    );
    if (!running) drawMerge(info);
    if (!$("health").firstChild) drawCheck();
  }

  function drawMerge(info) {
    if (readOnly) {
      $("merge-box").replaceChildren(h("p", { class: "verdict" }, "Read over byte ranges, so nothing here can change it."));
      return;
    }
    const done = info.segments.length < 2 && info.numDeleted === 0;
    fill($("merge-box"), h("div", { class: "acts" },
      h("button", { id: "merge", class: "quiet framed", type: "button", disabled: done, onclick: merge }, "Merge into one"),
      done && h("span", { class: "verdict" }, "Already one, nothing deleted.")));
  }

  /** Shows a running job in `box`; returns what to call with progress. */
  function showJob(box, title, abort) {
    const bar = h("progress", { max: 1, "aria-label": title });
    const said = h("span", { role: "status" }, title);
    const share = h("span", { class: "share" });
    const cancel = h("button", { class: "quiet", type: "button", onclick: () => { cancel.disabled = true; abort(); } }, "Cancel");
    box.replaceChildren(h("div", { class: "job" }, h("div", {}, said, cancel), bar));
    cancel.focus({ preventScroll: true });
    return ({ phase: name, done, total }) => {
      if (said.textContent !== phase(name)) said.textContent = phase(name);
      if (total > 0) bar.value = Math.min(1, done / total);
      share.textContent = total > 0 ? `${Math.round((100 * done) / total)} %` : "";
    };
  }

  async function merge() {
    const index = getIndex();
    running = new AbortController();
    strip.classList.add("busy");
    const onProgress = showJob($("merge-box"), "Merging", () => running.abort());
    try {
      const report = await index.merge({ maxSegments: 1, onProgress, signal: running.signal });
      toast(`Merged ${plural(report.mergedSegments, "segment")} in ${millis(report.took)}, ${bytes(report.peakMemoryBytes)} of buffers at most`);
    } catch (error) {
      toast(isAbort(error) ? "Merge cancelled. The index is as it was." : `Merge failed: ${explain(error)}`);
    } finally {
      running = undefined;
      strip.classList.remove("busy");
      if (getIndex() === index) {
        await onChanged();
        if ($("inspector").contains(document.activeElement) || document.activeElement === document.body) $("merge")?.focus({ preventScroll: true });
      }
    }
  }

  function drawCheck(report, took) {
    const said = !report ? "Reads every byte and compares it with its checksum."
      : report.ok ? [h("b", {}, "Sound. "), `${bytes(report.bytes)} in ${plural(report.segments, "segment")}, ${plural(report.docs, "document")}, ${millis(took)}.`]
        : [h("b", {}, `${plural(report.problems.length, "problem")}. `), report.problems.slice(0, 3).map((p) => `${p.file}: ${p.message}. `)];
    fill($("health"), h("p", { class: "verdict", id: "verdict", role: "status" }, said),
      h("button", { id: "check", class: "quiet framed", type: "button", onclick: check }, report ? "Check again" : "Check the index"));
  }

  async function check() {
    const index = getIndex();
    const abort = new AbortController();
    const start = performance.now();
    const onProgress = showJob($("health"), "Checking", () => abort.abort());
    try {
      const report = await index.check({ onProgress, signal: abort.signal });
      drawCheck(report, performance.now() - start);
    } catch (error) {
      drawCheck();
      if (!isAbort(error)) toast(`Check failed: ${explain(error)}`);
    }
    $("check")?.focus({ preventScroll: true });
  }

  const list = (rows) => rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);

  function cost(response, roundTrip) {
    const { stats } = response;
    history.push(response.took);
    if (history.length > 40) history.shift();
    const top = Math.max(...history);
    fill($("cost"),
      h("dl", { class: "cost" },
        list([
          ["In the engine", millis(response.took)], ["Round trip from the page", millis(roundTrip)],
          ["Requests", count(stats.requests)], ["Bytes read", bytes(stats.bytes)], ["Waves", count(stats.waves)],
          ["Cache blocks hit", `${count(stats.cacheHits)} of ${count(stats.cacheHits + stats.cacheMisses)}`],
        ]),
        stats.vectorsScored > 0 && list([["Vectors scored", count(stats.vectorsScored)]]),
        stats.vectorsScored > 0 && stats.compute && h("dd", { class: "said" }, `Scored on ${stats.compute}`)),
      history.length > 3 && h("div", { class: "spark", role: "img", "aria-label": `Engine time of the last ${history.length} queries, at most ${millis(top)}` },
        history.map((took) => h("i", { style: { "--h": `${Math.max(4, (100 * took) / top).toFixed(1)}%` } }))));
  }

  return {
    draw, cost,
    reset() { history.length = 0; $("health").replaceChildren(); $("cost").replaceChildren(); },
    get busy() { return running !== undefined; },
    stop() { running?.abort(); },
  };
}
