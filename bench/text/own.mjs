// The package in a process of its own: `node --expose-gc own.mjs JOB.json OUT.json`. Builds the index in files, opens it,
// asks every query, and checks the number of documents found against the native engine's.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { summary, texts } from "./corpus.mjs";
import { build, files, open } from "../../dist/node.js";

const [job, out] = process.argv.slice(2);
const { collections, classes, rounds } = JSON.parse(readFileSync(job, "utf8"));
const schema = { body: { type: "text", analyzer: "standard" } };
const docs = texts(collections).map((body, id) => ({ id, body }));

const folder = mkdtempSync(join(tmpdir(), "rangefind-text-"));
const started = performance.now();
const report = await build(docs, { storage: files(folder), schema });
const indexSeconds = (performance.now() - started) / 1000;
globalThis.gc();
const before = process.memoryUsage().rss;
const index = await open({ storage: files(folder), mode: "readOnly", cache: "256 MiB" });
const measured = [];
const wrong = [];
for (const { name, queries, counts } of classes) {
  const [wall, inside] = [[], []];
  for (const [ix, query] of queries.entries()) {
    const [own, took] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const at = performance.now();
      const found = await index.search({ query, syntax: "lucene", select: [], limit: 10 });
      own.push((performance.now() - at) * 1000);
      took.push(found.took * 1000);
      if (round === 0 && counts[ix] !== null && found.total !== counts[ix]) wrong.push({ query, found: found.total, counts: counts[ix] });
    }
    wall.push(summary(own).median);
    inside.push(summary(took).median);
  }
  measured.push({ name, wall: summary(wall), inside: summary(inside) });
}
globalThis.gc();
const memoryBytes = process.memoryUsage().rss - before;
await index.close();
rmSync(folder, { recursive: true });
writeFileSync(out, JSON.stringify({ indexSeconds, memoryBytes, bytes: report.bytes, measured, wrong }));
