// Pages: where the wasm module and the worker's script are, seen from this file.
import { invalid } from "./errors.js";
import type { Runtime } from "./face.js";
import { WorkerHost } from "./remote.js";
import { fetchBeside } from "./wasm-url.js";

/** Engines in workers. */
export const pageRuntime: Runtime = {
  load: fetchBeside,
  start: (module, worker = spawnBeside) => new WorkerHost(worker(), module),
  inWorkers: true,
};

/** Bundlers find the worker's script by this very expression. */
function spawnBeside(): Worker {
  if (typeof Worker === "undefined") throw invalid("there are no workers here: import from \"rangefind/inline\"");
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
