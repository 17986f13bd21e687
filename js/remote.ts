// An engine in a worker, seen from the page: calls and answers are messages, bulk data is transferred.
import { SearchError, abortError, invalid, throwIfAborted, toSearchError } from "./errors.js";
import { ObjectTable, withReason, type Host, type HostCall } from "./host.js";
import type { Answer, Args, Op, StorageSpec } from "./protocol.js";
import type { FromWorker, ToWorker } from "./messages.js";
import { answerObjectCall, forsake } from "./proxy.js";
import type { IndexStorage } from "./storage.js";
import type { OnProgress, Progress } from "./types.js";

/** A call that waits for its answer. */
interface Waiting {
  resolve: (value: never) => void;
  reject: (error: SearchError) => void;
  onProgress: OnProgress | undefined;
}

/** An engine in a worker of its own. */
export class WorkerHost implements Host {
  private readonly objects = new ObjectTable();
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private ready = false;
  dead: SearchError | undefined;

  constructor(private readonly worker: Worker, module: WebAssembly.Module) {
    worker.onmessage = (event: MessageEvent<FromWorker>) => this.hear(event.data);
    worker.onmessageerror = () => this.die(new SearchError("crashed", "a message of the worker could not be read"));
    worker.onerror = (event) => {
      event.preventDefault?.();
      const why = event.message || "no message";
      this.die(
        this.ready
          ? new SearchError("crashed", `the worker failed: ${why}`)
          : new SearchError("io", `the worker's script could not be started (${why}); see init({ worker })`),
      );
    };
    this.post({ type: "start", module });
  }

  async call<O extends Op>(op: O, args: Args<O>, options: HostCall = {}): Promise<Answer<O>> {
    const { signal, onProgress, detach, transfer = [] } = options;
    if (this.dead !== undefined) throw this.dead;
    throwIfAborted(signal);
    const id = ++this.lastId;
    let stop = () => {};
    const answer = new Promise<Answer<O>>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, onProgress });
      stop = () => {
        if (this.dead === undefined) this.post({ type: "cancel", id });
        if (detach) reject(abortError(signal!));
      };
    });
    signal?.addEventListener("abort", stop, { once: true });
    try {
      this.post({ type: "call", id, op, args, progress: onProgress !== undefined }, transfer);
      return await answer;
    } catch (thrown) {
      throw withReason(toSearchError(thrown), signal);
    } finally {
      this.waiting.delete(id);
      signal?.removeEventListener("abort", stop);
    }
  }

  spec(storage: IndexStorage): StorageSpec {
    if (storage.options?.fetch !== undefined) {
      throw invalid("http: a `fetch` of the caller's cannot cross to the worker; import from \"rangefind/inline\"");
    }
    return this.objects.spec(storage);
  }

  end(): void {
    this.die(new SearchError("closed", "the index was closed"));
  }

  private post(message: ToWorker, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }

  private die(why: SearchError): void {
    if (this.dead !== undefined) return;
    this.dead = why;
    for (const { reject } of this.waiting.values()) reject(why);
    this.worker.terminate();
    for (const object of this.objects) forsake(object, this);
  }

  private hear(message: FromWorker): void {
    switch (message.type) {
      case "ready":
        this.ready = true;
        return;
      case "answer":
        return this.waiting.get(message.id)?.resolve(message.value as never);
      case "error":
        return this.waiting.get(message.id)?.reject(toSearchError(message.error));
      case "progress":
        return this.tell(message.id, message.progress);
      case "crashed":
        return this.die(toSearchError(message.error));
      case "object":
        void answerObjectCall(this.objects.get(message.object), message, this).then((reply) => {
          if (this.dead === undefined) this.post({ type: "reply", ...reply });
        });
    }
  }

  private tell(id: number, progress: Progress): void {
    try {
      this.waiting.get(id)?.onProgress?.(progress);
    } catch (error) {
      console.error("rangefind: onProgress threw", error);
    }
  }
}
