// Pages: where the wasm module and the worker's script are, seen from this file.
import type { Runtime } from "./face.js";
import { fetchModule } from "./module.js";

/** The engine in workers, or in this thread where there are none, as in some edge runtimes. */
export function pageRuntime(): Runtime {
  return { load: fetchBeside, spawn: typeof Worker === "undefined" ? undefined : spawnBeside };
}

/** The engine in the calling thread. */
export function inlineRuntime(): Runtime {
  return { load: fetchBeside, spawn: undefined };
}

/** Bundlers find the module by this very expression. */
function fetchBeside(): Promise<WebAssembly.Module> {
  return fetchModule(new URL("./rangefind.wasm", import.meta.url));
}

/** Bundlers find the worker's script by this very expression. */
function spawnBeside(): Worker {
  const here = import.meta.url;
  if (isElsewhere(here)) return spawnFrom(here.replace(/[^/]*$/, "worker.js"));
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "rangefind" });
}

/** Whether this file comes from another origin than the page, as from a CDN. */
function isElsewhere(here: string): boolean {
  return typeof location === "object" && /^https?:/.test(here) && new URL(here).origin !== location.origin;
}

/** Browsers refuse a worker's script from elsewhere, but a script of the page's own may import from there. */
function spawnFrom(url: string): Worker {
  const script = new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" });
  const address = URL.createObjectURL(script);
  const worker = new Worker(address, { type: "module", name: "rangefind" });
  // By then it has been fetched, or never will be.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return worker;
}
