// The worker's script. Does nothing outside a dedicated worker.
import { serve } from "./serve.js";
declare const DedicatedWorkerGlobalScope: (new () => unknown) | undefined;
if (typeof DedicatedWorkerGlobalScope === "function" && globalThis instanceof DedicatedWorkerGlobalScope) {
  serve(globalThis as unknown as Parameters<typeof serve>[0]);
}
