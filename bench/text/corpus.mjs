// The documents of the text suite: the same as bench/src/text/corpus.rs reads.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const data = process.env.RANGEFIND_DATA ?? fileURLToPath(new URL("../../../shared/data", import.meta.url));

/** Title, line break, text of each document. */
export function texts(collections) {
  return collections.flatMap((name) => {
    const lines = gunzipSync(readFileSync(`${data}/${name}/docs.jsonl.gz`)).toString("utf8").split("\n");
    return lines.filter(Boolean).map((line) => {
      const { title = "", text = "" } = JSON.parse(line);
      return `${title}\n${text}`;
    });
  });
}

/** Mean, median and 99th percentile, by nearest rank. */
export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (percent) => sorted[Math.min(sorted.length, Math.max(1, Math.ceil((percent / 100) * sorted.length))) - 1];
  return { mean: values.reduce((sum, value) => sum + value, 0) / values.length, median: at(50), p99: at(99) };
}
