// `open`, `build`, `merge`, `init`: the functions of the package, made once per entry file for its runtime.
import { Refusals, batchesOf, buffersOf } from "./batches.js";
import { analyzerSource } from "./analyzers.js";
import { parseBytes } from "./bytes.js";
import { optionsOf, refuseUnspeakable } from "./checks.js";
import { invalid, throwIfAborted, toSearchError } from "./errors.js";
import type { Host } from "./host.js";
import { SearchIndex } from "./index-handle.js";
import { loadModule, type ModuleSource } from "./module.js";
import type { MergeSettings, OpenSettings } from "./protocol.js";
import { toWireSchema } from "./schema.js";
import type { IndexStorage } from "./storage.js";
import type {
  Analyzers, BuildReport, Bytes, CallOptions, DocSource, MergeReport, PostingsCodec, Schema, WorkOptions,
} from "./types.js";

/** What a runtime offers. */
export interface Runtime {
  /** Where the package keeps its wasm module; undefined where it cannot know. */
  load: (() => Promise<WebAssembly.Module>) | undefined;
  /** A new engine. `worker` is the caller's way of starting the worker's script, if there is one. */
  start(module: WebAssembly.Module, worker: (() => Worker) | undefined): Host;
  /** Whether engines run beside the calling thread. */
  inWorkers: boolean;
  /** Budgets where the defaults are too large. */
  memoryBytes?: number;
  cacheBytes?: number;
}

/** Options of `init`. */
export interface InitOptions extends ModuleSource {
  /** Starts a module worker whose script is, or imports, `rangefind/worker`. For bundlers that need help. */
  worker?: () => Worker;
}

/** Options of `open`. */
export interface OpenOptions extends CallOptions {
  /** Where the index lives. */
  storage: IndexStorage;
  /** A read-only index underneath: its documents are found too; changes are recorded in `storage` alone. */
  base?: IndexStorage;
  /** Fields of a new index. Without it they are inferred from the first batch. For an existing index it must be equal. */
  schema?: Schema;
  /** How new segments encode postings, merged ones too. Default: as the index has it; `"fast"` for a new one. */
  codec?: PostingsCodec;
  /**
   * Analyzers of your own, which the schema names. Functions by name; where the engine runs in a worker, as in pages,
   * the URL of a module that exports them by name, or as an object by default:
   * `new URL("./analyzers.js", import.meta.url)`. They must always give the same for the same text. Without one that
   * the schema names, `open` fails with `invalid_argument`.
   */
  analyzers?: Analyzers;
  /** Default `"readOnly"` over HTTP, else `"openOrCreate"`. */
  mode?: "create" | "openOrCreate" | "open" | "readOnly";
  /** Documents are buffered up to this, then written as a segment. Default 64 MiB; 16 MiB in Cloudflare Workers. */
  memory?: Bytes;
  /** Budget of the block cache. Default 64 MiB; 32 MiB in Cloudflare Workers. */
  cache?: Bytes;
  /** Budget of buffers on the GPU. Default 256 MiB. */
  gpuMemory?: Bytes;
  /** How long the first write waits for another writer to end. Default 1000. */
  writerWaitMillis?: number;
  /** Give the writer lock back after every commit, so that another tab can write in between. Default false. */
  releaseAfterCommit?: boolean;
  /** Merge after commits as the tiered policy says. Default true. */
  autoMerge?: boolean;
  /** Files that a commit drops stay this long for readers of older snapshots. Default 60,000. */
  graceMillis?: number;
}

/** Options of `build`. */
export interface BuildOptions extends WorkOptions {
  /** Where the new index goes; there must be none yet. */
  storage: IndexStorage;
  /** Fields; inferred from the first batch without it. */
  schema?: Schema;
  /** How postings are encoded. Default `"fast"`. */
  codec?: PostingsCodec;
  /** Analyzers of your own, which the schema names: see {@link OpenOptions.analyzers}. */
  analyzers?: Analyzers;
  /** Budget of the document buffer and of the final merge. Default 64 MiB. */
  memory?: Bytes;
  /** Merge to at most this many segments at the end. Default 1. */
  maxSegments?: number;
}

/** Options of `merge`. */
export interface MergeStoragesOptions extends WorkOptions {
  /** Where the new index goes; there must be none yet. */
  into: IndexStorage;
  /** Merge to at most this many segments. Default 1. */
  maxSegments?: number;
  /** Budget of the merge's buffers. Default 64 MiB. */
  memory?: Bytes;
  /** How postings are encoded. Default: as the first source has it. */
  codec?: PostingsCodec;
  /** Put documents with the same words near each other: a smaller and faster index of text. Default false. */
  reorder?: boolean;
}

/** The functions of the package: index.d.ts says what they do. */
export type Face = Pick<typeof import("./index.js"), "init" | "open" | "build" | "merge">;

/** Makes the functions for one runtime. Touches nothing before one of them is called. */
export function createFace(runtime: Runtime): Face {
  const pool = new HostPool(runtime);
  return {
    init: async (options, ...more: unknown[]) => pool.init(optionsOf("init", options, INIT_OPTIONS, more)),
    open: async (options, ...more: unknown[]) => open(pool, optionsOf("open", options, OPEN_OPTIONS, more)),
    build: async (docs, options, ...more: unknown[]) =>
      build(pool, docs, optionsOf("build", options, BUILD_OPTIONS, more)),
    merge: async (sources, options, ...more: unknown[]) =>
      merge(pool, sources, optionsOf("merge", options, MERGE_OPTIONS, more)),
  };
}

// The compiler keeps these in step with the interfaces.
const INIT_OPTIONS: Record<keyof InitOptions, true> = { module: true, bytes: true, url: true, worker: true };
const OPEN_OPTIONS: Record<keyof OpenOptions, true> = {
  storage: true, base: true, schema: true, codec: true, analyzers: true, mode: true, memory: true, cache: true,
  gpuMemory: true, writerWaitMillis: true, releaseAfterCommit: true, autoMerge: true, graceMillis: true, signal: true,
};
const BUILD_OPTIONS: Record<keyof BuildOptions, true> = {
  storage: true, schema: true, codec: true, analyzers: true, memory: true, maxSegments: true, onProgress: true,
  signal: true,
};
const MERGE_OPTIONS: Record<keyof MergeStoragesOptions, true> = {
  into: true, maxSegments: true, memory: true, codec: true, reorder: true, onProgress: true, signal: true,
};

/** Starts engines, and knows which ones hold memory storages. */
class HostPool {
  private module: Promise<WebAssembly.Module> | undefined;
  private worker: (() => Worker) | undefined;
  /** Memory lives inside an engine: all that is opened on one memory storage shares one. */
  private readonly memories = new WeakMap<IndexStorage, Host>();
  /** Storages of builds and merges that run: an engine ends when its memory storage is forgotten. */
  private readonly busy = new Set<{ storage: IndexStorage }>();
  private readonly forgotten = typeof FinalizationRegistry === "undefined"
    ? undefined
    : new FinalizationRegistry<Host>((host) => host.end());

  constructor(readonly runtime: Runtime) {}

  async init({ worker, ...source }: InitOptions): Promise<void> {
    if (worker !== undefined && !this.runtime.inWorkers) throw invalid("init: this entry runs in the calling thread");
    this.worker = worker ?? this.worker;
    if (source.module !== undefined || source.bytes !== undefined || source.url !== undefined) {
      const before = this.module;
      const module = loadModule(source);
      this.module = module;
      // What was good before a failure still is.
      module.catch(() => {
        if (this.module === module) this.module = before;
      });
    } else if (worker === undefined) {
      throw invalid("init: one of `module`, `bytes`, `url`, `worker` is needed");
    }
    await this.loaded();
  }

  /** A new engine. */
  async start(): Promise<Host> {
    const module = await this.loaded();
    try {
      return this.runtime.start(module, this.worker);
    } catch (thrown) {
      throw toSearchError(thrown, "io");
    }
  }

  /** Does `work` in the engine for `storage`, which an engine that serves nothing else does not survive. */
  async using<T>(storage: IndexStorage, work: (host: Host) => Promise<T>): Promise<T> {
    const { host, owned } = await this.hostOf(storage);
    const use = { storage };
    this.busy.add(use);
    try {
      return await work(host);
    } finally {
      this.busy.delete(use);
      if (owned) host.end();
    }
  }

  /** The engine for `storage`, and whether it ends with its user. */
  async hostOf(storage: IndexStorage): Promise<{ host: Host; owned: boolean }> {
    if (storage.kind !== "memory") return { host: await this.start(), owned: true };
    let host = this.memories.get(storage);
    if (host === undefined) {
      host = await this.start();
      // Another open of the same storage may have come first while this one was loading.
      const first = this.memories.get(storage);
      if (first !== undefined) {
        host.end();
        return { host: first, owned: false };
      }
      this.memories.set(storage, host);
      this.forgotten?.register(storage, host);
    }
    return { host, owned: false };
  }

  /** Makes the files of a memory storage that lives in another engine known to `host`. */
  async bring(storage: IndexStorage | undefined, host: Host): Promise<void> {
    if (storage?.kind !== "memory") return;
    const home = this.memories.get(storage);
    if (home === undefined || home === host) return;
    const from = home.spec(storage).target as number;
    const files = await home.call("memoryRead", [from]);
    const transfer = files.map(([, bytes]) => bytes.buffer as ArrayBuffer);
    await host.call("memoryWrite", [from, files], { transfer });
  }

  private loaded(): Promise<WebAssembly.Module> {
    if (this.module === undefined) {
      const { load } = this.runtime;
      if (load === undefined) {
        return Promise.reject(invalid("call init({ module }), init({ bytes }) or init({ url }) first"));
      }
      const module = load();
      this.module = module;
      // A failure is not kept: the next call tries again.
      module.catch(() => {
        if (this.module === module) this.module = undefined;
      });
    }
    return this.module;
  }
}

function isStorage(storage: unknown, name: string): asserts storage is IndexStorage {
  const kind = (storage as IndexStorage | undefined)?.kind;
  if (kind === undefined) throw invalid(`${name}: a storage is needed, such as opfs("notes")`);
}

async function open(pool: HostPool, options: OpenOptions): Promise<SearchIndex> {
  const { storage, base, signal } = options;
  isStorage(storage, "open");
  throwIfAborted(signal);
  const analyzers = analyzerSource(options.analyzers, pool.runtime.inWorkers);
  const { host, owned } = await pool.hostOf(storage);
  try {
    await pool.bring(base, host);
    const settings = openSettings(pool, options);
    const handle = await host.call("open", [host.spec(storage), base && host.spec(base), settings, analyzers], { signal });
    // Writes get an engine of their own, so that searches stay quick; memory cannot be seen from a second one.
    const apart = pool.runtime.inWorkers && owned && base?.kind !== "memory" && settings.mode !== "readOnly";
    const startWriter = apart
      ? async () => {
          const writer = await pool.start();
          try {
            const again: OpenSettings = { ...settings, cacheBytes: WRITER_CACHE_BYTES };
            if (again.mode === "create") again.mode = "openOrCreate";
            const specs = [writer.spec(storage), base && writer.spec(base)] as const;
            return { host: writer, handle: await writer.call("open", [...specs, again, analyzers]) };
          } catch (thrown) {
            writer.end();
            throw thrown;
          }
        }
      : undefined;
    return await SearchIndex.create({ host, handle, owned, startWriter, storages: [storage, base] });
  } catch (thrown) {
    if (owned) host.end();
    throw toSearchError(thrown);
  }
}

/** A writer looks up ids and little else. */
const WRITER_CACHE_BYTES = 8 << 20;

function openSettings(pool: HostPool, options: OpenOptions): OpenSettings {
  const settings: OpenSettings = {};
  const { mode = options.storage.kind === "http" ? "readOnly" : undefined, schema } = options;
  const memoryBytes = parseBytes("memory", options.memory) ?? pool.runtime.memoryBytes;
  const cacheBytes = parseBytes("cache", options.cache) ?? pool.runtime.cacheBytes;
  const gpuBytes = parseBytes("gpuMemory", options.gpuMemory);
  if (mode !== undefined) settings.mode = mode;
  if (schema !== undefined) settings.schema = toWireSchema(schema);
  if (memoryBytes !== undefined) settings.memoryBytes = memoryBytes;
  if (cacheBytes !== undefined) settings.cacheBytes = cacheBytes;
  if (gpuBytes !== undefined) settings.gpuBytes = gpuBytes;
  for (const name of ["codec", "writerWaitMillis", "releaseAfterCommit", "autoMerge", "graceMillis"] as const) {
    if (options[name] !== undefined) Object.assign(settings, { [name]: options[name] });
  }
  refuseUnspeakable("open", settings);
  return settings;
}

type MergeInput = { memory?: Bytes; maxSegments?: number; schema?: Schema; codec?: PostingsCodec; reorder?: boolean };

function mergeSettings(pool: HostPool, options: MergeInput): MergeSettings {
  const settings: MergeSettings = {};
  const memoryBytes = parseBytes("memory", options.memory) ?? pool.runtime.memoryBytes;
  if (memoryBytes !== undefined) settings.memoryBytes = memoryBytes;
  if (options.maxSegments !== undefined) settings.maxSegments = options.maxSegments;
  if (options.schema !== undefined) settings.schema = toWireSchema(options.schema);
  if (options.codec !== undefined) settings.codec = options.codec;
  if (options.reorder !== undefined) settings.reorder = options.reorder;
  refuseUnspeakable("options", settings);
  return settings;
}

async function build(pool: HostPool, docs: DocSource, options: BuildOptions): Promise<BuildReport> {
  const { storage, schema, signal, onProgress } = options;
  isStorage(storage, "build");
  throwIfAborted(signal);
  const analyzers = analyzerSource(options.analyzers, pool.runtime.inWorkers);
  return pool.using(storage, async (host) => {
    const settings = mergeSettings(pool, options);
    const handle = await host.call("buildStart", [host.spec(storage), settings, analyzers], { signal });
    const refusals = new Refusals();
    try {
      for await (const batch of batchesOf(docs, () => schema ?? null, signal)) {
        refusals.leftOut(batch.refused);
        const transfer = buffersOf(batch.wire);
        // False: the build has ended early, and finishing it says why.
        if (!(await host.call("buildPush", [handle, batch.wire], { signal, onProgress, transfer }))) break;
      }
      const report = JSON.parse(await host.call("buildFinish", [handle], { signal, onProgress })) as BuildReport;
      refusals.byEngine(report.refused, 0);
      return { ...report, refused: refusals.sorted() };
    } catch (thrown) {
      await host.call("buildAbort", [handle]).catch(() => {});
      throw toSearchError(thrown, "invalid_argument");
    }
  });
}

async function merge(
  pool: HostPool,
  sources: readonly IndexStorage[],
  options: MergeStoragesOptions,
): Promise<MergeReport> {
  const { into, signal, onProgress } = options;
  isStorage(into, "merge");
  if (!Array.isArray(sources)) throw invalid("merge: an array of storages is needed");
  for (const source of sources) isStorage(source, "merge");
  throwIfAborted(signal);
  return pool.using(into, async (host) => {
    for (const source of sources) await pool.bring(source, host);
    const specs = sources.map((source) => host.spec(source));
    const report = await host.call("mergeStorages", [specs, host.spec(into), mergeSettings(pool, options)], {
      signal,
      onProgress,
    });
    return JSON.parse(report) as MergeReport;
  });
}


