// An open index.
import { Refusals, batchesOf, buffersOf, lengthOf } from "./batches.js";
import { parseBytes } from "./bytes.js";
import { checkVector, classOf, optionsOf, refuseUnspeakable, toJson } from "./checks.js";
import { SearchError, invalid, throwIfAborted, toSearchError } from "./errors.js";
import type { Host, HostCall } from "./host.js";
import { fromWireSchema, type WireField } from "./schema.js";
import type { Answer, Args, Handle, MergeSettings, Op } from "./protocol.js";
import type {
  AddReport, Bytes, CallOptions, CheckReport, CommitInfo, DocId, DocSource, IndexInfo, MergeReport, PostingsCodec, Schema,
  SearchOptions, SearchResponse, WorkOptions,
} from "./types.js";

/** Options of {@link SearchIndex.merge}. */
export interface MergeOptions extends WorkOptions {
  /** Merge until at most this many segments are left. Default 1; null does what the tiered policy would do. */
  maxSegments?: number | null;
  /** Budget of the merge's buffers. Default 64 MiB. */
  memory?: Bytes;
  /** The index's codec of postings from now on; segments of another one are encoded again. */
  codec?: PostingsCodec;
  /**
   * Put the documents of each new segment into an order in which those with the same words are near each other: smaller
   * and faster for text, and takes longer. Among equal scores hits then come in that order. Default false.
   */
  reorder?: boolean;
}

// The compiler keeps these in step with the interfaces.
const CALL_OPTIONS: Record<keyof CallOptions, true> = { signal: true };
const WORK_OPTIONS: Record<keyof WorkOptions, true> = { onProgress: true, signal: true };
const MERGE_OPTIONS: Record<keyof MergeOptions, true> = {
  maxSegments: true, memory: true, codec: true, reorder: true, onProgress: true, signal: true,
};

/** An index opened in an engine. */
interface Seat {
  host: Host;
  handle: Handle;
}

/** What {@link SearchIndex.create} needs. */
interface Opened extends Seat {
  /** Whether the engine is this index's alone and ends with it. */
  owned: boolean;
  /** Opens the index a second time, in an engine for writing; undefined where the first one writes too. */
  startWriter: (() => Promise<Seat>) | undefined;
  /** What it was opened on. */
  storages: readonly unknown[];
}

/**
 * An open index. Holds an engine: use `await using`, or call {@link close}.
 *
 * Reads see the last commit; {@link add} and {@link delete} take effect with {@link commit}. In pages, searches run
 * in one worker, and adds, commits and merges in another, so that a merge does not delay a search.
 */
export class SearchIndex {
  readonly #reader: Seat;
  readonly #owned: boolean;
  readonly #startWriter: Opened["startWriter"];
  /** Kept, because the engine of a memory storage ends when that is forgotten. */
  readonly #storages: readonly unknown[];
  #writer: Promise<Seat> | undefined;
  #schema: Schema | null = null;
  #dead: SearchError | undefined;

  private constructor({ host, handle, owned, startWriter, storages }: Opened) {
    this.#storages = storages;
    this.#reader = { host, handle };
    this.#owned = owned;
    this.#startWriter = startWriter;
  }

  /** @internal */
  static async create(opened: Opened): Promise<SearchIndex> {
    const index = new SearchIndex(opened);
    await index.#learnSchema(index.#reader);
    return index;
  }

  /**
   * Buffers documents for the next commit. One whose id is in the index, or came earlier, replaces that one; one
   * that does not fit is refused and the others are added. The source is read a batch of about 1 MiB at a time,
   * no faster than the engine takes it, and closed whatever happens.
   *
   * Aborted or failed, what came before stays buffered: {@link rollback} forgets it.
   *
   * @throws {SearchError} `locked` if another writer holds the index, `read_only`, `quota`, `aborted`; what the
   * source throws comes as `cause` of `invalid_argument`.
   */
  async add(docs: DocSource, options: WorkOptions = {}): Promise<AddReport> {
    const { onProgress, signal } = optionsOf("add", options, WORK_OPTIONS);
    throwIfAborted(signal);
    const writer = await this.#seatOfWriter();
    const total = lengthOf(docs);
    const refusals = new Refusals();
    let [added, given, done] = [0, 0, 0];
    let running: Promise<void> | undefined;
    const send = async (batch: Awaited<ReturnType<typeof next>>) => {
      const { wire, refused } = batch!;
      refusals.leftOut(refused);
      const rows = wire.rows;
      const report = rows === 0 ? undefined : await this.#ask<AddReport>(writer, "add", [writer.handle, wire], {
        transfer: buffersOf(wire),
      });
      added += report?.added ?? 0;
      refusals.byEngine(report?.refused ?? [], given);
      given += rows;
      done += rows + refused.length;
      onProgress?.({ phase: "add", done, total });
    };
    const batches = batchesOf(docs, () => this.#schema, signal);
    const next = async () => {
      const { value, done } = await batches.next();
      return done ? undefined : value;
    };
    try {
      // The next batch is made while the engine works on this one: two in memory, one in the engine, in order.
      for (let batch = await next(); batch !== undefined; batch = await next()) {
        await running;
        throwIfAborted(signal);
        running = send(batch);
        running.catch(() => {});
      }
      await running;
    } catch (thrown) {
      await batches.return();
      await running?.catch(() => {});
      throw toSearchError(thrown, "invalid_argument");
    }
    if (this.#schema === null) await this.#learnSchema(writer);
    return { added, refused: refusals.sorted() };
  }

  /**
   * Deletes documents at the next commit; returns how many of `ids` were there.
   *
   * @throws {SearchError} `locked`, `read_only`.
   */
  async delete(ids: DocId | Iterable<DocId>, options: CallOptions = {}): Promise<number> {
    const { signal } = optionsOf("delete", options, CALL_OPTIONS);
    const isMany = typeof ids === "object" && ids !== null && Symbol.iterator in ids;
    const list = toJson("delete", isMany ? [...ids] : [ids]);
    const writer = await this.#seatOfWriter();
    return this.#call(writer, "delete", [writer.handle, list], { signal });
  }

  /**
   * Makes everything since the last commit durable and visible, all or nothing, then merges if the policy says so.
   *
   * @throws {SearchError} `quota`, `io`: the index stays at its last commit and the changes stay pending.
   */
  async commit(): Promise<CommitInfo> {
    const writer = await this.#seatOfWriter();
    const info = await this.#ask<CommitInfo>(writer, "commit", [writer.handle]);
    await this.#seeCommit(writer);
    return info;
  }

  /** Forgets everything since the last commit. */
  async rollback(): Promise<void> {
    const writer = await this.#startedWriter();
    if (writer !== undefined) await this.#call(writer, "rollback", [writer.handle]);
  }

  /**
   * Answers a search over the last commit. A text alone is short for `{ query: text }`.
   *
   * @throws {SearchError} `invalid_argument`, `no_gpu`, `aborted`, `index_changed`, `corrupt`, `network`, …
   */
  async search<D extends object = Record<string, unknown>>(request: string | SearchOptions): Promise<SearchResponse<D>> {
    if (typeof request !== "string" && (typeof request !== "object" || request === null || classOf(request) !== "Object")) {
      throw invalid("search: words, or an object such as { query: \"words\" }, are needed");
    }
    // One that knows no types may give more than the one argument.
    if (arguments.length > 1) optionsOf("search", {}, {}, [...arguments].slice(1));
    const { signal, ...rest } = typeof request === "string" ? { query: request } : request;
    const seat = this.#reader;
    let vector: Float32Array | undefined;
    if (rest.vector !== undefined && rest.vector !== null) {
      if (typeof rest.vector !== "object" || Array.isArray(rest.vector) || ArrayBuffer.isView(rest.vector)) {
        throw invalid("vector: an object such as { field: \"embedding\", value: […] } is needed");
      }
      // A copy of its own, which can be transferred; structured text would be slow for numbers.
      const { value, values, ...clause } = rest.vector;
      const all = values ?? (value === undefined ? undefined : [value]);
      if (value !== undefined && values !== undefined) throw invalid("vector: value and values exclude each other");
      if (values !== undefined && !Array.isArray(values)) throw invalid("vector.values: a list of vectors is needed");
      // By position: places that are left empty are no vectors either.
      for (const [ix, one] of (all ?? []).entries()) {
        checkVector(values === undefined ? "vector.value" : `vector.values[${ix}]`, one);
      }
      if (all !== undefined && all.length > 0) {
        const dims = all[0]?.length ?? 0;
        vector = new Float32Array(dims * all.length);
        for (const [ix, one] of all.entries()) {
          if (one.length !== dims) throw invalid(`vector: values of ${dims} and of ${one.length} components`);
          vector.set(one, ix * dims);
        }
      }
      rest.vector = values === undefined ? clause : { ...clause, values: values.map(() => []) };
    }
    const transfer = vector === undefined ? [] : [vector.buffer as ArrayBuffer];
    const args: Args<"search"> = [seat.handle, toJson("search", rest), vector];
    return this.#ask<SearchResponse<D>>(seat, "search", args, { signal, detach: true, transfer });
  }

  /** Stored documents by id, in the order asked; `undefined` for one that is not there. */
  async get<D extends object = Record<string, unknown>>(id: DocId, options?: CallOptions): Promise<D | undefined>;
  async get<D extends object = Record<string, unknown>>(
    ids: readonly DocId[],
    options?: CallOptions,
  ): Promise<(D | undefined)[]>;
  async get(ids: DocId | readonly DocId[], options: CallOptions = {}): Promise<unknown> {
    const { signal } = optionsOf("get", options, CALL_OPTIONS);
    const many = Array.isArray(ids);
    const args: Args<"get"> = [this.#reader.handle, toJson("get", many ? ids : [ids])];
    const found = await this.#ask<(object | null)[]>(this.#reader, "get", args, { signal, detach: true });
    const docs = found.map((doc) => doc ?? undefined);
    return many ? docs : docs[0];
  }

  /**
   * Commits, then merges segments. Searches and adds go on meanwhile; deletions that arrive are carried over.
   * Cancelled or failed, it leaves nothing behind.
   *
   * @throws {SearchError} `aborted`, `over_budget`, `quota`, `corrupt`, `locked`, `read_only`.
   */
  async merge(options: MergeOptions = {}): Promise<MergeReport> {
    const { maxSegments, memory, codec, reorder, onProgress, signal } = optionsOf("merge", options, MERGE_OPTIONS);
    const settings: MergeSettings = {};
    const memoryBytes = parseBytes("memory", memory);
    if (maxSegments !== undefined) settings.maxSegments = maxSegments;
    if (memoryBytes !== undefined) settings.memoryBytes = memoryBytes;
    if (codec !== undefined) settings.codec = codec;
    if (reorder !== undefined) settings.reorder = reorder;
    refuseUnspeakable("merge", settings);
    throwIfAborted(signal);
    const writer = await this.#seatOfWriter();
    try {
      return await this.#ask<MergeReport>(writer, "merge", [writer.handle, settings], { onProgress, signal });
    } finally {
      // Also after a failure: what was pending has been committed before the merge began.
      if (this.#dead === undefined) await this.#seeCommit(writer);
    }
  }

  /** Walks every byte and every structure of the last commit and says what is wrong where. */
  async check(options: WorkOptions = {}): Promise<CheckReport> {
    const { onProgress, signal } = optionsOf("check", options, WORK_OPTIONS);
    throwIfAborted(signal);
    const seat = await this.#seatOfWriter();
    return this.#ask<CheckReport>(seat, "check", [seat.handle], { onProgress, signal, detach: true });
  }

  /** State of the index. */
  async info(): Promise<IndexInfo> {
    const info = await this.#infoOf(this.#reader);
    const writer = await this.#startedWriter();
    if (writer === undefined || writer === this.#reader) return info;
    const { pendingDocs, pendingBytes, schema } = await this.#infoOf(writer);
    return { ...info, pendingDocs, pendingBytes, schema: info.schema ?? schema };
  }

  /** Looks for a newer commit, of another tab say; returns whether there was one. */
  async reopen(): Promise<boolean> {
    const newer = await this.#call(this.#reader, "reopen", [this.#reader.handle]);
    if (newer) await this.#learnSchema(this.#reader);
    return newer;
  }

  /** Gives the writer lock and the engine back and forgets what was not committed. Idempotent. */
  async close(): Promise<void> {
    if (this.#dead !== undefined) return;
    const seats = [await this.#startedWriter().catch(() => undefined), this.#reader];
    this.#dead = new SearchError("closed", "the index was closed");
    for (const seat of new Set(seats)) {
      if (seat === undefined || seat.host.dead !== undefined) continue;
      try {
        await seat.host.call("close", [seat.handle]);
      } finally {
        if (this.#owned) seat.host.end();
      }
    }
  }

  /** {@link close}, for `await using`. */
  declare [Symbol.asyncDispose]: () => Promise<void>;

  /** One call, its answer parsed. */
  async #ask<T>(seat: Seat, op: Op, args: Args<Op>, options?: HostCall): Promise<T> {
    return JSON.parse((await this.#call(seat, op, args, options)) as string) as T;
  }

  /** One call. A crash of either engine ends the index: what was pending is lost, and only opening again is safe. */
  async #call<O extends Op>(seat: Seat, op: O, args: Args<O>, options?: HostCall): Promise<Answer<O>> {
    if (this.#dead !== undefined) throw this.#dead;
    try {
      return await seat.host.call(op, args, options);
    } catch (thrown) {
      const error = toSearchError(thrown);
      if (error.code === "crashed") await this.#die(error);
      throw error;
    }
  }

  async #die(why: SearchError): Promise<void> {
    if (this.#dead !== undefined) return;
    this.#dead = why;
    const writer = await this.#startedWriter().catch(() => undefined);
    for (const seat of [writer, this.#reader]) if (this.#owned) seat?.host.end();
  }

  /** Where writes go. Started by the first one. */
  async #seatOfWriter(): Promise<Seat> {
    if (this.#dead !== undefined) throw this.#dead;
    if (this.#startWriter === undefined) return this.#reader;
    if (this.#writer === undefined) {
      const starting = this.#startWriter();
      this.#writer = starting;
      // A failure is not kept: the next write tries again.
      starting.catch(() => {
        if (this.#writer === starting) this.#writer = undefined;
      });
    }
    return this.#writer;
  }

  /** Where writes went so far, if any. */
  async #startedWriter(): Promise<Seat | undefined> {
    return this.#startWriter === undefined ? this.#reader : this.#writer;
  }

  /** Lets the reading engine see what the writing one has committed. */
  async #seeCommit(writer: Seat): Promise<void> {
    if (writer !== this.#reader) await this.#call(this.#reader, "reopen", [this.#reader.handle]);
    if (this.#schema === null) await this.#learnSchema(this.#reader);
  }

  async #learnSchema(seat: Seat): Promise<void> {
    this.#schema = (await this.#infoOf(seat)).schema;
  }

  async #infoOf({ host, handle }: Seat): Promise<IndexInfo> {
    type WireInfo = Omit<IndexInfo, "schema"> & { schema: WireField[] | null };
    const info = await this.#ask<WireInfo>({ host, handle }, "info", [handle]);
    return { ...info, schema: fromWireSchema(info.schema) };
  }

  static {
    // Not in every browser yet, and a computed member would then be called "undefined".
    if (Symbol.asyncDispose !== undefined) {
      Object.defineProperty(SearchIndex.prototype, Symbol.asyncDispose, {
        value: SearchIndex.prototype.close,
        writable: true,
        configurable: true,
      });
    }
  }
}
