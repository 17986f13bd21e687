// Analyzers of the caller's own: checked, and brought to where the engine runs.
import { SearchError, invalid } from "./errors.js";
import type { AnalyzerSource } from "./protocol.js";
import type { AnalyzerFunction, Analyzers } from "./types.js";

/** `given` in a form that reaches the engine. */
export function analyzerSource(given: Analyzers | undefined, inWorker: boolean): AnalyzerSource {
  if (given === undefined) return undefined;
  if (given instanceof URL) return given.href;
  if (typeof given !== "object" || given === null) {
    throw invalid("analyzers: an object of functions by name, or the URL of a module that exports them, is needed");
  }
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "function") throw invalid(`analyzers: ${JSON.stringify(name)} is no function`);
    if (inWorker) {
      throw invalid(
        `analyzers: ${JSON.stringify(name)} is a function, and the engine runs in a worker, where it cannot go: give ` +
          "the URL of a module that exports it, as `new URL(\"./analyzers.js\", import.meta.url)`, or import " +
          "`open` from \"rangefind/inline\"",
      );
    }
  }
  return { ...given };
}

/** The functions of `source`, by name. */
export async function analyzersOf(source: AnalyzerSource): Promise<Record<string, AnalyzerFunction> | undefined> {
  if (typeof source !== "string") return source;
  let module: Record<string, unknown>;
  try {
    // The build puts back what bundlers need to read here.
    module = await import(source);
  } catch (cause) {
    throw new SearchError("invalid_argument", `analyzers: the module ${source} could not be imported`, { cause });
  }
  const { default: whole, ...named } = module;
  const entries = Object.entries({ ...(typeof whole === "object" ? whole : {}), ...named });
  const functions = entries.filter((entry): entry is [string, AnalyzerFunction] => typeof entry[1] === "function");
  if (functions.length === 0) throw invalid(`analyzers: the module ${source} exports no function`);
  return Object.fromEntries(functions);
}
