// Cloudflare Workers: no workers of our own, and 128 MB for everything in an isolate.
import type { Runtime } from "./face.js";
import { threadRuntime } from "./thread.js";

/** 128 MB are shared by the requests an isolate serves at a time: half of it stays free. */
export function edgeRuntime(module: WebAssembly.Module): Runtime {
  return { ...threadRuntime(async () => module), memoryBytes: 16 << 20, cacheBytes: 32 << 20 };
}
