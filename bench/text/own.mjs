// The package, in processes of their own: `node --expose-gc own.mjs build FOLDER JOB.json OUT.json` makes the index in
// files; `own.mjs search …` opens it, asks every query, and compares the number of documents found with the native engine's.
import { readFileSync, writeFileSync } from "node:fs";
import { summary, texts } from "./corpus.mjs";
import { build, files, open } from "../../dist/node.js";

const [step, folder, job, out] = process.argv.slice(2);
const { collections, classes, rounds } = JSON.parse(readFileSync(job, "utf8"));

async function make() {
  const docs = texts(collections).map((body, id) => ({ id, body }));
  const started = performance.now();
  const schema = { body: { type: "text", analyzer: "standard" } };
  const { bytes } = await build(docs, { storage: files(folder), schema });
  return { indexSeconds: (performance.now() - started) / 1000, bytes };
}

async function search() {
  globalThis.gc();
  const before = process.memoryUsage().rss;
  const index = await open({ storage: files(folder), mode: "readOnly", cache: "256 MiB" });
  const [measured, wrong] = [[], []];
  for (const { name, queries, counts } of classes) {
    const [wall, inside] = [[], []];
    for (const [ix, query] of queries.entries()) {
      const [own, took] = [[], []];
      for (let round = 0; round < rounds; round++) {
        const at = performance.now();
        const found = await index.search({ query, syntax: "lucene", select: [], limit: 10 });
        own.push((performance.now() - at) * 1000);
        took.push(found.took * 1000);
        const expected = counts[ix];
        if (round === 0 && expected !== null && found.total !== expected) wrong.push({ query, found: found.total, expected });
      }
      wall.push(summary(own).median);
      inside.push(summary(took).median);
    }
    measured.push({ name, wall: summary(wall), inside: summary(inside) });
  }
  globalThis.gc();
  const memoryBytes = process.memoryUsage().rss - before;
  await index.close();
  return { memoryBytes, measured, wrong };
}

writeFileSync(out, JSON.stringify(await (step === "build" ? make() : search())));
