// One engine: an instance of the wasm module and what is open in it. Runs in a worker or in this thread.
import type { WireBatch } from "./batches.js";
import { SearchError, invalid, toSearchError } from "./errors.js";
import { analyzersOf } from "./analyzers.js";
import { createGlue } from "./glue.js";
import type { Glue, WasmBatch, WasmBuild, WasmCancel, WasmIndex, WasmProgress, WasmStorage } from "./glue.js";
import type { Answer, Args, Handle, NamedBytes, Op, Operations, StorageSpec } from "./protocol.js";
import type { StorageObject } from "./storage.js";
import type { OnProgress, Progress } from "./types.js";

/** What one call brings along. */
export interface CallContext {
  /** The object behind a custom storage. */
  objectOf: (id: number) => StorageObject;
  onProgress?: OnProgress | undefined;
  /** Hears once how to cancel the call. */
  onCancel?: ((cancel: () => void) => void) | undefined;
}

/** One call as the operations see it. */
interface Call {
  cancel: WasmCancel;
  /** Adds something to do when the call is cancelled. */
  onCancel: (also: () => void) => void;
  progress: WasmProgress;
  objectOf: (id: number) => StorageObject;
}

/** A build between its first and its last batch. */
interface RunningBuild {
  build: WasmBuild;
  cancel: WasmCancel;
  progress: WasmProgress;
}

/** An instance of the module. After a crash every call, running or new, rejects with `crashed`. */
export class Engine {
  private readonly glue: Glue;
  private readonly indexes = new Map<Handle, WasmIndex>();
  private readonly builds = new Map<Handle, RunningBuild>();
  private readonly memories = new Map<number, WasmStorage>();
  private readonly running = new Set<(error: SearchError) => void>();
  /** A cancellation flag that no call holds. */
  private spareCancel: WasmCancel | undefined;
  private nextHandle = 1;
  private crash: SearchError | undefined;

  /** @param onCrash Hears once if the instance panics or traps. */
  constructor(module: WebAssembly.Module, private readonly onCrash: (error: SearchError) => void) {
    this.glue = createGlue(module, (thrown) => this.crashed(thrown));
    this.glue.onPanic((message) => this.crashed(new Error(message)));
  }

  /** Does one operation. */
  run<O extends Op>(op: O, args: Args<O>, context: CallContext): Promise<Answer<O>> {
    if (this.crash !== undefined) return Promise.reject(this.crash);
    const cancel = this.spareCancel ?? new this.glue.WasmCancel();
    this.spareCancel = undefined;
    const onCancelled: (() => void)[] = [() => cancel.cancel()];
    let [over, cancelled] = [false, false];
    context.onCancel?.(() => {
      if (over || this.crash !== undefined) return;
      cancelled = true;
      for (const act of onCancelled) act();
    });
    const call: Call = {
      cancel,
      onCancel: (also) => onCancelled.push(also),
      progress: progressOf(context.onProgress),
      objectOf: context.objectOf,
    };
    return new Promise<Answer<O>>((resolve, reject) => {
      const end = () => {
        over = true;
        this.running.delete(fail);
        if (this.crash !== undefined) return;
        // Making and registering one costs as much as a small query: an unused flag serves the next call.
        if (cancelled || this.spareCancel !== undefined) cancel.free();
        else this.spareCancel = cancel;
      };
      const fail = (thrown: unknown) => {
        end();
        reject(this.crash ?? toSearchError(thrown));
      };
      this.running.add(fail);
      const operation = this.operations[op] as (call: Call, ...args: unknown[]) => Promise<Answer<O>>;
      operation(call, ...args).then((answer) => {
        end();
        resolve(answer);
      }, fail);
    });
  }

  private crashed(thrown: unknown): void {
    if (this.crash !== undefined) return;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    this.crash = new SearchError("crashed", `the engine crashed, open the index again: ${message}`, { cause: thrown });
    for (const reject of this.running) reject(this.crash);
    this.onCrash(this.crash);
  }

  private readonly operations: { [O in Op]: (call: Call, ...args: Args<O>) => Promise<Answer<O>> } = {
    open: async (call, storage, base, settings, source) => {
      const analyzers = await analyzersOf(source);
      const own = await this.storage(storage, call);
      const below = base === undefined ? undefined : await this.storage(base, call);
      try {
        const { WasmIndex } = this.glue;
        const options = JSON.stringify(settings);
        const index = below === undefined
          ? WasmIndex.open(own, options, call.cancel, analyzers)
          : WasmIndex.openOver(own, below, options, call.cancel, analyzers);
        return this.keep(this.indexes, await index);
      } finally {
        this.release(storage, own);
        if (base !== undefined && below !== undefined) this.release(base, below);
      }
    },
    add: async (_, index, batch) => this.index(index).add(this.batch(batch)),
    delete: async (_, index, ids) => this.index(index).delete(ids),
    commit: async (_, index) => this.index(index).commit(),
    rollback: async (_, index) => this.index(index).rollback(),
    reopen: async (_, index) => this.index(index).reopen(),
    search: async (call, index, request, vector) => this.index(index).search(request, vector, call.cancel),
    get: async (call, index, ids) => this.index(index).get(ids, call.cancel),
    merge: async (call, index, settings) =>
      this.index(index).merge(JSON.stringify(settings), call.progress, call.cancel),
    check: async (call, index) => this.index(index).check(call.progress, call.cancel),
    info: async (_, index) => this.index(index).info(),
    close: async (_, handle) => {
      const index = this.indexes.get(handle);
      if (index === undefined) return;
      this.indexes.delete(handle);
      await index.close();
      index.free();
    },
    buildStart: async (call, storage, settings, source) => {
      const analyzers = await analyzersOf(source);
      const own = await this.storage(storage, call);
      const cancel = new this.glue.WasmCancel();
      // The build outlives this call: it tells its progress to whichever call feeds it.
      const running: RunningBuild = { cancel, progress: undefined, build: undefined! };
      const progress: WasmProgress = (...news) => running.progress?.(...news);
      running.build = this.glue.WasmBuild.start(own, JSON.stringify(settings), progress, cancel, analyzers);
      this.release(storage, own);
      return this.keep(this.builds, running);
    },
    buildPush: async (call, handle, batch) => {
      const running = this.build(handle);
      running.progress = call.progress;
      call.onCancel(() => this.cancelBuild(handle));
      return running.build.push(this.batch(batch));
    },
    buildFinish: async (call, handle) => {
      const running = this.build(handle);
      running.progress = call.progress;
      call.onCancel(() => this.cancelBuild(handle));
      try {
        return await running.build.finish();
      } finally {
        this.dropBuild(handle);
      }
    },
    buildAbort: async (_, handle) => {
      const running = this.builds.get(handle);
      if (running === undefined) return;
      running.cancel.cancel();
      try {
        await running.build.abort();
      } finally {
        this.dropBuild(handle);
      }
    },
    mergeStorages: async (call, sources, target, settings) => {
      const opened: [StorageSpec, WasmStorage][] = [];
      const open = async (spec: StorageSpec) => {
        const storage = await this.storage(spec, call);
        opened.push([spec, storage]);
        return storage;
      };
      const merge = new this.glue.WasmMerge(await open(target));
      try {
        for (const source of sources) merge.addSource(await open(source));
        return await merge.run(JSON.stringify(settings), call.progress, call.cancel);
      } finally {
        if (this.crash === undefined) merge.free();
        for (const [spec, storage] of opened) this.release(spec, storage);
      }
    },
    memoryRead: async (_, memory) => this.memory(memory).readFiles(),
    memoryWrite: async (_, memory, files: NamedBytes[]) => {
      for (const [name, bytes] of files) await this.memory(memory).writeFile(name, bytes);
    },
  };

  private keep<T>(table: Map<Handle, T>, value: T): Handle {
    const handle = this.nextHandle++;
    table.set(handle, value);
    return handle;
  }

  private index(handle: Handle): WasmIndex {
    const index = this.indexes.get(handle);
    if (index === undefined) throw new SearchError("closed", "the index was closed");
    return index;
  }

  private build(handle: Handle): RunningBuild {
    const running = this.builds.get(handle);
    if (running === undefined) throw new SearchError("closed", "the build is over");
    return running;
  }

  /** Asks a build to stop; one that is over, whose answer is still on its way, is done. */
  private cancelBuild(handle: Handle): void {
    this.builds.get(handle)?.cancel.cancel();
  }

  private dropBuild(handle: Handle): void {
    const running = this.builds.get(handle);
    this.builds.delete(handle);
    if (running === undefined || this.crash !== undefined) return;
    running.build.free();
    running.cancel.free();
  }

  private memory(id: number): WasmStorage {
    let storage = this.memories.get(id);
    if (storage === undefined) {
      storage = this.glue.WasmStorage.memory();
      this.memories.set(id, storage);
    }
    return storage;
  }

  private async storage(spec: StorageSpec, call: Call): Promise<WasmStorage> {
    switch (spec.kind) {
      case "memory":
        return this.memory(spec.target);
      case "opfs":
        return this.glue.WasmStorage.opfs(spec.target);
      case "http":
        return this.http(spec);
      case "custom":
        return this.glue.WasmStorage.custom(call.objectOf(spec.target));
      default:
        throw invalid(`unknown storage ${JSON.stringify(spec)}`);
    }
  }

  private http({ target, options: { fetch, ...rest } }: StorageSpec & { kind: "http" }): WasmStorage {
    return this.glue.WasmStorage.http(target, JSON.stringify(rest), fetch);
  }

  /** Gives up a storage handle of one call; memory stays. */
  private release(spec: StorageSpec, storage: WasmStorage): void {
    if (spec.kind !== "memory" && this.crash === undefined) storage.free();
  }

  private batch(wire: WireBatch): WasmBatch {
    const batch = new this.glue.WasmBatch(wire.json);
    for (const { field, counts, data } of wire.vectors) batch.addVectors(field, counts, data);
    return batch;
  }
}

/** A listener's exceptions are its own business: they must not travel through wasm frames. */
function progressOf(onProgress: OnProgress | undefined): WasmProgress {
  if (onProgress === undefined) return undefined;
  return (phase, done, total) => {
    try {
      onProgress({ phase: phase as Progress["phase"], done, total });
    } catch (error) {
      console.error("rangefind: onProgress threw", error);
    }
  };
}
