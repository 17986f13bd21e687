// The bundled corpus: documents, vectors and queries, fetched with progress. See corpus/README.md.

const at = (name) => new URL(`../corpus/${name}`, import.meta.url);

/** What the start page says before anything is fetched. */
export const CORPUS = { name: "debian", label: "Debian applications", docs: 7376, dims: 384, bytes: 7_180_000, vectorField: "embedding" };

/** Fetches `name` whole; `onBytes(n)` hears of every piece. */
async function fetchBytes(name, { onBytes, signal }) {
  const response = await fetch(at(name), { signal });
  if (!response.ok) throw new Error(`${name}: the server answered ${response.status}`);
  const parts = [];
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    onBytes?.(part.value.length);
  }
  return new Blob(parts);
}

/** Text of a gzip file; a server that has unpacked it on the way is fine too. */
async function gunzip(blob) {
  const magic = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (magic[0] !== 0x1f || magic[1] !== 0x8b) return blob.text();
  return new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** All 65,536 float16 values as float32: decoding a row is a look-up per component. */
function halfTable() {
  const table = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits += 1) {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const size = exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15);
    table[bits] = bits & 0x8000 ? -size : size;
  }
  return table;
}

/** Rows of a float16 `.npy` file of version 1. */
export function readHalfNpy(buffer) {
  const view = new DataView(buffer);
  const headerLen = view.getUint16(8, true);
  const header = new TextDecoder("latin1").decode(new Uint8Array(buffer, 10, headerLen));
  const shape = /'descr': '<f2', 'fortran_order': False, 'shape': \((\d+), (\d+)\)/.exec(header);
  if (!shape) throw new Error("vectors.npy is not a float16 matrix");
  const halves = new Uint16Array(buffer.slice(10 + headerLen));
  const table = halfTable();
  const [rows, dims] = [Number(shape[1]), Number(shape[2])];
  return { rows, dims, slice: (from, to) => Float32Array.from(halves.subarray(from * dims, to * dims), (bits) => table[bits]) };
}

/** Documents, vectors and schema. `onBytes(done)` counts what has arrived. */
export async function loadCorpus({ onBytes, signal }) {
  let done = 0;
  const options = { signal, onBytes: (n) => onBytes?.(done += n) };
  const [docs, vectors, schema] = await Promise.all([
    fetchBytes("docs.jsonl.gz", options).then(gunzip),
    fetchBytes("vectors.npy", options).then((blob) => blob.arrayBuffer()).then(readHalfNpy),
    fetch(at("schema.json"), { signal }).then((response) => response.json()),
  ]);
  return { lines: docs.trimEnd().split("\n"), vectors, schema };
}

let queries;

/** The 100 queries: text → vector. */
export function loadQueries() {
  queries ??= fetch(at("queries.json")).then((response) => response.json())
    .then((list) => new Map(list.map(({ text, vector }) => [text, Float32Array.from(vector)])))
    .catch((error) => { queries = undefined; throw error; });
  return queries;
}
