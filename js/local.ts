// An engine in the calling thread.
import { Engine } from "./engine.js";
import { SearchError, abortError, throwIfAborted, toSearchError } from "./errors.js";
import { ObjectTable, withReason, type Host, type HostCall } from "./host.js";
import type { Answer, Args, Op, StorageSpec } from "./protocol.js";
import { RELEASE, type IndexStorage } from "./storage.js";

/** An engine in this thread. */
export class LocalHost implements Host {
  private readonly objects = new ObjectTable();
  private readonly engine: Engine;
  /** How running calls hear that the engine ended. A promise that all raced against would keep their answers alive. */
  private readonly running = new Set<(error: SearchError) => void>();
  dead: SearchError | undefined;

  constructor(module: WebAssembly.Module) {
    this.engine = new Engine(module, (error) => (this.dead ??= error));
  }

  async call<O extends Op>(op: O, args: Args<O>, options: HostCall = {}): Promise<Answer<O>> {
    const { signal, onProgress, detach } = options;
    if (this.dead !== undefined) throw this.dead;
    throwIfAborted(signal);
    let cancel = () => {};
    const context = {
      objectOf: (id: number) => this.objects.get(id),
      onProgress,
      onCancel: signal === undefined ? undefined : (act: () => void) => (cancel = act),
    };
    return new Promise<Answer<O>>((resolve, reject) => {
      const settle = () => {
        this.running.delete(fail);
        signal?.removeEventListener("abort", stop);
      };
      const fail = (thrown: unknown) => {
        settle();
        reject(withReason(toSearchError(thrown), signal));
      };
      const stop = () => {
        cancel();
        if (detach) fail(abortError(signal!));
      };
      signal?.addEventListener("abort", stop, { once: true });
      this.running.add(fail);
      this.engine.run(op, args, context).then((answer) => {
        settle();
        resolve(answer);
      }, fail);
    });
  }

  spec(storage: IndexStorage): StorageSpec {
    return this.objects.spec(storage);
  }

  end(): void {
    this.dead ??= new SearchError("closed", "the index was closed");
    for (const fail of this.running) fail(this.dead);
    for (const object of this.objects) (object as { [RELEASE]?: () => void })[RELEASE]?.();
  }
}
