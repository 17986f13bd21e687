// A program against the package's types. Compiled strictly, never run.
import module from "rangefind/rangefind.wasm";
import {
  build, custom, files, http, init, memory, merge, open, opfs, r2, s3, SearchError,
  type AddReport, type Analyzers, type Doc, type Filter, type Hit, type IndexInfo, type ModuleSource, type Progress, type R2Bucket, type Schema, type SearchErrorCode,
  type SearchIndex, type SearchOptions, type StorageObject,
} from "rangefind";
import * as inline from "rangefind/inline";
import * as slim from "rangefind/slim";
import "rangefind/worker";

const schema = {
  title: { type: "text", boost: 2 },
  body: "text",
  tag: "keyword",
  year: "integer",
  embedding: { type: "vector", dims: 384, metric: "cosine" },
} as const satisfies Schema;

/** Interfaces have no index signature; they are documents all the same. */
interface Numbered {
  id: number;
  title: string;
}

interface Note {
  title: string;
  tag?: string[];
}

async function* source(): AsyncGenerator<Doc> {
  yield { id: 1, title: "one", embedding: new Float32Array(384) };
}

export async function use(signal: AbortSignal, bucket: R2Bucket, object: StorageObject): Promise<void> {
  await init({ url: new URL("https://example.org/rangefind.wasm") });
  const compiled: ModuleSource = { module };
  await slim.init(compiled);
  await init({ worker: () => new Worker("worker.js", { type: "module" }) });
  await using index = await open({ storage: opfs("notes"), base: http("https://example.org/index/"), schema, memory: "64MiB", signal });
  const report: AddReport = await index.add(source(), { signal, onProgress: ({ phase, done, total }: Progress) => void [phase, done, total] });
  for (const { row, id, field, reason, code } of report.refused) console.log(row, id, field, reason, code satisfies string);
  await index.add({ ids: ["a"], vectors: { embedding: { data: new Float32Array(384), dims: 384 } }, docs: [{ title: "x" }] });
  await index.add([{ id: "b", title: "y", anything: new Date() }]);
  const [numbered, notes]: [Numbered[], Note[]] = [[{ id: 1, title: "z" }], [{ title: "without id" }]];
  await index.add(numbered);
  await index.add(new Set(notes));
  await index.commit();
  const filter: Filter = { year: { gte: 2020 }, tag: ["a", "b"], not: { tag: "c" }, or: [{ year: 1 }, { year: { lt: 3 } }] };
  const options: SearchOptions = {
    query: 'title:"range request" +wasm -java', syntax: "lucene", fields: ["title"], match: "all", prefix: true,
    vector: { field: "embedding", value: new Float32Array(384), k: 100 }, fuse: { weights: { text: 1, vector: 0.5 } }, filter,
    sort: [{ field: "year", order: "desc" }], facets: ["tag", { field: "year", limit: 3 }], highlight: ["body"],
    select: ["title"], limit: 10, offset: 5, gpu: "auto", explain: true, signal,
  };
  const { hits, total, facets, took, stats, ignored } = await index.search<Note>(options);
  const first: Hit<Note> | undefined = hits[0];
  const title: string | undefined = first?.doc.title;
  const marks: [number, number][] | undefined = first?.highlights?.[0]?.ranges;
  console.log(title, marks, total, facets, took, stats.waves, ignored, (await index.search("zen")).total);
  const one: Note | undefined = await index.get<Note>("a");
  const many: (Note | undefined)[] = await index.get<Note>(["a", 1]);
  const info: IndexInfo = await index.info();
  await index.merge({ maxSegments: 1, memory: 1 << 20, signal });
  console.log(one, many, info.segments, (await index.check()).ok, await index.reopen(), await index.delete([1, "a"]));
  await index.rollback();
  await build(source(), { storage: memory(), schema });
  await merge([r2(bucket, "a/"), s3({ bucket: "https://b.example" }), custom(object), files("/tmp/x")], { into: memory(), signal });
  const other: SearchIndex = await inline.open({ storage: inline.memory() });
  await other.close();
  try {
    await index.search("x");
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    const code: SearchErrorCode = error.code;
    if (code === "index_changed") await index.reopen();
  }
  const analyzers: Analyzers = { mine: (text) => text.split(" "), placed: (text) => [{ term: text, start: 0, end: text.length }] };
  const synonyms = { tokenizer: { type: "standard" }, filters: ["fold", { stem: "de" }, { synonyms: ["a, b"] }] } as const;
  const texts: Schema = { a: { type: "text", analyzer: "mine" }, b: { type: "text", analyzer: synonyms } };
  await inline.open({ storage: memory(), schema: texts, analyzers });
  await open({ storage: opfs("notes"), schema: texts, analyzers: new URL("./analyzers.js", import.meta.url) });
  // @ts-expect-error no filter of that name
  await open({ storage: memory(), schema: { a: { type: "text", analyzer: { filters: ["folded"] } } } });
  // @ts-expect-error a promise is no list of tokens
  await inline.open({ storage: memory(), analyzers: { slow: async (text: string) => [text] } });
  // @ts-expect-error a misspelt option
  await index.search({ qery: "x" });
  // @ts-expect-error a vector field needs its dims
  await open({ storage: memory(), schema: { v: { type: "vector" } } });
  // @ts-expect-error an id is text or a number
  await index.add([{ id: {}, title: "x" }]);
  // @ts-expect-error one document is no source of documents
  await index.add({ title: "x" });
  // @ts-expect-error text is no document
  await index.add(["x"]);
  // @ts-expect-error no storage
  await open({});
}
