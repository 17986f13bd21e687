// Where an engine runs, seen from the face: in this thread (local.ts), or in a worker (remote.ts).
import { SearchError, abortError } from "./errors.js";
import type { Answer, Args, Op, StorageSpec } from "./protocol.js";
import type { IndexStorage, StorageObject } from "./storage.js";
import type { OnProgress } from "./types.js";

/** How a call is followed and stopped. */
export interface HostCall {
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
  /**
   * Reject at once when the signal fires, and let the engine stop by itself. Only for calls that change
   * nothing; the others reject when the engine has stopped.
   */
  detach?: boolean;
  /** Buffers that the engine may have for good. */
  transfer?: ArrayBuffer[];
}

/** A running engine. */
export interface Host {
  /** Why no further call can succeed, if so. */
  readonly dead: SearchError | undefined;
  call<O extends Op>(op: O, args: Args<O>, options?: HostCall): Promise<Answer<O>>;
  /** `storage` in the terms of this engine. */
  spec(storage: IndexStorage): StorageSpec;
  /** Ends the engine; running calls reject with `closed`. Idempotent. */
  end(): void;
}

/** Numbers for memory storages: one each, for all engines of this thread. */
const memoryNumbers = new WeakMap<IndexStorage, number>();
let lastMemoryNumber = 0;

/** The number of a memory storage. */
function memoryNumber(storage: IndexStorage): number {
  let number = memoryNumbers.get(storage);
  if (number === undefined) {
    number = ++lastMemoryNumber;
    memoryNumbers.set(storage, number);
  }
  return number;
}

/** The objects behind the custom storages an engine was told of. */
export class ObjectTable {
  private readonly objects: StorageObject[] = [];

  /** Every object so far. */
  [Symbol.iterator](): IterableIterator<StorageObject> {
    return this.objects[Symbol.iterator]();
  }

  /** `storage` in terms that can cross to a worker. */
  spec(storage: IndexStorage): StorageSpec {
    switch (storage.kind) {
      case "opfs":
        return { kind: "opfs", target: storage.target as string };
      case "http":
        return { kind: "http", target: storage.target as string, options: storage.options ?? {} };
      case "memory":
        return { kind: "memory", target: memoryNumber(storage) };
      case "custom": {
        const object = storage.target as StorageObject;
        const known = this.objects.indexOf(object);
        return { kind: "custom", target: known >= 0 ? known : this.objects.push(object) - 1 };
      }
    }
  }

  /** The object with this number. */
  get(id: number): StorageObject {
    const object = this.objects[id];
    if (object === undefined) throw new SearchError("invalid_argument", `no storage object ${id}`);
    return object;
  }
}

/** `error` with the signal's reason as its cause, if it is the signal's doing. */
export function withReason(error: SearchError, signal: AbortSignal | undefined): SearchError {
  return error.code === "aborted" && signal?.aborted ? abortError(signal) : error;
}
