// Numbers and names as people read them.

const whole = new Intl.NumberFormat("en");
const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** `7376` as `7,376`. */
export const count = (value) => whole.format(Math.round(value));

/** `1 document`, `2 documents`. */
export const plural = (value, word, many = `${word}s`) => `${count(value)} ${value === 1 ? word : many}`;

/** Bytes in decimal units: `24.1 MB`. */
export function bytes(value) {
  let unit = 0;
  let amount = value;
  while (amount >= 999.5 && unit < UNITS.length - 1) { amount /= 1000; unit += 1; }
  return `${unit === 0 || amount >= 99.95 ? Math.round(amount) : amount.toFixed(1)} ${UNITS[unit]}`;
}

/** Milliseconds with as many digits as mean something: `0.42 ms`, `18 ms`, `3.1 s`. */
export function millis(value) {
  if (value >= 10000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`;
  return value >= 10 ? `${Math.round(value)} ms` : `${value.toFixed(value < 1 ? 2 : 1)} ms`;
}

const WORDS = { c: "C", "c++": "C++", "c-sharp": "C#", php: "PHP", tcl: "Tcl", x11: "X11", web: "Web", commandline: "command line",
  "text-mode": "text mode", installed_kb: "Installed size, KB", language: "Written in", use: "Used for", works_with: "Works with" };

/** A tag or field name as words: `works_with` → `Works with`, `image:raster` → `raster image`. */
export function words(name, { capital = false } = {}) {
  const text = WORDS[name] ?? String(name).replace(/^([^:]+):([^:]+)$/, "$2 $1").replace(/[_-]+/g, " ");
  return capital ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** The last word of a phase such as `mergeVectors`, for a progress line. */
export function phase(name) {
  const said = { add: "Adding documents", flush: "Writing a segment", reorder: "Finding an order", mergeText: "Merging postings", mergeColumns: "Merging columns",
    mergeDocs: "Merging stored documents", mergeVectors: "Merging vectors", commit: "Committing", check: "Checking" };
  return said[name] ?? words(name, { capital: true });
}
