// The script of every test page. `rangefind` is whatever the page's own way of loading finds.
import * as rangefind from "rangefind";
import { runScenario } from "./scenario.mjs";

globalThis.rangefind = rangefind;

/** Runs the scenario on one kind of storage; `options` are JSON. */
globalThis.runTests = async ({ kind, ...options }) => {
  let next = 0;
  const prefix = `t${Date.now().toString(36)}-`;
  const fresh = { opfs: () => rangefind.opfs(`${prefix}${next++}`), memory: () => rangefind.memory() }[kind];
  const persistent = kind === "opfs" ? (name) => rangefind.opfs(name) : undefined;
  return runScenario(rangefind, { ...options, storage: fresh, persistent });
};
