// Runtimes without files have the same exports.
import { invalid } from "./errors.js";
import type { IndexStorage } from "./storage.js";

/** A directory. Only in Node.js and Deno. */
export function files(path: string | URL): IndexStorage {
  throw invalid(`files(${JSON.stringify(String(path))}) needs Node.js or Deno; pages have opfs(name)`);
}
