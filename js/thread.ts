// The calling thread as the place where engines run.
import type { Runtime } from "./face.js";
import { LocalHost } from "./local.js";

/** Engines in the calling thread, their module from `load`. */
export function threadRuntime(load: Runtime["load"]): Runtime {
  return { load, start: (module) => new LocalHost(module), inWorkers: false };
}
