// Documents to batches: bounded in bytes, JSON apart from vectors, vectors flat.
//
// A source of any length passes through here a batch at a time; the next batch is asked for only when the
// engine has room. Vectors that fit their field go as one Float32Array per field; whatever else a vector field
// holds stays in the JSON, so that the engine is the one to say what is wrong with it.
import { toJson } from "./checks.js";
import { abortError, invalid, throwIfAborted } from "./errors.js";
import type { ColumnarDocs, Doc, DocId, DocSource, Refusal, Schema } from "./types.js";

/** Bytes of JSON and vectors after which a batch is sent: tens of milliseconds of indexing. */
const BATCH_BYTES = 1 << 20;
/** Documents after which a batch is sent, however small they are. */
const BATCH_DOCS = 4096;

/** Vectors of one field in one batch. */
export interface WireVectors {
  field: string;
  dims: number;
  /** Vectors per document of the batch. */
  counts: Uint32Array;
  /** All vectors, one after another. */
  data: Float32Array;
}

/** What crosses to the engine: everything in it can be transferred. */
export interface WireBatch {
  /** UTF-8 of a JSON array of documents. */
  json: Uint8Array;
  /** Documents in it. */
  rows: number;
  vectors: WireVectors[];
}

/** A batch, and the documents left out of it. */
export interface SourceBatch {
  wire: WireBatch;
  /** Documents that are no documents at all, found while making the batch; rows count from the source's start. */
  refused: Refusal[];
}

/** Collects refusals of both sides, with rows as the caller counts them. */
export class Refusals {
  private readonly own: Refusal[] = [];
  private readonly all: Refusal[] = [];

  /** Takes what was left out while making batches. */
  leftOut(refused: readonly Refusal[]): void {
    this.own.push(...refused);
    this.all.push(...refused);
  }

  /** Takes what the engine refused of the documents it was given, which it counted from `firstRow` on. */
  byEngine(refused: readonly Refusal[], firstRow: number): void {
    for (const refusal of refused) {
      let row = firstRow + refusal.row;
      for (const { row: before } of this.own) if (before <= row) row += 1;
      this.all.push({ ...refusal, row });
    }
  }

  /** All of them, by row. */
  sorted(): Refusal[] {
    return this.all.sort((a, b) => a.row - b.row);
  }
}

/** The buffers of `wire`, to be transferred. */
export function buffersOf(wire: WireBatch): ArrayBuffer[] {
  const views = [wire.json, ...wire.vectors.flatMap(({ counts, data }) => [counts, data])];
  return views.map((view) => view.buffer as ArrayBuffer);
}

/** Number of documents where the source can tell, else 0. */
export function lengthOf(source: DocSource): number {
  if (Array.isArray(source)) return source.length;
  if (isColumnar(source)) return source.ids.length;
  return 0;
}

/**
 * Cuts `source` into batches. Leaving the loop early closes the source.
 *
 * @param schema Says which fields are vectors; null while unknown: then `Float32Array` values are.
 */
export async function* batchesOf(
  source: DocSource,
  schema: () => Schema | null,
  signal?: AbortSignal,
): AsyncGenerator<SourceBatch, void, undefined> {
  let position = 0;
  let batch = new BatchBuilder(schema());
  const documents = documentsOf(source);
  throwIfAborted(signal);
  if (Symbol.iterator in documents) {
    // The same loop without a promise per document.
    for (const doc of documents) {
      batch.push(doc, position++);
      if (!batch.isFull()) continue;
      yield batch.finish();
      throwIfAborted(signal);
      batch = new BatchBuilder(schema());
    }
  } else {
    for await (const doc of abortable(documents, signal)) {
      batch.push(doc, position++);
      if (!batch.isFull()) continue;
      yield batch.finish();
      batch = new BatchBuilder(schema());
    }
  }
  if (!batch.isEmpty()) yield batch.finish();
}

/** Collects one batch. */
class BatchBuilder {
  private readonly texts: string[] = [];
  private readonly refused: Refusal[] = [];
  private readonly fields = new Map<string, FieldVectors>();
  private readonly known: boolean;
  private bytes = 0;

  constructor(schema: Schema | null) {
    this.known = schema !== null;
    for (const [name, field] of Object.entries(schema ?? {})) {
      if (typeof field === "object" && field.type === "vector") this.fields.set(name, new FieldVectors(field.dims));
    }
  }

  isFull(): boolean {
    return this.bytes >= BATCH_BYTES || this.texts.length >= BATCH_DOCS;
  }

  isEmpty(): boolean {
    return this.texts.length === 0 && this.refused.length === 0;
  }

  push(doc: unknown, position: number): void {
    const row = this.texts.length;
    let text: string;
    let taken: [FieldVectors, Float32Array[]][] = [];
    if (typeof doc !== "object" || doc === null || Array.isArray(doc)) {
      this.refused.push({ row: position, reason: "not an object", code: "not_an_object" });
      return;
    }
    try {
      const rest: Record<string, unknown> = { ...doc };
      taken = this.takeVectors(rest);
      text = toJson("document", rest);
    } catch (error) {
      const { id } = doc as Doc;
      const reason = error instanceof Error ? error.message : String(error);
      const refusal = { row: position, reason, code: "bad_json" as const };
      this.refused.push(typeof id === "string" || typeof id === "number" ? { ...refusal, id } : refusal);
      return;
    }
    for (const [field, vectors] of taken) this.bytes += field.push(row, vectors);
    this.texts.push(text);
    this.bytes += text.length;
  }

  finish(): SourceBatch {
    const rows = this.texts.length;
    const vectors: WireVectors[] = [];
    for (const [name, field] of this.fields) if (!field.isEmpty()) vectors.push(field.finish(name, rows));
    const json = new TextEncoder().encode(`[${this.texts.join(",")}]`);
    return { wire: { json, rows, vectors }, refused: this.refused };
  }

  /** Moves what goes flat out of `rest`; turns other typed arrays into plain ones, which JSON can carry. */
  private takeVectors(rest: Record<string, unknown>): [FieldVectors, Float32Array[]][] {
    const taken: [FieldVectors, Float32Array[]][] = [];
    for (const [name, value] of Object.entries(rest)) {
      let field = this.fields.get(name);
      const first = Array.isArray(value) ? value[0] : value;
      if (field === undefined && !this.known && first instanceof Float32Array) {
        field = new FieldVectors(first.length);
        this.fields.set(name, field);
      }
      const vectors = field === undefined ? undefined : asVectors(value, field.dims);
      if (field !== undefined && vectors !== undefined) {
        taken.push([field, vectors]);
        delete rest[name];
      } else {
        rest[name] = plain(value);
      }
    }
    return taken;
  }
}

/** Vectors of one field, row by row. */
class FieldVectors {
  private readonly rows: [row: number, vectors: Float32Array[]][] = [];
  private count = 0;

  constructor(readonly dims: number) {}

  isEmpty(): boolean {
    return this.count === 0;
  }

  /** Takes the vectors of one document; returns their bytes. */
  push(row: number, vectors: Float32Array[]): number {
    this.rows.push([row, vectors]);
    this.count += vectors.length;
    return vectors.length * this.dims * 4;
  }

  finish(field: string, rows: number): WireVectors {
    const counts = new Uint32Array(rows);
    const data = new Float32Array(this.count * this.dims);
    let at = 0;
    for (const [row, vectors] of this.rows) {
      counts[row] = vectors.length;
      for (const vector of vectors) {
        data.set(vector, at);
        at += this.dims;
      }
    }
    return { field, dims: this.dims, counts, data };
  }
}

/** The vectors in `value`, if each has `dims` components; else undefined. */
function asVectors(value: unknown, dims: number): Float32Array[] | undefined {
  const one = asVector(value, dims);
  if (one !== undefined) return [one];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const many: Float32Array[] = [];
  for (const element of value) {
    const vector = asVector(element, dims);
    if (vector === undefined) return undefined;
    many.push(vector);
  }
  return many;
}

function asVector(value: unknown, dims: number): Float32Array | undefined {
  if (value instanceof Float32Array) return value.length === dims ? value : undefined;
  if (!isNumbers(value) || value.length !== dims) return undefined;
  return Float32Array.from(value);
}

function isNumbers(value: unknown): value is ArrayLike<number> {
  if (ArrayBuffer.isView(value)) return !(value instanceof DataView);
  return Array.isArray(value) && value.every((element) => typeof element === "number");
}

/** `value` with typed arrays as plain arrays. */
function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as unknown as Iterable<unknown>);
  if (Array.isArray(value) && value.some(ArrayBuffer.isView)) return value.map(plain);
  return value;
}

/** Whether `source` is documents by column. */
function isColumnar(source: DocSource): source is ColumnarDocs {
  if (typeof source !== "object" || source === null) throw invalid("documents: an iterable or columns are needed");
  return !(Symbol.iterator in source) && !(Symbol.asyncIterator in source) && "ids" in source;
}

/** The documents of any source. */
function documentsOf(source: DocSource): Iterable<unknown> | AsyncIterator<unknown> {
  if (isColumnar(source)) return columns(source);
  if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
  if (Symbol.iterator in source) return source;
  if (typeof (source as ReadableStream).getReader === "function") return streamed(source as ReadableStream<unknown>);
  throw invalid("documents: neither iterable nor a stream nor columns");
}

/** Safari's streams are not async iterable. */
async function* streamed(source: ReadableStream<unknown>): AsyncGenerator<unknown, void, undefined> {
  const reader = source.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Rows of columns; vectors are views of the caller's array, copied once, into the batch. */
function* columns({ ids, docs, vectors = {} }: ColumnarDocs): Generator<Record<string, unknown>, void, undefined> {
  if (docs !== undefined && docs.length !== ids.length) {
    throw invalid(`columns: ${ids.length} ids and ${docs.length} docs`);
  }
  const fields = Object.entries(vectors);
  for (const [name, { data, dims }] of fields) {
    if (!(data instanceof Float32Array) || !Number.isInteger(dims) || dims < 1 || data.length !== ids.length * dims) {
      throw invalid(`columns: ${name} must be a Float32Array of ${ids.length} rows of \`dims\` numbers`);
    }
  }
  for (const [row, id] of (ids as readonly DocId[]).entries()) {
    const doc: Record<string, unknown> = { ...docs?.[row], id };
    for (const [name, { data, dims }] of fields) doc[name] = data.subarray(row * dims, (row + 1) * dims);
    yield doc;
  }
}

/** `source`, but a wait for its next element ends when `signal` fires, and the source is closed at any end. */
async function* abortable<T>(source: AsyncIterator<T>, signal?: AbortSignal): AsyncGenerator<T, void, undefined> {
  throwIfAborted(signal);
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(abortError(signal!));
    signal?.addEventListener("abort", abort, { once: true });
  });
  aborted.catch(() => {});
  let exhausted = false;
  try {
    for (;;) {
      const next = signal === undefined ? await source.next() : await Promise.race([source.next(), aborted]);
      if (next.done) {
        exhausted = true;
        return;
      }
      yield next.value;
      throwIfAborted(signal);
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    // A source that still waits for its own next element is closed when that comes: not waited for here.
    if (!exhausted) void Promise.resolve(source.return?.()).catch(() => {});
  }
}
