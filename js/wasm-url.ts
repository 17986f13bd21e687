// Pages: the wasm module lies beside this file.
import { fetchModule } from "./module.js";

/** Bundlers find the module by this very expression. */
export function fetchBeside(): Promise<WebAssembly.Module> {
  return fetchModule(new URL("./rangefind.wasm", import.meta.url));
}
