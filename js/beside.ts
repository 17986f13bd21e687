// Node.js and Deno: the wasm module lies beside this file.
import { readFile } from "node:fs/promises";
import { compile, fetchModule } from "./module.js";

/** Reads the module from disk, or fetches it where this file came over the network. */
export async function loadBeside(): Promise<WebAssembly.Module> {
  const url = new URL("./rangefind.wasm", import.meta.url);
  return url.protocol === "file:" ? compile(await readFile(url), url.href) : fetchModule(url);
}
