// The demo page: which index is open, what is asked of it, and who draws the answer. Everything here goes through the published
// package; the page adds no search logic.
import { buildCorpus, buildFile } from "./lib/build.js";
import { loadQueries } from "./lib/corpus.js";
import { $, h, toast } from "./lib/dom.js";
import { embed, loadModel } from "./lib/embed.js";
import { describe, explain, isAbort, localIndexes, openLocal, openUrl, removeIndex } from "./lib/engine.js";
import { countFilters, drawFacets, FACET_VALUES, toFilter } from "./lib/facets.js";
import { bytes, count, millis, plural } from "./lib/format.js";
import { createInspector } from "./lib/inspector.js";
import { bindArrows, drawHits } from "./lib/results.js";
import { sourcesView } from "./lib/sources.js";

const PAGE_HITS = 20;
/** In indexes of so many documents all vectors are scored: of 7,376, in a millisecond. Larger ones are probed. */
const EXACT_DOCS = 10_000;
const LAST = "rangefind:last";

/** What is open: `{ index, fields, info, source, opening }`. */
let current;
/** What is asked. */
const ask = { text: "", mode: "hybrid", filters: new Map(), sort: "", like: undefined, limit: PAGE_HITS };
/** Vectors of queries: the corpus's own, and those embedded in this page. */
let known = new Map();
const embedded = new Map();
let searching;
let embedFailed;

const input = $("q");
const inspector = createInspector({ getIndex: () => current?.index, onChanged: refresh });

// ------------------------------------------------------------------------------------------------- opening

function show(id) {
  for (const main of ["welcome", "building", "app"]) $(main).hidden = main !== id;
  $("switch").hidden = $("show-index").hidden = id !== "app";
  document.querySelector(".skip").hidden = id !== "app";
}

const handlers = {
  open: (name) => run(() => openNamed(name)),
  url: (url) => run(() => openAt(url)),
  corpus: () => build(buildCorpus),
  file: (file) => build(async (options) => {
    const { name, refused } = await buildFile(file, options);
    if (refused.length > 0) toast(`${plural(refused.length, "document")} did not fit, the first in row ${refused[0].row + 1}: ${refused[0].reason}`);
    return name;
  }),
  async remove(entry) {
    if (current?.source.name === entry.name) await leave();
    await removeIndex(entry.name).catch((error) => toast(`Not removed: ${explain(error)}`));
    if (!current) { welcome(); $("sources-dialog").close(); } else drawSources();
  },
};

function drawSources(message) {
  const box = $("sources-dialog").open ? $("dialog-sources") : $("welcome-sources");
  box.replaceChildren(message ? h("p", { class: "error", role: "alert" }, message) : "", sourcesView(handlers, current?.source.name));
}

/** Runs an opening; a failure is told where the choice was made. */
async function run(action) {
  try {
    await action();
    $("sources-dialog").close();
  } catch (error) {
    if ($("sources-dialog").open || current) {
      if (!$("sources-dialog").open) $("sources-dialog").showModal();
      drawSources(explain(error));
    } else welcome(explain(error));
  }
}

function welcome(message) {
  show("welcome");
  drawSources(message);
}

/** Closes what is open. */
async function leave() {
  searching?.abort();
  inspector.stop();
  const { index } = current;
  current = undefined;
  try { localStorage.removeItem(LAST); } catch { /* private mode */ }
  await index.close();
}

async function build(job) {
  const abort = new AbortController();
  $("sources-dialog").close();
  if (current) await leave();
  input.value = ask.text = "";
  show("building");
  $("build-title").focus();
  $("build-cancel").onclick = () => abort.abort();
  try {
    await openNamed(await job({ signal: abort.signal }));
  } catch (error) {
    welcome(isAbort(error) ? "The build was cancelled." : explain(error));
  }
}

async function openNamed(name) {
  const entry = localIndexes().find((one) => one.name === name);
  await adopt(await openLocal(name), { name, label: entry?.label ?? name, where: "in this browser" });
  try { localStorage.setItem(LAST, name); } catch { /* private mode */ }
}

async function openAt(url) {
  const address = new URL(url, location.href).href;
  const result = await openUrl(address);
  const host = new URL(address).host;
  await adopt(result, { url: address, label: new URL(address).pathname.split("/").filter(Boolean).pop() ?? host, where: host });
  toast(`Opened in ${millis(result.opening.millis)}, with ${bytes(result.opening.pinnedBytes)} of metadata`);
}

async function adopt({ index, opening }, source) {
  if (current) await leave();
  const info = await index.info();
  current = { index, info, source, opening, fields: describe(info) };
  ask.filters.clear();
  Object.assign(ask, { like: undefined, sort: "", limit: PAGE_HITS });
  $("source-label").textContent = source.label;
  $("source-where").textContent = source.where;
  const { vector } = current.fields;
  const isCorpus = vector !== undefined && info.fields.some((field) => field.name === "works_with");
  known = isCorpus ? await loadQueries().catch(() => new Map()) : new Map();
  for (const radio of document.getElementsByName("mode")) radio.disabled = vector === undefined && radio.value !== "text";
  $("modes").hidden = vector === undefined;
  $("embed-row").hidden = !isCorpus;
  if (vector === undefined) setMode("text");
  drawSort();
  inspector.reset();
  inspector.draw(info);
  show("app");
  search({ fresh: true });
  if (matchMedia("(hover: hover)").matches) input.focus({ preventScroll: true });
}

/** After a commit or merge: the new state, and the same search again. */
async function refresh() {
  current.info = await current.index.info();
  inspector.draw(current.info);
  await search();
}

// Another tab may have committed meanwhile.
document.addEventListener("visibilitychange", async () => {
  if (document.hidden || !current || current.source.url || inspector.busy) return;
  const { index } = current;
  const newer = await index.reopen().catch(() => false);
  if (newer && current?.index === index) await refresh();
});

// ------------------------------------------------------------------------------------------------- asking

function setMode(mode) {
  ask.mode = mode;
  for (const radio of document.getElementsByName("mode")) radio.checked = radio.value === mode;
}

function drawSort() {
  const { numbers, dates } = current.fields;
  const options = [["", "Best first"], ...numbers.slice(0, 4).flatMap((field) => [[`${field}:desc`, field === "installed_kb" ? "Largest first" : `${field}, high to low`],
    [`${field}:asc`, field === "installed_kb" ? "Smallest first" : `${field}, low to high`]]),
    ...dates.slice(0, 2).flatMap((field) => [[`${field}:desc`, `${field}, newest`], [`${field}:asc`, `${field}, oldest`]])];
  $("sort").replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  $("sort").value = ask.sort;
}

/** How far the vector leg looks. */
function reach() {
  return { k: Math.max(100, ask.limit), exact: current.info.numDocs <= EXACT_DOCS };
}

/** The vector of the query, and what to say where there is none. */
function vectorLeg(text) {
  const { vector: field } = current.fields;
  if (field === undefined || ask.mode === "text" || text === "") return {};
  const value = known.get(text.toLowerCase()) ?? embedded.get(text.toLowerCase());
  if (value) return { vector: { field, value, ...reach() } };
  if ($("embed").checked && !embedFailed) return { note: "Embedding the query …", wanted: true };
  return { note: embedFailed ? [`The model could not be loaded (${embedFailed}). The text alone answers.`] : [
    "This query has no vector yet, so the text alone answers. ",
    ...($("embed-row").hidden ? [] : [h("button", { class: "link", type: "button", onclick: () => { $("embed").checked = true; startModel(); } }, "Embed queries in this page"), " or pick an example."]),
  ] };
}

function request() {
  const text = ask.text.trim();
  const { fields } = current;
  const base = { filter: toFilter(ask.filters), gpu: $("gpu").checked ? "auto" : "off" };
  if (ask.like) return { request: { ...base, vector: { field: fields.vector, like: ask.like.id, ...reach() } } };
  const { vector, note, wanted } = vectorLeg(text);
  const useText = text !== "" && !(ask.mode === "vector" && vector);
  const lucene = $("lucene").checked;
  return { note, wanted, text, request: {
    ...base, vector,
    ...(useText ? { query: text, syntax: lucene ? "lucene" : "plain", match: $("match-all").checked ? "all" : "any",
      prefix: !lucene && !known.has(text.toLowerCase()) && !/\s$/.test(ask.text), highlight: [fields.title, ...fields.bodies].filter((field) => fields.text.includes(field)) } : {}),
  } };
}

async function search({ fresh = false, explainId } = {}) {
  if (!current) return undefined;
  const { index, fields } = current;
  searching?.abort();
  const { signal } = (searching = new AbortController());
  const asked = request();
  const facetFields = fields.keywords.slice(0, 6);
  const [sortField, order] = ask.sort.split(":");
  const options = { ...asked.request, ...(sortField && !ask.like ? { sort: [{ field: sortField, order }] } : {}), signal };
  $("hits").setAttribute("aria-busy", "true");
  note(asked.note);
  drawSuggestions(asked.text ?? "");
  const start = performance.now();
  try {
    const answer = await index.search({ ...options, limit: ask.limit, facets: facetFields.map((field) => ({ field, limit: FACET_VALUES })) });
    const roundTrip = performance.now() - start;
    // A field with a choice in force counts its other values too: the same search without its own condition.
    const chosen = facetFields.filter((field) => ask.filters.get(field)?.size > 0);
    const wider = await Promise.all(chosen.map((field) => index.search({
      ...options, sort: undefined, highlight: undefined, filter: toFilter(ask.filters, field), limit: 1, select: [], facets: [{ field, limit: FACET_VALUES }] })));
    if (signal.aborted) return undefined;
    const facets = new Map(answer.facets.map(({ field, values }) => [field, values]));
    chosen.forEach((field, ix) => facets.set(field, wider[ix].facets[0].values));
    drawAnswer(answer, asked, { fresh, roundTrip, facets });
    writeAddress();
    if (asked.wanted) embedQuery(asked.text);
  } catch (error) {
    if (signal.aborted || isAbort(error)) return undefined;
    if (error.code === "index_changed") return handlers[current.source.url ? "url" : "open"](current.source.url ?? current.source.name);
    note(`The search failed: ${explain(error)}`);
  } finally {
    if (!signal.aborted) $("hits").setAttribute("aria-busy", "false");
  }
  return undefined;
}

function drawAnswer(answer, asked, { fresh, roundTrip, facets }) {
  const { fields, info } = current;
  const like = ask.like;
  const ranked = asked.request.vector && !asked.request.query;
  const isExact = answer.totalRelation === "exact";
  const all = !asked.request.vector && !asked.request.query && countFilters(ask.filters) === 0;
  $("tally").textContent = ranked ? `${asked.request.vector.exact ? "Nearest" : "Nearest found"} of ${plural(answer.total, "document")}` : all ? plural(answer.total, "document")
    : `${isExact ? "" : "At least "}${count(answer.total)} of ${plural(info.numDocs, "document")}`;
  $("took").textContent = millis(answer.took);
  $("like").hidden = !like;
  if (like) $("like").replaceChildren(h("span", {}, "More like ", h("b", {}, like.name)), h("button", { class: "link", type: "button", onclick: clearLike }, "Back to the search"));
  drawFacets({ fields, facets, filters: ask.filters, onChange: () => { ask.limit = PAGE_HITS; search({ fresh: true }); } });
  const actions = {
    like: fields.vector && ((hit, name) => { Object.assign(ask, { like: { id: hit.id, name: name.split(" - ")[0] }, limit: PAGE_HITS }); scrollTo({ top: 0 }); search({ fresh: true }).then(() => $("like").querySelector("button").focus()); }),
    remove: !info.readOnly && remove, explain: whyScore,
  };
  const ignored = answer.ignored?.length > 0 ? `Ignored: ${answer.ignored.join("; ")}.` : undefined;
  if (ignored) note(ignored);
  drawHits(answer.hits, fields, actions, { fresh, empty: countFilters(ask.filters) > 0 ? "Nothing matches with these filters." : "Nothing matches. Fewer or other words may." });
  $("more").hidden = answer.hits.length < ask.limit || (isExact && answer.hits.length >= answer.total);
  inspector.cost(answer, roundTrip);
}

/** The derivation of one hit's score, asked for on its own. */
async function whyScore(id) {
  const answer = await current.index.search({ ...request().request, limit: ask.limit, explain: true });
  return answer.hits.find((hit) => hit.id === id)?.explain;
}

async function remove(hit, name) {
  const { index } = current;
  const at = [...$("hits").children].findIndex((item) => item.dataset.id === String(hit.id));
  try {
    await index.delete([hit.id]);
    await index.commit();
    toast(`Deleted ${name.split(" - ")[0]}. Its segment keeps the bytes until a merge.`);
  } catch (error) {
    toast(`Not deleted: ${explain(error)}`);
  }
  if (ask.like?.id === hit.id) ask.like = undefined;
  await refresh();
  ($("hits").children[at]?.querySelector("h3 button") ?? input).focus({ preventScroll: true });
}

function clearLike() {
  ask.like = undefined;
  search({ fresh: true });
  input.focus();
}

let noted;

/** Says something above the hits, or nothing; the same again is not said again. */
function note(content) {
  const text = [content ?? []].flat().map((part) => part.textContent ?? part).join("");
  if (text === noted) return;
  noted = text;
  $("note").hidden = text === "";
  $("note").replaceChildren(...[content ?? []].flat());
}

/** Shareable state: query, mode, and the address of a remote index. */
function writeAddress() {
  const params = new URLSearchParams();
  if (current.source.url) params.set("index", current.source.url);
  if (ask.text.trim()) params.set("q", ask.text.trim());
  if (ask.mode !== "hybrid" && current.fields.vector) params.set("mode", ask.mode);
  const search = params.toString();
  history.replaceState(null, "", search ? `?${search}` : location.pathname);
}

// -------------------------------------------------------------------------------------- examples, embedding

let shuffled = [];

function drawSuggestions(text) {
  const box = $("suggestions");
  if (known.size === 0 || ask.like || known.has(text.toLowerCase())) { box.replaceChildren(); return; }
  if (shuffled.length === 0) shuffled = [...known.keys()].map((key) => [Math.random(), key]).sort((a, b) => a[0] - b[0]).map(([, key]) => key);
  const wanted = text.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
  const fitting = wanted.length === 0 ? shuffled.slice(0, 4) : [...known.keys()].filter((key) => wanted.every((word) => ` ${key}`.includes(` ${word}`))).slice(0, 4);
  box.replaceChildren(...(fitting.length === 0 ? [] : [h("span", {}, "Try"), ...fitting.map((key) => h("button", { class: "link", type: "button", onclick() {
    setText(key);
    input.focus({ preventScroll: true });
  } }, key))]));
}

function setText(text) {
  input.value = text;
  Object.assign(ask, { text, like: undefined, limit: PAGE_HITS });
  search({ fresh: true });
}

let embedTimer;

/** Embeds the query once typing rests, then searches again. */
function embedQuery(text) {
  clearTimeout(embedTimer);
  embedTimer = setTimeout(async () => {
    try {
      embedded.set(text.toLowerCase(), await embed(text));
      if (ask.text.trim() === text) search();
    } catch (error) {
      modelFailed(error);
    }
  }, 180);
}

function modelFailed(error) {
  embedFailed = error.message.split("\n")[0];
  $("embed").checked = false;
  $("embed-note").textContent = "the model could not be loaded";
  search();
}

async function startModel() {
  embedFailed = undefined;
  $("embed-note").textContent = "loading the model …";
  search();
  try {
    await loadModel();
    $("embed-note").textContent = "all-MiniLM-L6-v2 runs in this page";
    search();
  } catch (error) {
    modelFailed(error);
  }
}

// ------------------------------------------------------------------------------------------------- wiring

input.addEventListener("input", () => {
  Object.assign(ask, { text: input.value, like: undefined, limit: PAGE_HITS });
  search();
});
$("form").addEventListener("submit", (event) => { event.preventDefault(); if (matchMedia("(hover: none)").matches) input.blur(); });
input.addEventListener("keydown", (event) => { if (event.key === "Escape" && input.value !== "") { event.preventDefault(); setText(""); } });
bindArrows(input);

addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "") && document.activeElement.type !== "checkbox" && document.activeElement.type !== "radio";
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey && !$("app").hidden && !document.querySelector("dialog:modal")) {
    event.preventDefault();
    input.focus();
    input.select();
  }
  if (event.key === "Escape" && $("options").open) { $("options").open = false; $("options").querySelector("summary").focus(); }
});
addEventListener("pointerdown", (event) => { if ($("options").open && !$("options").contains(event.target)) $("options").open = false; });

$("modes").addEventListener("change", (event) => { ask.mode = event.target.value; search({ fresh: true }); });
$("sort").addEventListener("change", () => { ask.sort = $("sort").value; search({ fresh: true }); });
for (const id of ["match-all", "lucene", "gpu"]) $(id).addEventListener("change", () => search());
$("embed").addEventListener("change", () => { if ($("embed").checked) startModel(); else search(); });
$("clear-filters").addEventListener("click", () => { ask.filters.clear(); search({ fresh: true }); });
$("more").addEventListener("click", async () => {
  const before = $("hits").children.length;
  ask.limit += PAGE_HITS;
  await search();
  $("hits").children[before]?.querySelector("h3 button").focus({ preventScroll: true });
});

// Panels are columns where they fit; elsewhere the same elements open as sheets.
for (const [button, panel] of [["show-filters", "filters"], ["show-index", "inspector"]]) $(button).addEventListener("click", () => $(panel).showModal());
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog && dialog.matches(":modal")) dialog.close(); });
}
matchMedia("(min-width: 761px)").addEventListener("change", () => { for (const id of ["filters", "inspector"]) $(id).close(); });
$("switch").addEventListener("click", () => { $("sources-dialog").showModal(); drawSources(); });

const THEMES = { "": "system", light: "light", dark: "dark" };
function drawTheme() { $("theme").setAttribute("aria-label", `Colours: ${THEMES[document.documentElement.style.colorScheme] ?? "system"}`); }
$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(document.documentElement.style.colorScheme) + 1) % names.length];
  document.documentElement.style.colorScheme = next;
  try { localStorage.setItem("rangefind:theme", next); } catch { /* private mode */ }
  drawTheme();
  toast(`Colours: ${THEMES[next]}`);
});
drawTheme();

// A file dropped anywhere is indexed.
let dragDepth = 0;
const carriesFile = (event) => event.dataTransfer?.types.includes("Files");
addEventListener("dragenter", (event) => { if (carriesFile(event)) { dragDepth += 1; $("drop").hidden = false; } });
addEventListener("dragleave", (event) => { if (carriesFile(event) && (dragDepth -= 1) <= 0) { dragDepth = 0; $("drop").hidden = true; } });
addEventListener("dragover", (event) => { if (carriesFile(event)) event.preventDefault(); });
addEventListener("drop", (event) => {
  if (!carriesFile(event)) return;
  event.preventDefault();
  dragDepth = 0;
  $("drop").hidden = true;
  if (event.dataTransfer.files[0] && $("building").hidden) handlers.file(event.dataTransfer.files[0]);
});

// Start: an address in the location, else the index that was open last, else the choice.
const params = new URLSearchParams(location.search);
input.value = ask.text = params.get("q") ?? "";
setMode(["text", "vector"].includes(params.get("mode")) ? params.get("mode") : "hybrid");
let last;
try { last = localStorage.getItem(LAST); } catch { /* private mode */ }
if (params.get("index")) run(() => openAt(params.get("index")));
else if (last && localIndexes().some((entry) => entry.name === last)) run(() => openNamed(last));
else welcome();
