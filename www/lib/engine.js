// The package as this page uses it: where indexes are, how one is opened, built and described.
import { http, open, opfs } from "rangefind";

const REGISTRY = "rangefind:indexes";

/** Folder of a local index in the browser's private file system. */
const folder = (name) => `demo-${name}`;

function registry() {
  try { return JSON.parse(localStorage.getItem(REGISTRY)) ?? {}; } catch { return {}; }
}

function saveRegistry(entries) {
  try { localStorage.setItem(REGISTRY, JSON.stringify(entries)); } catch { /* private mode: the index itself is still there */ }
}

/** Finished indexes of this browser, newest first: `{ name, label, builtAt, docs }`. */
export function localIndexes() {
  return Object.entries(registry()).map(([name, entry]) => ({ name, ...entry })).sort((a, b) => b.builtAt - a.builtAt);
}

/** Notes that the index `name` is complete. */
export function register(name, entry) {
  saveRegistry({ ...registry(), [name]: { ...entry, builtAt: Date.now() } });
}

/** Removes a local index with its files. */
export async function removeIndex(name) {
  const { [name]: _, ...rest } = registry();
  saveRegistry(rest);
  const root = await navigator.storage.getDirectory();
  await root.removeEntry(folder(name), { recursive: true }).catch((error) => { if (error.name !== "NotFoundError") throw error; });
}

/** A new, empty local index. Commits stay segments of their own until someone presses Merge. */
export async function createLocal(name, schema) {
  await removeIndex(name);
  return open({ storage: opfs(folder(name)), mode: "create", schema, autoMerge: false });
}

/** Opens a finished local index. Its writer lock is given back after each commit, so that other tabs can write too. */
export function openLocal(name) {
  return opened(open({ storage: opfs(folder(name)), mode: "open", autoMerge: false, releaseAfterCommit: true }));
}

/** Opens a read-only index behind byte ranges. */
export function openUrl(url) {
  return opened(open({ storage: http(url), mode: "readOnly" }));
}

/** The index and what opening it cost. */
async function opened(promise) {
  const start = performance.now();
  const index = await promise;
  const millis = performance.now() - start;
  return { index, opening: { millis, pinnedBytes: (await index.info()).pinnedBytes } };
}

/** What the page needs to know of a schema: which fields to search, mark, filter, sort and draw. */
export function describe(info) {
  const fields = info.fields.filter((field) => field.name !== "id");
  const named = (...kinds) => fields.filter((field) => kinds.includes(field.kind)).map((field) => field.name);
  const text = named("text");
  const title = ["title", "name", "headline", "label", "subject"].find((name) => text.includes(name))
    ?? text[0] ?? named("keyword")[0];
  return {
    text, title, bodies: text.filter((name) => name !== title),
    keywords: named("keyword", "bool"), numbers: named("number", "integer"), dates: named("date"), vector: named("vector")[0],
  };
}

/** Whether `error` only says that the caller stopped waiting. */
export const isAbort = (error) => error?.code === "aborted" || error?.name === "AbortError";

/** An error in words for the page, with its stable code. */
export const explain = (error) => `${error?.message ?? error}${error?.code && !String(error.message).includes(error.code) ? ` (${error.code})` : ""}`;
