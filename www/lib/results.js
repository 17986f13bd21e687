// Hits: title, snippet with marks, a line of values, and on demand the whole document with the derivation of its score.
import { $, h, marked } from "./dom.js";
import { bytes, words } from "./format.js";

const SNIPPET_CHARS = 200;

function highlightOf(hit, field, valueIx = 0) {
  return hit.highlights?.find((entry) => entry.field === field && entry.valueIx === valueIx);
}

const firstText = (value) => (Array.isArray(value) ? value.map(String).join(" · ") : value === undefined || value === null ? "" : String(value));

/** Title with marks; `name - description` is set in two tones. */
function title(hit, field) {
  const text = firstText(hit.doc[field]) || String(hit.id);
  const ranges = highlightOf(hit, field)?.ranges;
  const cut = text.indexOf(" - ");
  if (cut < 0) return [h("b", {}, marked(text, ranges))];
  return [h("b", {}, marked(text, ranges, 0, cut)), " ", h("span", {}, marked(text, ranges, cut + 3))];
}

/** The best part of the first body field that matched, or the beginning of the first one there is. */
function snippet(hit, bodies) {
  const best = bodies.map((field) => hit.highlights?.find((entry) => entry.field === field && entry.snippetRanges.length > 0)).find(Boolean);
  if (best) {
    const whole = firstText([hit.doc[best.field]].flat()[best.valueIx]).trim();
    const [cutBefore, cutAfter] = [!whole.startsWith(best.snippet.trim()), !whole.endsWith(best.snippet.trim())];
    return [cutBefore && "… ", marked(best.snippet, best.snippetRanges), cutAfter && "\u00a0…"];
  }
  const text = firstText(bodies.map((field) => hit.doc[field]).find((value) => value !== undefined));
  if (text.length <= SNIPPET_CHARS) return [text];
  const cut = text.lastIndexOf(" ", SNIPPET_CHARS);
  return [`${text.slice(0, cut > 80 ? cut : SNIPPET_CHARS)}\u00a0…`];
}

/** A value as text; sizes in KB as sizes, dates as dates. */
function shown(field, value, fields) {
  if (field.endsWith("_kb") && typeof value === "number") return bytes(value * 1000);
  if (fields.dates.includes(field)) return new Date(value).toISOString().slice(0, 10);
  if (typeof value === "boolean") return value ? words(field) : "";
  if (Array.isArray(value)) return value.map((one) => words(one)).join(", ");
  return fields.keywords.includes(field) ? words(value) : String(value);
}

function score(hit) {
  const parts = [];
  if (hit.textScore !== undefined) parts.push(`text ${hit.textScore.toFixed(2)}`);
  if (hit.vectorScore !== undefined) parts.push(`vector ${hit.vectorScore.toFixed(3)}`);
  return parts.length > 0 ? h("span", { class: "score", title: `Score ${hit.score}` }, parts.join(" · ")) : undefined;
}

function derivation(node, depth = 0) {
  const line = `${"  ".repeat(depth)}${Number(node.value.toPrecision(6))}  ${node.description}`;
  return [line, ...(node.details ?? []).flatMap((child) => derivation(child, depth + 1))];
}

function wholeDocument(hit, fields, { explain }) {
  const box = h("div", { class: "full" });
  for (const field of fields.bodies) {
    const values = hit.doc[field] === undefined ? [] : [hit.doc[field]].flat();
    values.forEach((value, ix) => box.append(h("p", {}, marked(String(value), highlightOf(hit, field, ix)?.ranges))));
  }
  const rest = Object.entries(hit.doc).filter(([field]) => field !== "id" && field !== fields.title && !fields.bodies.includes(field));
  const link = (value) => /^https?:\/\//.test(value) && h("a", { class: "link", href: value, target: "_blank", rel: "noreferrer" }, value);
  box.append(h("dl", { class: "table" }, h("dt", {}, "Id"), h("dd", {}, String(hit.id)),
    score(hit) && [h("dt", {}, "Score"), h("dd", {}, score(hit).textContent)],
    rest.map(([field, value]) => [h("dt", {}, words(field, { capital: true }).replace(/, KB$/, "")),
      h("dd", {}, (typeof value === "string" && link(value)) || (typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : typeof value === "boolean" ? (value ? "yes" : "no") : shown(field, value, fields)))])));
  if (hit.textScore !== undefined || hit.vectorScore !== undefined) {
    const derive = h("button", { class: "link", type: "button", async onclick() {
      const node = await explain(hit.id);
      derive.replaceWith(h("pre", { class: "derive", tabIndex: 0 }, node ? derivation(node).join("\n") : "not among the hits any more"));
    } }, "Where does the score come from?");
    box.append(h("div", { class: "acts" }, derive));
  }
  return box;
}

/** One hit as a list item. `actions`: `{ like, remove, explain }`, each absent where it cannot be done. */
export function hitView(hit, fields, actions) {
  const short = h("p", { class: "snippet" }, snippet(hit, fields.bodies));
  const values = [...fields.keywords, ...fields.numbers, ...fields.dates].filter((field) => hit.doc[field] !== undefined && field !== fields.title)
    .slice(0, 5).filter((field) => hit.doc[field] !== false).map((field) => h("span", { title: words(field, { capital: true }) }, shown(field, hit.doc[field], fields)));
  const name = firstText(hit.doc[fields.title]) || String(hit.id);
  const item = h("li", { class: "hit", "data-id": String(hit.id) });
  let full;
  const toggle = h("button", { type: "button", "aria-expanded": "false", onclick() {
    const open = toggle.getAttribute("aria-expanded") === "false";
    toggle.setAttribute("aria-expanded", String(open));
    item.classList.toggle("open", open);
    if (open && !full) short.after(full = wholeDocument(hit, fields, actions));
    short.hidden = open;
    full.hidden = !open;
  } }, title(hit, fields.title));
  item.append(h("div", { class: "head" }, h("h3", {}, toggle), score(hit)), short, h("div", { class: "meta" }, h("div", {}, values),
    h("div", { class: "acts" },
      actions.like && h("button", { class: "link", type: "button", "data-act": "like", "aria-label": `More like ${name}`, onclick: () => actions.like(hit, name) }, "More like this"),
      actions.remove && h("button", { class: "link", type: "button", "data-act": "delete", "aria-label": `Delete ${name}`, onclick: () => actions.remove(hit, name) }, "Delete"))));
  return item;
}

/** Replaces the list of hits. */
export function drawHits(hits, fields, actions, { fresh, empty }) {
  const list = $("hits");
  list.classList.toggle("fresh", fresh);
  list.replaceChildren(...hits.map((hit) => hitView(hit, fields, actions)));
  if (hits.length === 0) list.append(h("li", { class: "empty" }, empty));
}

/** Arrow keys between the search box and the hits. */
export function bindArrows(input) {
  const titles = () => [...$("hits").querySelectorAll("h3 button")];
  const to = (element) => { element.focus(); element.scrollIntoView({ block: "nearest" }); };
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && titles().length > 0) { event.preventDefault(); to(titles()[0]); }
  });
  $("hits").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = titles();
    const ix = all.findIndex((button) => button.closest("li").contains(event.target));
    if (ix < 0) return;
    event.preventDefault();
    const next = ix + (event.key === "ArrowDown" ? 1 : -1);
    if (next < 0) to(input);
    else if (next < all.length) to(all[next]);
  });
}
