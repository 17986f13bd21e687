// An engine in the calling thread.
import { Engine } from "./engine.js";
import { SearchError, abortError, throwIfAborted, toSearchError } from "./errors.js";
import { ObjectTable, withReason, type Host, type HostCall } from "./host.js";
import type { Answer, Args, Op, StorageSpec } from "./protocol.js";
import type { IndexStorage } from "./storage.js";

/** An engine in this thread. */
export class LocalHost implements Host {
  private readonly objects = new ObjectTable();
  private readonly engine: Engine;
  private readonly ended: Promise<never>;
  private reject: (error: SearchError) => void = () => {};
  dead: SearchError | undefined;

  constructor(module: WebAssembly.Module) {
    this.ended = new Promise((_, reject) => (this.reject = reject));
    this.ended.catch(() => {});
    this.engine = new Engine(module, (error) => (this.dead ??= error));
  }

  async call<O extends Op>(op: O, args: Args<O>, options: HostCall = {}): Promise<Answer<O>> {
    const { signal, onProgress, detach } = options;
    if (this.dead !== undefined) throw this.dead;
    throwIfAborted(signal);
    let stop = () => {};
    let cancel = () => {};
    const aborted = new Promise<never>((_, reject) => {
      stop = () => {
        cancel();
        if (detach) reject(abortError(signal!));
      };
    });
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const context = {
        objectOf: (id: number) => this.objects.get(id),
        onProgress,
        onCancel: (act: () => void) => (cancel = act),
      };
      return await Promise.race([this.engine.run(op, args, context), aborted, this.ended]);
    } catch (thrown) {
      throw withReason(toSearchError(thrown), signal);
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  spec(storage: IndexStorage): StorageSpec {
    return this.objects.spec(storage);
  }

  end(): void {
    this.dead ??= new SearchError("closed", "the index was closed");
    this.reject(this.dead);
  }
}
