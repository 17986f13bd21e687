// Builds the bundled corpus into a directory with the package itself, for opening it by URL: used by `npm start` and the tests.
//
//   node scripts/demo-index.mjs [DIR]     (target/demo-index, where scripts/serve.mjs looks for it)
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

import { readHalfNpy } from "../www/lib/corpus.js";

const corpus = (name) => readFileSync(fileURLToPath(new URL(`../www/corpus/${name}`, import.meta.url)));

/** The corpus as one columnar batch and its schema. */
export function readCorpus() {
  const rows = gunzipSync(corpus("docs.jsonl.gz")).toString("utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  const npy = corpus("vectors.npy");
  const vectors = readHalfNpy(npy.buffer.slice(npy.byteOffset, npy.byteOffset + npy.length));
  return {
    schema: JSON.parse(corpus("schema.json")),
    docs: {
      ids: rows.map((row) => row.id),
      docs: rows.map(({ id, ...fields }) => fields),
      vectors: { embedding: { data: vectors.slice(0, vectors.rows), dims: vectors.dims } },
    },
  };
}

/** Replaces what is in `dir` by an index of the corpus; returns the build's report. */
export async function buildDemoIndex(dir) {
  const { build, files } = await import("../dist/node.js");
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const { schema, docs } = readCorpus();
  return build(docs, { storage: files(dir), schema });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const dir = process.argv[2] ?? fileURLToPath(new URL("../target/demo-index", import.meta.url));
  const { numDocs, bytes, took } = await buildDemoIndex(resolve(dir));
  console.log(`${numDocs} documents, ${bytes} bytes, ${Math.round(took)} ms`);
}
