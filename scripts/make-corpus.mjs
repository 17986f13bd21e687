// Makes www/corpus/ from the `debian_minilm` data set: RANGEFIND_DATA=/path/to/data node scripts/make-corpus.mjs
//
// Takes the applications that carry debtags (7,376 of 12,565), turns the tags into facets, keeps the vectors as
// they are (float16), and writes the 100 queries with their vectors. Deterministic; not needed at run time.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const out = fileURLToPath(new URL("../www/corpus/", import.meta.url));
const data = process.env.RANGEFIND_DATA;
if (!data) throw new Error("set RANGEFIND_DATA to the folder that holds debian_minilm/");
const from = (name) => readFileSync(join(data, "debian_minilm", name));

/** Facets made of debtags: the tag family and the field it becomes. */
const FACETS = { interface: "interface", "implemented-in": "language", use: "use", "works-with": "works_with", game: "game" };

/** Splits an .npy file of version 1 into its shape and its data bytes. */
function readNpy(bytes) {
  const headerLen = bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", 10, 10 + headerLen);
  const [, descr] = /'descr': '([^']+)'/.exec(header);
  const [, rows, dims] = /'shape': \((\d+), (\d+)\)/.exec(header);
  if (descr !== "<f2") throw new Error(`expected float16, found ${descr}`);
  return { rows: Number(rows), dims: Number(dims), body: bytes.subarray(10 + headerLen) };
}

/** An .npy file of version 1 with float16 rows. */
function writeNpy(rows, dims, body) {
  const text = `{'descr': '<f2', 'fortran_order': False, 'shape': (${rows}, ${dims}), }`;
  const padded = text.padEnd(Math.ceil((10 + text.length + 1) / 64) * 64 - 11) + "\n";
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", "latin1");
  head.writeUInt16LE(padded.length, 8);
  return Buffer.concat([head, Buffer.from(padded, "latin1"), body]);
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

const base = readNpy(from("base.npy"));
const lines = gunzipSync(from("docs.jsonl.gz")).toString("utf8").trimEnd().split("\n");
if (lines.length !== base.rows) throw new Error(`${lines.length} documents, ${base.rows} vectors`);

const docs = [];
const rows = [];
for (const [ix, line] of lines.entries()) {
  const source = JSON.parse(line);
  if (source.tags.length === 0) continue;
  const doc = { id: source.id, title: source.title, text: source.text, section: source.section };
  for (const [family, field] of Object.entries(FACETS)) {
    const values = source.tags.filter((tag) => tag.startsWith(`${family}::`) && !tag.endsWith("::TODO")).map((tag) => tag.slice(family.length + 2));
    if (values.length > 0) doc[field] = values;
  }
  doc.installed_kb = source.installed_kb;
  if (source.homepage) doc.homepage = source.homepage;
  docs.push(JSON.stringify(doc));
  rows.push(base.body.subarray(ix * base.dims * 2, (ix + 1) * base.dims * 2));
}

const queryVectors = readNpy(from("queries.npy"));
const queries = from("queries.jsonl").toString("utf8").trimEnd().split("\n").map((line, ix) => ({
  text: JSON.parse(line).text,
  vector: Array.from({ length: queryVectors.dims }, (_, d) =>
    Number(half(queryVectors.body.readUInt16LE((ix * queryVectors.dims + d) * 2)).toPrecision(5))),
}));

mkdirSync(out, { recursive: true });
const write = (name, bytes) => {
  writeFileSync(join(out, name), bytes);
  console.log(`${name.padEnd(16)} ${bytes.length.toLocaleString("en")} bytes`);
};
write("docs.jsonl.gz", gzipSync(docs.join("\n") + "\n", { level: 9 }));
write("vectors.npy", writeNpy(docs.length, base.dims, Buffer.concat(rows)));
write("queries.json", Buffer.from(`[\n${queries.map((query) => JSON.stringify(query)).join(",\n")}\n]\n`));
console.log(`${docs.length} documents`);
