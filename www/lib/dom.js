// Making and replacing elements. Text is always text: nothing here parses HTML.

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/**
 * A new element: `h("a", { href, class: "x", onclick() {} }, "text", child)`. Properties go in as properties where the
 * element has them and as attributes else; `null`, `undefined` and `false` are left out.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") element.className = value;
    else if (key === "style") for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
    else if (key in element && !key.startsWith("aria")) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  return fill(element, children);
}

/** Replaces what is in `element`; `undefined`, `null` and `false` are left out. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** A line drawing on a 16 × 16 grid. */
export function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(svg.namespaceURI, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** `text` as nodes, with the UTF-16 ranges in `<mark>`; `from` and `to` cut a part out of it. */
export function marked(text, ranges = [], from = 0, to = text.length) {
  const nodes = [];
  let at = from;
  for (const [start, end] of ranges) {
    const [first, last] = [Math.max(start, at), Math.min(end, to)];
    if (first >= last) continue;
    if (first > at) nodes.push(text.slice(at, first));
    nodes.push(h("mark", {}, text.slice(first, last)));
    at = last;
  }
  if (at < to) nodes.push(text.slice(at, to));
  return nodes;
}

let toastTimer;

/** Says something for a few seconds at the bottom of the page. */
export function toast(text) {
  const box = $("toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { box.hidden = true; }, 5000);
}
