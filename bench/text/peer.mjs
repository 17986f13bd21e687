// One engine in a process of its own: `node --expose-gc peer.mjs ENGINE JOB.json OUT.json`.
import { readFileSync, writeFileSync } from "node:fs";
import { summary, texts } from "./corpus.mjs";
import { engines } from "./engines.mjs";

const [name, job, out] = process.argv.slice(2);
const { collections, queries, rounds } = JSON.parse(readFileSync(job, "utf8"));
const docs = texts(collections);
globalThis.gc();
const before = process.memoryUsage().rss;
const engine = await engines[name]();
const started = performance.now();
await engine.index(docs);
const indexSeconds = (performance.now() - started) / 1000;
globalThis.gc();
const memoryBytes = process.memoryUsage().rss - before;
const times = [];
for (const { words, all } of queries) {
  const own = [];
  for (let round = 0; round < rounds; round++) {
    const at = performance.now();
    await engine.search(words, all);
    own.push((performance.now() - at) * 1000);
  }
  times.push(summary(own).median);
}
writeFileSync(out, JSON.stringify({ indexSeconds, memoryBytes, micros: summary(times) }));
