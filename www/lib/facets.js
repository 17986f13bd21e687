// The left-hand panel: one group of check boxes per keyword or yes/no field, a range per number.
import { $, h } from "./dom.js";
import { count, words } from "./format.js";

export const FACET_VALUES = 8;

/** `filters` (field → Set, or field → { gte, lte }) as the engine's filter, leaving `without` out. */
export function toFilter(filters, without) {
  const filter = {};
  for (const [field, wanted] of filters) {
    if (field === without) continue;
    if (wanted instanceof Set) { if (wanted.size > 0) filter[field] = [...wanted]; } else if (wanted.gte !== undefined || wanted.lte !== undefined) {
      filter[field] = Object.fromEntries(Object.entries(wanted).filter(([, bound]) => bound !== undefined));
    }
  }
  return Object.keys(filter).length > 0 ? filter : undefined;
}

/** Number of values and ranges in force. */
export function countFilters(filters) {
  let sum = 0;
  for (const wanted of filters.values()) sum += wanted instanceof Set ? wanted.size : Number(wanted.gte !== undefined || wanted.lte !== undefined);
  return sum;
}

/** Draws the facets; keeps the focus where it was. `facets` is field → list of `{ value, count }`. */
export function drawFacets({ fields, facets, filters, onChange }) {
  const focused = document.activeElement?.dataset?.facet;
  const groups = [];
  for (const [field, values] of facets) {
    const chosen = filters.get(field) ?? new Set();
    const missing = [...chosen].filter((value) => !values.some((entry) => entry.value === value)).map((value) => ({ value, count: 0 }));
    const shown = [...values, ...missing];
    if (shown.length === 0 || (shown.length === 1 && chosen.size === 0 && !filters.has(field) && values[0].count < 2)) continue;
    groups.push(h("fieldset", { class: "facet", "data-field": field }, h("legend", {}, words(field, { capital: true })),
      h("ul", {}, shown.map(({ value, count: docs }) => h("li", {}, h("label", { class: "value", title: String(value) },
        h("input", {
          type: "checkbox", checked: chosen.has(value), "data-facet": `${field}=${value}`,
          onchange(event) {
            const next = new Set(filters.get(field));
            if (event.target.checked) next.add(value); else next.delete(value);
            filters.set(field, next);
            onChange();
          },
        }),
        h("span", {}, typeof value === "boolean" ? (value ? "yes" : "no") : words(value)), h("i", {}, count(docs))))))));
  }
  for (const field of fields.numbers.slice(0, 4)) groups.push(range(field, filters, onChange));
  $("facets").replaceChildren(...groups);
  if (focused !== undefined) [...$("facets").querySelectorAll("[data-facet]")].find((input) => input.dataset.facet === focused)?.focus({ preventScroll: true });
  const active = countFilters(filters);
  $("clear-filters").hidden = active === 0;
  $("filter-count").textContent = active > 0 ? ` ${active}` : "";
}

function range(field, filters, onChange) {
  const wanted = filters.get(field) ?? {};
  const bound = (key, label) => h("input", {
    class: "field", type: "number", step: "any", inputMode: "decimal", placeholder: key === "gte" ? "from" : "to", "aria-label": `${words(field, { capital: true })} ${label}`,
    value: wanted[key] ?? "", "data-facet": `${field}.${key}`,
    onchange(event) {
      const value = event.target.value === "" ? undefined : Number(event.target.value);
      filters.set(field, { ...filters.get(field), [key]: value });
      onChange();
    },
  });
  return h("fieldset", { class: "facet", "data-field": field }, h("legend", {}, words(field, { capital: true })),
    h("div", { class: "range" }, bound("gte", "at least"), "–", bound("lte", "at most")));
}
