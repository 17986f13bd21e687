// A dropped file as documents: JSON Lines, a JSON array, CSV or TSV, plain or gzip. Read as a stream where the format allows it.

/** Values of one CSV line after another, quotes and line breaks inside quotes respected. Yields arrays of strings. */
export async function* csvRows(chunks, separator = ",") {
  let row = [];
  let value = "";
  let quoted = false;
  let closing = false;
  for await (const chunk of chunks) {
    for (const c of chunk) {
      if (closing) {
        closing = false;
        if (c === '"') { value += c; continue; }
        quoted = false;
      } else if (quoted) {
        if (c === '"') closing = true;
        else value += c;
        continue;
      }
      if (c === '"' && value === "") quoted = true;
      else if (c === separator) { row.push(value); value = ""; }
      else if (c === "\n") { row.push(value); yield row; row = []; value = ""; }
      else if (c !== "\r") value += c;
    }
  }
  if (value !== "" || row.length > 0) { row.push(value); yield row; }
}

async function* lines(chunks) {
  let rest = "";
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop();
    yield* parts;
  }
  if (rest.trim() !== "") yield rest;
}

/** A CSV cell as the JSON value it looks like. Numbers with a leading zero stay text: they are codes. */
export function cell(text) {
  const value = text.trim();
  if (value === "") return undefined;
  if (/^-?(0|[1-9]\d{0,14})(\.\d+)?$/.test(value)) return Number(value);
  if (/^(true|false)$/i.test(value)) return value.toLowerCase() === "true";
  return value;
}

/** Column types of the first rows: a column that ever holds a word is text throughout. */
function cellReaders(header, rows) {
  return header.map((_, ix) => {
    const kinds = new Set(rows.map((row) => typeof cell(row[ix] ?? "")).filter((kind) => kind !== "undefined"));
    if (kinds.size === 1 && !kinds.has("string")) {
      const kind = [...kinds][0];
      return (text) => { const value = cell(text); return typeof value === kind ? value : undefined; };
    }
    return (text) => (text.trim() === "" ? undefined : text.trim());
  });
}

async function* csvDocs(chunks, separator) {
  const rows = csvRows(chunks, separator);
  const header = (await rows.next()).value?.map((name, ix) => name.replace(/^\uFEFF/, "").trim() || `column_${ix + 1}`);
  if (!header) return;
  const sample = [];
  for (let next = await rows.next(); !next.done; next = await rows.next()) {
    sample.push(next.value);
    if (sample.length === 1000) break;
  }
  const read = cellReaders(header, sample);
  const toDoc = (row) => Object.fromEntries(header.map((name, ix) => [name, read[ix](row[ix] ?? "")]).filter(([, value]) => value !== undefined));
  yield* sample.map(toDoc);
  for await (const row of rows) yield toDoc(row);
}

async function* jsonlDocs(chunks) {
  let lineNo = 0;
  for await (const line of lines(chunks)) {
    lineNo += 1;
    const text = line.replace(/^\uFEFF/, "").trim();
    if (text === "") continue;
    try {
      yield JSON.parse(text);
    } catch (error) {
      throw new Error(`line ${lineNo} is not JSON: ${error.message}`);
    }
  }
}

/** A keyword has at most this many characters and words, and few different values among the sampled documents. */
const KEYWORD_CHARS = 60;
const KEYWORD_WORDS = 4;
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;
const TITLES = /^(title|name|headline|label|subject)$/;

/**
 * A schema that suits looking around in unknown documents: as the engine would infer it, except that short strings that
 * repeat become keywords, so that there is something to filter by.
 */
export function schemaFor(docs) {
  const seen = new Map();
  for (const doc of docs) {
    for (const [name, value] of Object.entries(doc)) {
      if (name === "id" || value === null || value === undefined || !/^[\w.-]{1,64}$/.test(name) || name.startsWith("_")) continue;
      if (!seen.has(name)) seen.set(name, []);
      seen.get(name).push(value);
    }
  }
  return Object.fromEntries([...seen].map(([name, values]) => [name, kindOf(name, values)]));
}

function kindOf(name, values) {
  const all = (test) => values.every(test);
  if (all((value) => typeof value === "number")) return "number";
  if (all((value) => typeof value === "boolean")) return "bool";
  if (all((value) => typeof value === "string")) {
    if (all((value) => DATE.test(value))) return "date";
    const different = new Set(values).size;
    const short = all((value) => value.length <= KEYWORD_CHARS && value.split(/\s+/).length <= KEYWORD_WORDS);
    return short && !TITLES.test(name) && values.length > 2 && different <= Math.max(2, Math.min(200, values.length / 3)) ? "keyword" : "text";
  }
  if (all((value) => Array.isArray(value) && value.every((one) => typeof one === "string"))) {
    return all((value) => value.every((one) => one.length <= KEYWORD_CHARS)) ? "keyword" : "text";
  }
  if (all((value) => Array.isArray(value) && value.length >= 8 && value.length === values[0].length && value.every((one) => typeof one === "number"))) {
    return { type: "vector", dims: values[0].length };
  }
  return "json";
}

/** Asynchronous text chunks of a stream; `onBytes` counts what has been read of the file itself. */
async function* textChunks(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Documents of `file`, with its ids left as they are. `onBytes(done)` counts the bytes read of the file. */
export async function* readDocs(file, { onBytes } = {}) {
  let done = 0;
  const counting = new TransformStream({ transform(chunk, out) { onBytes?.(done += chunk.length); out.enqueue(chunk); } });
  let stream = file.stream().pipeThrough(counting);
  let name = file.name.toLowerCase();
  if (name.endsWith(".gz")) {
    stream = stream.pipeThrough(new DecompressionStream("gzip"));
    name = name.slice(0, -3);
  }
  if (/\.(csv|tsv)$/.test(name)) {
    yield* csvDocs(textChunks(stream), name.endsWith(".tsv") ? "\t" : ",");
  } else if (name.endsWith(".json")) {
    const text = await new Response(stream).text();
    const found = text.trimStart().startsWith("[") ? JSON.parse(text) : undefined;
    if (found) yield* found;
    else yield* jsonlDocs([text]);
  } else {
    yield* jsonlDocs(textChunks(stream));
  }
}
