// Rows of a benchmark, for suites written in JavaScript: the same fields and table as bench/src/report.rs.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * A row. `better` says whether smaller or larger values are; `ratio` is how many times better we are.
 * `peerValue` and `goal` may be missing.
 */
export function row({ key, ours, unit, peer = "", peerValue = null, goal = null, better = "smaller", note = "" }) {
  const raw = peerValue === null ? null : better === "smaller" ? peerValue / ours : ours / peerValue;
  const ratio = Number.isFinite(raw) ? raw : null;
  const met = goal === null ? null : ratio !== null && ratio >= goal;
  return { key, ours, unit, peer, peer_value: peerValue, ratio, goal, met, note };
}

const short = (value) =>
  value === null ? "-" : Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 1 ? value.toFixed(2) : value.toFixed(4);

/** Prints the table and writes the rows to `out`. */
export function report(rows, out) {
  const head = ["key", "ours", "peer", "its value", "ratio", "goal", "met"];
  const lines = rows.map((r) => [
    r.key, `${short(r.ours)} ${r.unit}`, r.peer, `${short(r.peer_value)} ${r.unit}`, short(r.ratio), short(r.goal),
    r.met === null ? "" : r.met ? "yes" : "NO",
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column].length)));
  for (const line of [head, ...lines]) console.log(line.map((cell, column) => cell.padEnd(widths[column])).join("  ").trimEnd());
  for (const r of rows) if (r.note) console.log(`  ${r.key}: ${r.note}`);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, `${JSON.stringify(rows, null, 2)}\n`);
}
