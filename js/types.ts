/// <reference lib="esnext.disposable" preserve="true" />
// Shapes that callers write and read: schema, documents, search request and response, reports.
// Rust's side of the same shapes: src/schema/fields.rs, src/query/request.rs, src/engine.

import type { Clause } from "./clauses.js";

export type * from "./clauses.js";

/** A number of bytes, or text such as `"64MiB"`, `"512 KiB"`, `"1GiB"`. */
export type Bytes = number | string;

// ---------------------------------------------------------------------------------------------- schema

/** Field name to kind. The field `id` is reserved and need not be named. */
export type Schema = Record<string, FieldType | FieldOptions>;

/** Short form of a field without options. Vectors need {@link VectorFieldOptions}. */
export type FieldType = "text" | "keyword" | "number" | "integer" | "bool" | "date" | "json";

/** Long form of a field. */
export type FieldOptions = TextFieldOptions | VectorFieldOptions | { type: Exclude<FieldType, "text"> };

/** Analysed text, searchable by words and phrases. */
export interface TextFieldOptions {
  type: "text";
  /**
   * How the text becomes terms, recorded in the index: a built-in analyzer or language, the name of one of your own
   * (see `analyzers` of `open`), or a whole pipeline. Default `"english"`.
   */
  analyzer?: AnalyzerName | AnalyzerPipeline | (string & {});
  /** Factor on the field's score. Default 1. */
  boost?: number;
  /** Keep positions, which phrases need. Default true. */
  positions?: boolean;
}

/**
 * The built-in analyzers. All that cut text into words make bigrams in Chinese, Japanese, Korean, Thai, Lao, Khmer and
 * Burmese. Languages stem, leave stop words out of queries and forget case and diacritics; they go by their tag too:
 * `"de"`, `"pt-BR"`; `"zh"`, `"ja"`, `"ko"`, `"th"` mean `"standard"`.
 */
export type AnalyzerName =
  /** Words, without case and diacritics. */
  | "standard"
  /** Identifiers (`getUserName`, `http_server`, `src/index/mod.rs`): their parts, and themselves. */
  | "code"
  /** Beginnings of words, 1 to 12 characters: search as you type. */
  | "edgeNgram"
  /** Parts of words, 2 and 3 characters: search inside words. */
  | "ngram"
  /** What is between white space, as it is. */
  | "whitespace"
  /** The whole text as one term, as it is. */
  | "keyword"
  /** The whole text as one term, without case and diacritics. */
  | "lowercase"
  /** Words in lower case, with their diacritics. */
  | "vietnamese"
  | Language;

/** Languages with a stemmer. */
export type Language =
  | "arabic" | "armenian" | "basque" | "catalan" | "czech" | "danish" | "dutch" | "english" | "estonian" | "finnish"
  | "french" | "german" | "greek" | "hindi" | "hungarian" | "indonesian" | "irish" | "italian" | "lithuanian"
  | "nepali" | "norwegian" | "persian" | "polish" | "portuguese" | "romanian" | "russian" | "spanish" | "swedish"
  | "tamil" | "turkish";

/** An analyzer made of a tokenizer and filters, in their order. The index records it whole. */
export interface AnalyzerPipeline {
  /** How text is cut into words. Default `"standard"`. */
  tokenizer?:
    | "standard" | "whitespace" | "keyword" | "code" | "edgeNgram" | "ngram"
    | { type: "standard" | "whitespace" | "keyword" | "code" }
    /**
     * Beginnings (`edgeNgram`) or all parts (`ngram`) of what the filters make of a word, in characters: at most 32, and
     * for `ngram` at most 8 different lengths. Defaults 1 and 12, 2 and 3. Only the index holds parts: queries are
     * plain words.
     */
    | { type: "edgeNgram" | "ngram"; min?: number; max?: number };
  /** What is done to each word, at most 32. Default none. */
  filters?: readonly AnalyzerFilter[];
}

/** One step of a pipeline. Languages go by name or tag. */
export type AnalyzerFilter =
  /** Unicode normalization form KC. */
  | "nfkc"
  | "lowercase"
  /** Lower case, compatibility forms as plain ones, no diacritics: `Crème` is `creme`. */
  | "fold"
  /** Drops what stands behind an apostrophe. */
  | "apostrophe"
  /** Lower case by the rules of a language: Turkish has two letters i. */
  | { lowercase: Language | (string & {}) }
  /** Leaves words out of queries that have others: the list of a language, or your own, spelled as at this step. */
  | { stop: Language | (string & {}) | readonly string[] }
  | { stem: Language | (string & {}) }
  /** Drops articles in front of an apostrophe: French, Italian, Catalan, Irish. */
  | { elision: "french" | "italian" | "catalan" | "irish" | (string & {}) }
  /** One spelling for letters and digits of Arabic, Persian, Hindi or Nepali. */
  | { spelling: "arabic" | "persian" | "hindi" | "nepali" | (string & {}) }
  /** Drops words with fewer or more characters. */
  | { length: { min?: number; max?: number } }
  /**
   * `"car, automobile"` stand for each other, `"colour => color"` for the one on the right; up to 8 words each, 10,000
   * rules. Applied to queries by default, or to documents `at: "index"`.
   */
  | { synonyms: readonly string[] | { rules: readonly string[]; at?: "query" | "index" } };

/** An analyzer of your own: the terms of a text, word after word, or tokens with their places. Synchronous. */
export type AnalyzerFunction = (text: string) => readonly string[] | readonly AnalyzerToken[];

/** One token of an {@link AnalyzerFunction}. */
export interface AnalyzerToken {
  /** The term, as it is indexed and looked for. */
  term: string;
  /** Where it starts in the text, in UTF-16 code units. */
  start: number;
  /** Behind its end; equal to `start` if no part of the text shows it. */
  end: number;
  /** Number of the word, for phrases. Default one more than the last; tokens with one position stand for each other. */
  position?: number;
}

/** Analyzers of your own: functions by name, or the URL of a module that exports them. */
export type Analyzers = Readonly<Record<string, AnalyzerFunction>> | URL;

/** One or several vectors per document; the best one counts. */
export interface VectorFieldOptions {
  type: "vector";
  /** Number of components, 1–4096. */
  dims: number;
  /** How vectors are compared. Default `"cosine"`. */
  metric?: Metric;
  /** How the vectors near a query are estimated where there are thousands. Acts on what is written from then on. */
  codes?: VectorCodes;
  /**
   * How components are stored: `"f32"` (default), or `"f16"`, half the bytes, rounded to 11 significant bits; components must be
   * below 65,520 then. A field keeps the form it was made with.
   */
  storage?: "f32" | "f16";
  /**
   * What exact scores are made of: `"full"` (default), the vectors as they are stored; `"nvq"` or `"nvq4"`: full precision is
   * dropped, vectors are kept on 256 or 16 levels that fit each of them, in about a quarter or an eighth of the bytes.
   */
  rescore?: "full" | "nvq" | "nvq4";
  /** Whether equal vectors are stored once in segments with thousands of vectors. Acts on what is written from then on. Default false. */
  dedup?: boolean;
  /**
   * A graph of near vectors over each segment with cells, which `mode: "walk"` goes over: `true`, or the number of
   * neighbours of a vector, 1–256 (default 32). Default `false`, since probing cells was as quick or quicker at every size measured.
   * Acts on what is written from then on, which takes about three times as long then.
   */
  graph?: boolean | { degree: number };
}

/**
 * `"osq"` (default): a few bits of each component. `"pq"`: product quantization, a byte for 8 components; or a code of `pq`
 * bytes, 1 up to the dimensions. `anisotropic`, 0–0.99 (default 0: off), is the cosine from which on a query counts as near: codes
 * then keep the products with near queries best, at the cost of slower writing.
 */
export type VectorCodes = "osq" | "pq" | { pq: number; anisotropic?: number };

/** How vectors are compared: larger scores are nearer with each of them. */
export type Metric = "cosine" | "dot" | "l2";

// ------------------------------------------------------------------------------------------- documents

/** The caller's name of a document: text or an integer. They never equal each other. */
export type DocId = string | number;

/** A vector as callers give it. */
export type Vector = Float32Array | readonly number[];

/** A document: JSON values, with vectors as `Float32Array` or `number[]`. Without `id` one is made up. */
export type Doc = { id?: DocId | undefined } & (Record<string, unknown> | object);

/** Documents by column: cheapest for bulk vectors, which cross to the engine as they are. */
export interface ColumnarDocs {
  /** One id per document. */
  ids: readonly DocId[];
  /** The other fields of each document, same length as `ids`. Default: none. */
  docs?: readonly Record<string, unknown>[];
  /** Vectors per field, row after row: `data.length === ids.length * dims`. */
  vectors?: Record<string, { data: Float32Array; dims: number }>;
}

/** Everything that can be added. */
export type DocSource = Iterable<Doc> | AsyncIterable<Doc> | ReadableStream<Doc> | ColumnarDocs;

// ---------------------------------------------------------------------------------------------- search

/** One search. Without `query` and `vector` every document matches (filters, sort and facets still apply). */
export interface SearchRequest {
  /** Words to look for, never a syntax error: see `syntax`. Or a tree of clauses: see {@link Clause}. */
  query?: string | Clause;
  /**
   * How `query` is read. `"plain"` (default): every character is text, except that `"double quotes"` make a phrase and `-word`
   * leaves documents out. `"lucene"`: `+must -not "a phrase"~2 "a phrase beg*" field:term wo?d* fuzz~1 /reg(ex)?/
   * year:[2019 TO 2021] size:>=10 _exists_:tag (group)^2`; what is ignored is reported.
   */
  syntax?: "plain" | "lucene";
  /**
   * Text fields to search. Default: all; keyword fields too where they are named, of which the whole query is one value.
   * At most 1024 names, as in the other lists of fields.
   */
  fields?: readonly string[];
  /** Whether one word is enough or all must match, in plain mode. Default `"any"`. */
  match?: "any" | "all";
  /**
   * Treat the last word as a prefix, for search as you type; so is that of a phrase without its second quote yet
   * (`"range re`). In plain mode. Default false.
   */
  prefix?: boolean;
  /**
   * Typing errors that a word may have, in plain mode: characters inserted, left out, replaced, or swapped with their
   * neighbours. `"auto"` goes by the length of the word: none below 3 characters, one up to 5, two above; none in words with
   * digits. What is written as asked scores higher. Default 0.
   */
  fuzzy?: 0 | 1 | 2 | "auto";
  /**
   * Characters at the beginning of a word that are always as asked, with `fuzzy`: far less of the index is looked at, and few
   * people mistype the first letter. Default 1.
   */
  fuzzyPrefixLength?: number;
  /** Look for the nearest vectors too, or alone. */
  vector?: VectorClause;
  /** How the text and the vector ranking become one, where both are asked. Default `"rrf"` with k 60. */
  fuse?: "rrf" | { rrfK: number } | { weights: { text: number; vector: number } };
  /** Conditions on columns: `{ year: { gte: 2020 }, tag: ["a", "b"], not: { draft: true } }`. */
  filter?: Filter;
  /** Order by columns instead of by score. */
  sort?: readonly SortKey[];
  /** Count documents per value, range or interval. At most 256, with 4096 ranges in all. */
  facets?: readonly (string | FacetOptions)[];
  /** Text fields whose matches are marked in the hits. */
  highlight?: readonly string[];
  /** Stored fields to return; all by default, none with an empty list. What no hit and no schema knows is in `ignored`. */
  select?: readonly string[];
  /** Hits to return. Default 10. */
  limit?: number;
  /** Hits to skip. Default 0. */
  offset?: number;
  /**
   * Continue behind the last hit of an earlier answer to the same search: its `cursor`. Not with `offset`. Order by
   * score continues in the same commit only; order by columns and index order also in later ones, as long as the
   * segment of that hit was not merged. Code `index_changed` says to start again.
   */
  after?: string | undefined;
  /** Only the best hit per value of a column. `total` and facets count all documents. */
  collapse?: CollapseClause;
  /**
   * How exactly the matches of a text query are counted. `"auto"` (default): exactly where the index is near or that takes
   * no further reads; else, over the network, at least (see `totalRelation`). `"exact"`: over the network, whole lists
   * are read. `"atLeast"`: nothing is read or computed for it. Searches with facets, `sort` or `collapse`, and fused ones
   * count exactly in any case.
   */
  total?: "auto" | "exact" | "atLeast";
  /** Where vectors are scored. Default `"auto"`: on a hardware GPU where that pays, else on the CPU. */
  gpu?: GpuMode;
  /** Say how each score came about. Default false. */
  explain?: boolean;
}

/** What {@link SearchRequest} takes, and how to stop it. */
export interface SearchOptions extends SearchRequest {
  /** Cancels reads in flight and rejects with code `aborted`. */
  signal?: AbortSignal | undefined;
}

/** Where vectors are scored. `"required"` takes software adapters too and fails with `no_gpu` without any. */
export type GpuMode = "auto" | "off" | "required";

/** The vector leg: exactly one of `value`, `values` and `like`. */
export interface VectorClause {
  /** The vector field. */
  field: string;
  /** The query vector. */
  value?: Vector;
  /**
   * Several query vectors, at most 1,000, each with a ranking of its own in `answers`. What they read is read in common
   * waves. Only for a vector search alone: `query`, `sort`, `facets`, `collapse` and `after` are refused, filters apply
   * to all.
   */
  values?: readonly Vector[];
  /** Use the vector of this document ("more like this"); the document itself is left out. */
  like?: DocId;
  /** Neighbours to consider for fusion. Default max(100, offset + limit). Without `minScore` no score cut-off is applied. */
  k?: number;
  /**
   * Neighbours with a lower score are left out. Scores are those of hits, computed from full vectors: (1 + s) / 2 for
   * cosine and dot, 1 / (1 + d²) for L2. Then `total` counts those that were found, `k` at most.
   */
  minScore?: number;
  /**
   * Score every vector that passes the filter: the answer is exact. Default false. Segments of less than 4,096 vectors are
   * always searched so.
   */
  exact?: boolean;
  /**
   * Share of the true ten nearest that a search should find, by what was measured when each segment was built. Default
   * 0.95, and over a network what one wave of about 272 KiB of codes finds; named, as many codes are read there in one wave
   * as it took to find that share. The best that was measured where that is less.
   */
  recall?: number;
  /**
   * Cells of near vectors to look into per segment, instead of what `recall` asks for. A cell has about 32 vectors; in
   * segments of some 100,000 or more up to 96, so that less is read when a far index is opened.
   */
  probes?: number;
  /**
   * Vectors to score exactly, as a multiple of the number of hits, instead of what `recall` asks for. At least 1.
   */
  oversample?: number;
  /**
   * How segments with cells are searched. Default: `"probe"`, the best cells, or `"scan"`, every vector that passes the
   * filter, where there are so few that this is cheaper. `"walk"` goes over the graph of segments that have one; the
   * vector field needs the option `graph`. It estimates fewer vectors for the same recall, each at a higher price: on
   * 99,000 sentence vectors in memory it takes twice as long as a probe for a recall of 0.95, and six times for 0.98.
   */
  mode?: "walk" | "probe" | "scan";
  /** Vectors kept while walking, 1 to 65,536, instead of what `recall` asks for. Only with `mode: "walk"`. */
  efSearch?: number;
}

/** A value of a column. Dates may be `Date`, ISO 8601 text or milliseconds. */
export type Scalar = string | number | boolean | Date;

/** Conditions that must all hold, by field name; `and`, `or` and `not` combine. */
export interface Filter {
  [field: string]: Scalar | readonly Scalar[] | Condition | Filter | readonly Filter[] | undefined;
}

/** Conditions on one column; all given ones must hold. */
export interface Condition {
  eq?: Scalar;
  in?: readonly Scalar[];
  gt?: Scalar;
  gte?: Scalar;
  lt?: Scalar;
  lte?: Scalar;
  exists?: boolean;
}

/** One sort key. Ties are broken by later keys, then by index order. */
export interface SortKey {
  /** A column, or `_score`. */
  field: string;
  /** Default ascending (descending for `_score`). */
  order?: "asc" | "desc";
  /** Where documents without a value go, in either direction. Default `"last"`. */
  missing?: "first" | "last";
}

/** One hit per value of a column. */
export interface CollapseClause {
  /**
   * A keyword, number, integer, bool or date field. Of several values of a document the least counts; documents without
   * a value stand for themselves.
   */
  field: string;
  /** Further hits to return of each group, best first, at most 100. Default 0. */
  innerHits?: number;
}

/** What a facet counts. `ranges`, `interval` and `prefix` exclude each other. */
export interface FacetOptions {
  /** A keyword, bool, number, integer or date field. */
  field: string;
  /** Values to return. Default 10; of a histogram 1000, of ranges all. */
  limit?: number;
  /** Count documents per range, of a number, integer or date field. */
  ranges?: readonly FacetRange[];
  /**
   * Count documents per interval of this width, or per calendar unit (UTC) of a date field, in ascending order. The
   * width is in units of the field, milliseconds of a date.
   */
  interval?: number | "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year";
  /** Only keywords that begin like this. */
  prefix?: string;
  /**
   * Count as if the filter had no condition on this field: how many documents there would be of each value were it
   * chosen instead. Left out is what, at the top of the filter or in its `and`, is about this field alone. Where text
   * and vector are both asked, the neighbours of the vector pass the whole filter all the same. Default false.
   */
  excludeOwn?: boolean;
}

/** Values from `from` on and below `to`; either may be left out. */
export interface FacetRange {
  /** Least value. */
  from?: Scalar;
  /** First value that is too large. */
  to?: Scalar;
  /** Name in the answer. Default `from..to`. */
  key?: string;
}

/** The answer. Plain objects; nothing in it points into the engine's memory. */
export interface SearchResponse<D extends object = Record<string, unknown>> {
  /** Best first. */
  hits: Hit<D>[];
  /**
   * Documents that match: exactly, or at least, as `totalRelation` says. For a vector search alone: documents that pass
   * the filter and have a vector; with `minScore` the neighbours that were found.
   */
  total: number;
  /** Whether `total` is exact. */
  totalRelation: "exact" | "atLeast";
  /** One entry per requested facet, in order. */
  facets: FacetResult[];
  /** Per query vector of `vector.values`, in order, its answer; `hits` are empty then. */
  answers?: VectorAnswer<D>[];
  /** Where the last hit is, for `after`; none without hits. */
  cursor?: string;
  /** Milliseconds inside the engine. */
  took: number;
  /** What of the query was ignored, in words: of a plain one, what lies behind 1024 words or 32 KiB. */
  ignored: string[];
  /** What the search cost. */
  stats: SearchStats;
}

/** The answer to one of several query vectors. */
export interface VectorAnswer<D extends object = Record<string, unknown>> {
  /** Best first. */
  hits: Hit<D>[];
  /** With `minScore`, the neighbours that were found; else documents that pass the filter and have a vector. */
  total: number;
}

/** One document of the answer. */
export interface Hit<D extends object = Record<string, unknown>> {
  /** The caller's id. */
  id: DocId;
  /** Score the hits are ordered by; larger is better. */
  score: number;
  /** BM25 score, where the text leg found it. */
  textScore?: number;
  /** Vector score, where the vector leg found it. */
  vectorScore?: number;
  /** The stored document, or the selected part of it; vectors are not stored in it. */
  doc: D;
  /** Per highlighted field: the parts of each of its texts that match. */
  highlights?: FieldHighlight[];
  /** How the score came about. */
  explain?: Explanation;
  /** Of a collapsed search, the value it stands for; none where it stands for itself. */
  group?: string | number | boolean;
  /** Of a collapsed search with inner hits, the next best of its group. */
  inner?: Hit<D>[];
}

/** Marks in one field of one hit. */
export interface FieldHighlight {
  /** The field. */
  field: string;
  /** Which of the field's texts, 0 for a single one. */
  valueIx: number;
  /** Matches in the whole text: pairs of start and end in UTF-16 code units, ascending, not overlapping. */
  ranges: [start: number, end: number][];
  /** A part of the text around the best matches, at most about 200 characters. */
  snippet: string;
  /** Matches inside `snippet`, as `ranges`. */
  snippetRanges: [start: number, end: number][];
}

/** A node of a score's derivation; `value` is the sum (or stated function) of `details`. */
export interface Explanation {
  value: number;
  description: string;
  details?: Explanation[];
}

/** Counts of one facet: most frequent first, ties by value; of ranges in the order asked for, of a histogram ascending. */
export interface FacetResult {
  field: string;
  values: FacetCount[];
}

/** One value of a facet. */
export interface FacetCount {
  /** The value, dates as ISO 8601 text; the start of an interval; the name of a range. */
  value: string | number | boolean;
  /** Matching documents that have it. */
  count: number;
  /** Of a range, its least value as it was given. */
  from?: string | number;
  /** Of a range, the first value that is too large, as it was given. */
  to?: string | number;
}

/** What one search cost. */
export interface SearchStats {
  /** Requests to storage. */
  requests: number;
  /** Bytes they brought. */
  bytes: number;
  /** Rounds of requests that had to be waited for, one after another. */
  waves: number;
  /** Cache blocks that were resident. */
  cacheHits: number;
  /** Cache blocks that were not. */
  cacheMisses: number;
  /** Segments searched. */
  segments: number;
  /** Vectors scored exactly. */
  vectorsScored: number;
  /** Cells of near vectors that were looked into. */
  cellsProbed: number;
  /** Codes in them that were scored: of most vectors one, of those that two cells list both. */
  codesScored: number;
  /** Vectors whose neighbours were looked at in a walk over a graph; 0 where nothing was walked. */
  vectorsExpanded: number;
  /** Where vectors were scored and why: `cpu`, `cpu: software adapter declined`, `gpu: NVIDIA …`. */
  compute: string;
}

// ------------------------------------------------------------------------------------ reports, progress

/** How far long work has come. */
export interface Progress {
  /** What is going on. */
  phase: "add" | "flush" | "reorder" | "mergeText" | "mergeColumns" | "mergeDocs" | "mergeVectors" | "commit" | "check";
  /** Units done, of `total`. The unit is documents for adding, bytes for everything else. */
  done: number;
  /** Units in all; 0 while unknown. */
  total: number;
}

/** Hears of progress. Called often; keep it cheap. What it throws is ignored. */
export type OnProgress = (progress: Progress) => void;

/** Options of everything long. */
export interface WorkOptions {
  /** Hears of progress. */
  onProgress?: OnProgress | undefined;
  /** Stops the work; the call rejects with code `aborted` and leaves no partial state. */
  signal?: AbortSignal | undefined;
}

/** Options of everything short. */
export interface CallOptions {
  /** Stops the call, which rejects with code `aborted`. */
  signal?: AbortSignal | undefined;
}

/** A document that did not fit; the rest of its batch is untouched. */
export interface Refusal {
  /** Position in what was given to the call, from 0. */
  row: number;
  /** Its id, where it had a usable one. */
  id?: DocId;
  /** The field that did not fit, where one is to blame. */
  field?: string;
  /** Why, in words. */
  reason: string;
  /** Why, to branch on. */
  code: RefusalCode;
}

/** Why a document was refused. */
export type RefusalCode =
  /** It is no JSON. */
  | "bad_json"
  /** It is JSON and no object. */
  | "not_an_object"
  /** It is nested too deep. */
  | "too_deep"
  /** Its id is neither text nor an integer, or empty or too long. */
  | "bad_id"
  /** A value of another type than the field's. */
  | "wrong_type"
  /** It, or a keyword in it, is above the limit. */
  | "too_long"
  /** A vector of another dimension than the field's. */
  | "wrong_dims"
  /** A vector with NaN, infinity or something else than numbers. */
  | "not_finite"
  /** An analyzer of your own threw on it, or gave what are no tokens. */
  | "analyzer_failed";

/** What an add did. */
export interface AddReport {
  /** Documents that will be visible after the next commit. */
  added: number;
  /** Documents that were refused, in order. */
  refused: Refusal[];
}

/** What a commit made durable. */
export interface CommitInfo {
  /** Number of the commit, ascending. */
  generation: number;
  /** Live documents of the whole index. */
  numDocs: number;
  /** Segments of the whole index. */
  numSegments: number;
  /** Whether anything had changed; without changes no commit is written. */
  changed: boolean;
  /** Why the merge that was due after it failed. The commit stands, and the merge is tried again after the next. */
  mergeError?: string;
}

/** What {@link build} did. */
export interface BuildReport {
  /** Documents in the index. */
  numDocs: number;
  /** Documents that did not fit. */
  refused: Refusal[];
  /** Segments. */
  numSegments: number;
  /** Bytes of the index. */
  bytes: number;
  /** Milliseconds. */
  took: number;
}

/** What a merge did. */
export interface MergeReport {
  /** Segments that went into new ones. */
  mergedSegments: number;
  /** Segments that came out. */
  newSegments: number;
  /** Segments of the index afterwards. */
  numSegments: number;
  /** Live documents that were rewritten. */
  docs: number;
  /** Deleted documents that are gone. */
  droppedDocs: number;
  /** Bytes read from the sources. */
  bytesRead: number;
  /** Bytes written. */
  bytesWritten: number;
  /** Most bytes of buffers held at a time. */
  peakMemoryBytes: number;
  /** Milliseconds. */
  took: number;
}

/** Verdict on a whole index. */
export interface CheckReport {
  /** Whether nothing is wrong. */
  ok: boolean;
  /** Commit that was checked. */
  generation: number;
  /** Segments walked. */
  segments: number;
  /** Live documents found. */
  docs: number;
  /** Bytes read and verified. */
  bytes: number;
  /** Everything that is wrong, in file order, at most 100. */
  problems: { file: string; section?: string; offset?: number; code: string; message: string }[];
  /** Files that no commit references: leftovers the next writer collects. Not an error. */
  leftovers: string[];
}

/** How postings are encoded: `"fast"` is quicker to search, `"compact"` a few percent smaller. */
export type PostingsCodec = "fast" | "compact";

/** State of an index. */
export interface IndexInfo {
  /** Where it is. */
  storage: string;
  /** Where its base is, if it overlays one. */
  base?: string;
  /** Commit that reads see; 0 before the first one. */
  generation: number;
  /** Live documents that reads see. */
  numDocs: number;
  /** Documents deleted and not yet merged away. */
  numDeleted: number;
  /** Documents added since the last commit. */
  pendingDocs: number;
  /** Bytes of the documents buffered in memory. */
  pendingBytes: number;
  /** Bytes of all segment files. */
  bytes: number;
  /** Bytes of metadata held in memory while the index is open. */
  pinnedBytes: number;
  /** Whether writes are refused. */
  readOnly: boolean;
  /** How new segments encode postings. */
  codec: PostingsCodec;
  /** The schema in its long form; null while unknown. */
  schema: Schema | null;
  /** The fields, the id field first. */
  fields: { name: string; kind: string; bytes: number }[];
  /** The segments, oldest first. */
  segments: SegmentInfo[];
  /** The block cache. */
  cache: { bytes: number; budgetBytes: number; hits: number; misses: number; requests: number; requestBytes: number };
}

/** One segment. */
export interface SegmentInfo {
  /** 32 hexadecimal digits. */
  id: string;
  /** Whether its file is the index's own or its base's. */
  home: "own" | "base";
  /** Live documents. */
  numDocs: number;
  /** Deleted documents. */
  numDeleted: number;
  /** Length of the segment file. */
  bytes: number;
  /** How its postings are encoded. */
  codec: PostingsCodec;
}
