// The worker's side: an engine that hears calls as messages.
import { Engine } from "./engine.js";
import { toPlainError, toSearchError } from "./errors.js";
import type { Answer, Args, Op, StorageSpec } from "./protocol.js";
import { ProxyTable } from "./proxy.js";
import type { FromWorker, ToWorker } from "./messages.js";

/** What of the worker's global this file uses. */
interface WorkerScope {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
}

/** Serves one page on `scope`. */
export function serve(scope: WorkerScope): void {
  const post = (message: FromWorker, transfer: Transferable[] = []) => scope.postMessage(message, transfer);
  const objects = new ProxyTable((call, transfer) => post({ type: "object", ...call }, transfer));
  const cancels = new Map<number, () => void>();
  let engine: Engine | undefined;

  const call = async <O extends Op>(id: number, op: O, args: Args<O>, progress: boolean): Promise<void> => {
    let cancelled = false;
    cancels.set(id, () => (cancelled = true));
    try {
      await Promise.all(objectsOf(args).map((object) => objects.learn(object)));
      const value = await engine!.run(op, args, {
        objectOf: (object) => objects.get(object),
        onProgress: progress ? (news) => post({ type: "progress", id, progress: news }) : undefined,
        onCancel: (cancel) => {
          cancels.set(id, cancel);
          if (cancelled) cancel();
        },
      });
      post({ type: "answer", id, value }, buffersIn(op, value));
    } catch (thrown) {
      post({ type: "error", id, error: toPlainError(thrown) });
    } finally {
      cancels.delete(id);
    }
  };

  scope.onmessage = ({ data: message }) => {
    switch (message.type) {
      case "start":
        try {
          engine = new Engine(message.module, (error) => post({ type: "crashed", error: toPlainError(error) }));
          post({ type: "ready" });
        } catch (thrown) {
          post({ type: "crashed", error: toPlainError(toSearchError(thrown, "crashed")) });
        }
        return;
      case "call":
        return void call(message.id, message.op, message.args as Args<Op>, message.progress);
      case "cancel":
        return cancels.get(message.id)?.();
      case "reply":
        return objects.hear(message);
    }
  };
}

/** Numbers of the custom storages among `args`. */
function objectsOf(args: readonly unknown[]): number[] {
  const specs = args.flat().filter((arg): arg is StorageSpec => (arg as StorageSpec | undefined)?.kind === "custom");
  return specs.map((spec) => spec.target as number);
}

/** Buffers of an answer that the page may have. */
function buffersIn<O extends Op>(op: O, value: Answer<O>): Transferable[] {
  if (op !== "memoryRead") return [];
  return (value as Answer<"memoryRead">).map(([, bytes]) => bytes.buffer as ArrayBuffer);
}
