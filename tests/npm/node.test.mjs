// The packed package in Node.js: in this thread, on memory, on files, over HTTP.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { execute, here, project, report, root, temporaryFolder } from "./lib/package.mjs";
import { remoteIndex } from "./lib/remote.mjs";

const MAIN = `
import * as rangefind from "rangefind";
import { runScenario } from "./scenario.mjs";
import { readFileSync } from "node:fs";
const { remote, folder, crash } = JSON.parse(readFileSync("options.json", "utf8"));
let next = 0;
const place = (name) => rangefind.files(folder + "/" + name);
const files = await runScenario(rangefind, { storage: () => place("t" + next++), persistent: place, http: remote, gpu: "absent", crash });
const memory = await runScenario(rangefind, { storage: () => rangefind.memory(), gpu: "absent", crash });
const tag = (kind, results) => results.map((result) => ({ ...result, name: kind + ": " + result.name }));
console.log(JSON.stringify([...tag("files", files), ...tag("memory", memory)]));
`;

/** Whether the module is the quick build, which has the crash query. */
const hasCrash = readFileSync(join(root, "dist/rangefind.wasm")).includes("the query of the crash test");

test("the scenario in Node.js", async (t) => {
  const folder = await project("node", { "main.mjs": MAIN });
  copyFileSync(join(here, "scenario.mjs"), join(folder, "scenario.mjs"));
  const remote = await remoteIndex();
  const options = { remote, folder: temporaryFolder("files"), crash: hasCrash };
  writeFileSync(join(folder, "options.json"), JSON.stringify(options));
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder, timeout: 300_000 });
  await report(t, JSON.parse(stdout));
});

test("a trap ends the instance, not the process", async () => {
  // A clock that throws leaves wasm by the same way as a trap, also in the published build.
  const folder = await project("trap", {
    "main.mjs": `
import { open, memory } from "rangefind";
const storage = memory();
const index = await open({ storage, schema: { t: "text" } });
await index.add([{ id: 1, t: "one" }]);
await index.commit();
performance.now = () => { throw new Error("the clock broke"); };
const outcomes = await Promise.allSettled([index.search("one"), index.search("one"), index.merge()]);
delete performance.now;
const codes = outcomes.map(({ reason }) => reason?.code);
const later = await index.search("one").catch((error) => error.code);
const other = await open({ storage: memory(), schema: { t: "text" } });
console.log(JSON.stringify([codes, later, (await other.search("x")).total]));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  assert.deepEqual(JSON.parse(stdout), [["crashed", "crashed", "crashed"], "crashed", 0]);
});

test("nothing keeps an answer but the caller", async () => {
  const folder = await project("kept", {
    "main.mjs": `
import { open, memory } from "rangefind";
const index = await open({ storage: memory(), schema: { t: "text" } });
await index.add([{ id: 1, t: "one " + "x".repeat(20_000) }]);
await index.commit();
const ask = async (times) => {
  for (let at = 0; at < times; at++) await index.search("one");
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};
console.log((await ask(50)) - (await ask(300)));
`,
  });
  const { stdout } = await execute(process.execPath, ["--expose-gc", "main.mjs"], { cwd: folder });
  const grown = -Number(stdout);
  assert.ok(grown < 2e6, `300 answers of 20 KB left ${grown} bytes behind`);
});

test("a closed index of files holds none of them open", { skip: process.platform !== "linux" && "needs /proc" }, async () => {
  const folder = await project("descriptors", {
    "main.mjs": `
import { readdirSync, readlinkSync } from "node:fs";
import { build, files, open } from "rangefind";
await build([{ id: 1, t: "one" }], { storage: files("index"), schema: { t: "text" } });
const held = () => readdirSync("/proc/self/fd").filter((fd) => {
  try {
    return readlinkSync("/proc/self/fd/" + fd).endsWith(".seg");
  } catch {
    return false;
  }
}).length;
const counts = [held()];
const storage = files("index");
for (const place of [storage, files("index"), storage]) {
  const index = await open({ storage: place, mode: "readOnly" });
  const { total } = await index.search("one");
  counts.push(total, Math.min(held(), 1));
  await index.close();
  counts.push(held());
}
console.log(JSON.stringify(counts));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  assert.deepEqual(JSON.parse(stdout), [0, 1, 1, 0, 1, 1, 0, 1, 1, 0]);
});

test("a signal that fires while a build ends does no harm", async () => {
  const folder = await project("ended", {
    "main.mjs": `
import { build, custom } from "rangefind";
// Everything at once, so that the last step of a build is a matter of ticks.
const store = (step) => {
  const files = new Map();
  const told = (work) => (...args) => (step(), work(...args));
  return {
    read: told((name, at, length) => files.get(name).slice(at, at + length)),
    get: told((name) => files.get(name)),
    size: told((name) => files.get(name)?.length),
    list: told(() => [...files].map(([name, bytes]) => ({ name, size: bytes.length }))),
    create: told((name) => {
      const parts = [];
      return { append: told((bytes) => void parts.push(bytes.slice())), finish: told(() => void files.set(name, Buffer.concat(parts))), abort() {} };
    }),
    put: told((name, bytes) => void files.set(name, bytes.slice())),
    delete: told((name) => void files.delete(name)),
    lock: told(() => told(() => {})),
  };
};
const docs = [{ id: 1, title: "a" }, { id: 2, title: "b" }];
let steps = 0;
await build(docs, { storage: custom(store(() => steps++)) });
const codes = new Set();
for (let ticks = 0; ticks < 40; ticks++) {
  const controller = new AbortController();
  let step = 0;
  const late = async () => {
    for (let tick = 0; tick < ticks; tick++) await null;
    controller.abort();
  };
  const storage = custom(store(() => void (++step === steps && late())));
  codes.add(await build(docs, { storage, signal: controller.signal }).then(() => "built", (error) => error.code));
}
console.log(JSON.stringify([...codes].filter((code) => code !== "built" && code !== "aborted")));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  assert.deepEqual(JSON.parse(stdout), []);
});

test("storages that answer with what is no bytes are told so, and the engine goes on", async () => {
  const folder = await project("nonsense", {
    "main.mjs": `
import { build, custom, memory, open } from "rangefind";
const detached = (make) => () => {
  const buffer = new ArrayBuffer(8);
  const value = make(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  return value;
};
const answers = [
  detached((buffer) => new Uint8Array(buffer)),
  detached((buffer) => buffer),
  detached((buffer) => new Float32Array(buffer)),
  (name, at, length) => ({ buffer: new ArrayBuffer(4), byteOffset: 9, byteLength: length }),
  (name, at, length) => ({ buffer: 7, byteOffset: 0, byteLength: length }),
  () => 7,
];
const codes = [];
for (const read of answers) {
  const files = new Map();
  let nonsense = false;
  const storage = custom({
    read: (...args) => (nonsense ? read(...args) : files.get(args[0]).slice(args[1], args[1] + args[2])),
    get: (name) => files.get(name),
    size: (name) => files.get(name)?.length,
    list: () => [...files].map(([name, bytes]) => ({ name, size: bytes.length })),
    create: (name) => {
      const parts = [];
      return { append: (bytes) => void parts.push(bytes.slice()), finish: () => void files.set(name, Buffer.concat(parts)), abort() {} };
    },
    put: (name, bytes) => void files.set(name, bytes.slice()),
    delete: (name) => void files.delete(name),
    lock: () => () => {},
  });
  await build([{ id: 1, t: "one" }], { storage, schema: { t: "text" } });
  const index = await open({ storage, mode: "readOnly" });
  nonsense = true;
  const code = await index.search("one").then(() => "found", (error) => error.code);
  nonsense = false;
  codes.push(code, (await index.search("one")).total);
  await index.close();
}
console.log(JSON.stringify(codes));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  assert.deepEqual(JSON.parse(stdout), Array(6).fill(["io", 1]).flat());
});

test("imports have no side effects and load nothing", async () => {
  const folder = await project("imports", {
    "main.mjs": `
const before = new Set(Object.getOwnPropertyNames(globalThis));
globalThis.fetch = () => { throw new Error("fetched"); };
for (const name of ["rangefind", "rangefind/inline", "rangefind/slim", "rangefind/worker"]) await import(name);
// The entry of pages too, in a runtime that is none.
await import("./node_modules/rangefind/dist/browser.js");
const added = Object.getOwnPropertyNames(globalThis).filter((name) => !before.has(name));
const handles = process.getActiveResourcesInfo().filter((name) => !/TTY|Pipe|FSReq|CloseReq/.test(name));
console.log(JSON.stringify({ added, handles }));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  assert.deepEqual(JSON.parse(stdout), { added: [], handles: [] });
});

test("slim needs init; init takes module, bytes or URL and knows HTML when it sees it", async () => {
  const folder = await project("slim", {
    "main.mjs": `
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import * as slim from "rangefind/slim";
const code = (promise) => promise.then(() => "ok", (error) => error.code + " " + error.message);
const bytes = readFileSync(new URL(import.meta.resolve("rangefind/rangefind.wasm")));
const out = {};
out.before = await code(slim.open({ storage: slim.memory() }));
out.html = await code(slim.init({ bytes: new TextEncoder().encode("<!doctype html><html>") }));
out.garbage = await code(slim.init({ bytes: new Uint8Array(9) }));
out.none = await code(slim.init({}));
out.bytes = await code(slim.init({ bytes }));
out.open = await code(slim.open({ storage: slim.memory(), schema: { t: "text" } }));
out.module = await code(slim.init({ module: await WebAssembly.compile(bytes) }));
const server = createServer((request, response) => {
  const html = request.url === "/html";
  response.writeHead(request.url === "/404" ? 404 : 200, { "content-type": html ? "text/html" : "application/wasm" });
  response.end(html ? "<!DOCTYPE html>" : bytes);
}).listen(0, async () => {
  const at = "http://127.0.0.1:" + server.address().port;
  out.url = await code(slim.init({ url: at + "/x.wasm" }));
  out.urlHtml = await code(slim.init({ url: at + "/html" }));
  out.url404 = await code(slim.init({ url: at + "/404" }));
  out.after = await code(slim.open({ storage: slim.memory() }));
  server.close();
  console.log(JSON.stringify(out));
});
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  const out = JSON.parse(stdout);
  assert.match(out.before, /^invalid_argument call init/);
  assert.match(out.html, /^invalid_argument .*HTML page.*optimizeDeps/);
  assert.match(out.garbage, /^invalid_argument .*no wasm module/);
  assert.match(out.none, /^invalid_argument/);
  assert.match(out.urlHtml, /^invalid_argument .*HTML page/);
  assert.match(out.url404, /^network .*404/);
  for (const name of ["bytes", "open", "module", "url", "after"]) assert.equal(out[name], "ok", name);
});

test("the exports map gives each runtime its entry", async () => {
  const folder = await project("conditions");
  const { exports } = JSON.parse(readFileSync(join(folder, "node_modules/rangefind/package.json"), "utf8"));
  assert.deepEqual(Object.keys(exports["."]), ["types", "workerd", "edge-light", "deno", "node", "browser", "default"]);
  const resolve = async (conditions, name) => {
    const flags = conditions.map((condition) => `--conditions=${condition}`);
    const code = `console.log(import.meta.resolve(${JSON.stringify(name)}))`;
    const { stdout } = await execute(process.execPath, [...flags, "--input-type=module", "--eval", code], { cwd: folder });
    return stdout.trim().split("/").at(-1);
  };
  assert.equal(await resolve([], "rangefind"), "node.js");
  assert.equal(await resolve(["workerd"], "rangefind"), "workerd.js");
  assert.equal(await resolve(["deno"], "rangefind"), "deno.js");
  assert.equal(await resolve(["workerd"], "rangefind/inline"), "workerd.js");
  assert.equal(await resolve([], "rangefind/worker"), "worker.js");
  assert.equal(await resolve([], "rangefind/rangefind.wasm"), "rangefind.wasm");
});

test("what is forgotten or mistaken is said in words", async () => {
  const folder = await project("mistakes", {
    "main.mjs": `
import { build, init, memory, merge, open, r2, s3 } from "rangefind";
const index = await open({ storage: memory(), schema: { title: "text" } });
const calls = {
  open: () => open(), build: () => build([]), merge: () => merge(memory(), { into: memory() }), init: () => init(),
  search: () => index.search(), option: () => index.search({ qery: "x" }), sort: () => index.search({ sort: ["title"] }),
  facet: () => index.search({ facets: ["title"] }), filter: () => index.search({ filter: { title: "x" } }),
  r2: async () => r2(undefined, "index/"), s3: async () => s3({}),
};
const outcomes = {};
for (const [name, call] of Object.entries(calls)) {
  outcomes[name] = await call().then(() => "no error", ({ name, code, message }) => [name, code, message].join(" | "));
}
console.log(JSON.stringify(outcomes));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  const outcomes = JSON.parse(stdout);
  const words = {
    open: /options/, build: /options/, merge: /array/, init: /options/, search: /query/, option: /unknown key "qery", expected query/,
    sort: /sort key/, facet: /keyword/, filter: /keyword/, r2: /env\.BUCKET/, s3: /https:/,
  };
  assert.deepEqual(Object.keys(outcomes), Object.keys(words));
  for (const [name, pattern] of Object.entries(words)) {
    assert.match(outcomes[name], /^SearchError \| invalid_argument \| /, name);
    assert.match(outcomes[name], pattern, name);
    assert.doesNotMatch(outcomes[name], /at line \d+ column/, `${name} names a place nobody sees`);
  }
});

const ANALYZERS = {
  "analyzers.mjs": `
export const commas = (text) => text.split(",").map((word) => word.trim().toLowerCase());
export function emoji(text) {
  const tokens = [];
  for (const { 0: term, index } of text.matchAll(/\\p{Emoji_Presentation}/gu)) {
    tokens.push({ term, start: index, end: index + term.length, position: tokens.length });
  }
  return tokens;
}
export default { odd: (text) => ({ throws() { throw new RangeError("too odd"); }, promise: () => Promise.resolve([]),
  inside: () => [{ term: "x", start: 1, end: 2 }], empty: () => [""], mixed: () => ["a", 1], far: () => [{ term: "x", start: 0, end: 99 }],
  none: () => 3, number: () => [{ term: "x", start: 0.5, end: 1 }] })[text.replace("😀", "")]?.() ?? [text] };
`,
};

test("analyzers of the caller's own, as functions and as a module", async () => {
  const folder = await project("analyzers", {
    ...ANALYZERS,
    "main.mjs": `
import { build, memory, open, SearchError } from "rangefind";
import own, * as named from "./analyzers.mjs";
const schema = { title: { type: "text", analyzer: "commas" }, mood: { type: "text", analyzer: "emoji" }, odd: { type: "text", analyzer: "odd" } };
const out = [];
for (const analyzers of [{ commas: named.commas, emoji: named.emoji, odd: own.odd }, new URL("./analyzers.mjs", import.meta.url)]) {
  const storage = memory();
  const index = await open({ storage, schema, analyzers });
  const odd = ["throws", "promise", "😀inside", "empty", "mixed", "far", "none", "number"].map((odd) => ({ odd }));
  const { added, refused } = await index.add([{ id: 1, title: "Red Wine, white wine", mood: "so 😀 or 🎉" }, ...odd, { id: 2, odd: "fine" }]);
  await index.commit();
  const found = await index.search({ query: '"red wine"', highlight: ["title"] });
  const mood = await index.search({ query: "🎉", highlight: ["mood"] });
  const failed = await index.search({ query: "throws", fields: ["odd"] }).catch((error) => error);
  await index.close();
  const missing = await open({ storage }).catch((error) => error);
  const other = await open({ storage: memory(), schema, analyzers: { commas: 3 } }).catch((error) => error);
  const taken = await open({ storage: memory(), schema, analyzers: { german: () => [] } }).catch((error) => error);
  const built = await build([{ id: 1, title: "a, b" }], { storage: memory(), schema, analyzers });
  const unbuilt = await build([{ id: 1, title: "a, b" }], { storage: memory(), schema }).catch((error) => error);
  out.push({
    added, refused: refused.map(({ field, code, reason }) => [field, code, reason].join(" | ")),
    found: [found.total, found.hits[0]?.highlights[0].ranges], mood: [mood.total, mood.hits[0]?.highlights[0].ranges],
    failed: [failed instanceof SearchError, failed.code, failed.message], missing: [missing.code, missing.message],
    other: [other.code, other.message], taken: [taken.code, taken.message], built: built.numDocs,
    unbuilt: [unbuilt.code, unbuilt.message],
  });
}
const nowhere = await open({ storage: memory(), analyzers: new URL("./nowhere.mjs", import.meta.url) }).catch((error) => error);
console.log(JSON.stringify({ out, nowhere: [nowhere.code, nowhere.message] }));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  const { out, nowhere } = JSON.parse(stdout);
  assert.equal(out.length, 2);
  for (const { added, refused, found, mood, failed, missing, other, taken, built, unbuilt } of out) {
    assert.equal(added, 2);
    assert.equal(refused.length, 8, refused.join("\n"));
    for (const line of refused) assert.match(line, /^odd \| analyzer_failed \| analyzer "odd": /);
    assert.match(refused[0], /too odd/);
    assert.deepEqual(found, [1, [[0, 8]]]);
    assert.deepEqual(mood, [1, [[9, 11]]]);
    assert.deepEqual(failed.slice(0, 2), [true, "invalid_argument"]);
    assert.match(failed[2], /odd.*too odd/);
    for (const [code, message] of [missing, unbuilt]) assert.match(`${code} ${message}`, /^invalid_argument .*commas/);
    assert.match(other.join(" "), /^invalid_argument .*commas/);
    assert.match(taken.join(" "), /^invalid_argument .*german/);
    assert.equal(built, 1);
  }
  assert.match(nowhere.join(" "), /^invalid_argument .*nowhere\.mjs/);
});

test("a worker imports the module of analyzers, and a page is told that functions stay", async () => {
  const folder = await project("worker-analyzers", {
    ...ANALYZERS,
    "main.mjs": `
import { readFileSync } from "node:fs";
import { serve } from "./node_modules/rangefind/dist/serve.js";
import * as page from "./node_modules/rangefind/dist/browser.js";
// What a worker is told by messages, and says by them.
const scope = { postMessage: (message) => hear(structuredClone(message)) };
let hear = () => {};
const tell = (message) => new Promise((resolve) => ((hear = resolve), scope.onmessage({ data: structuredClone(message) })));
let id = 0;
const call = (op, ...args) => tell({ type: "call", id: id++, op, args, progress: false });
serve(scope);
const module = new WebAssembly.Module(readFileSync(new URL(import.meta.resolve("rangefind/rangefind.wasm"))));
const started = await tell({ type: "start", module });
const analyzers = new URL("./analyzers.mjs", import.meta.url).href;
const schema = [{ name: "title", type: "text", analyzer: "commas" }];
const opened = await call("open", { kind: "memory", target: 1 }, undefined, { schema }, analyzers);
const json = new TextEncoder().encode(JSON.stringify([{ id: 1, title: "Red Wine, white wine" }]));
await call("add", opened.value, { json, vectors: [] });
await call("commit", opened.value);
const found = await call("search", opened.value, JSON.stringify({ query: '"white wine"' }), undefined);
const given = { commas: (text) => [text] };
const refused = await page.open({ storage: page.opfs("x"), analyzers: given }).catch((error) => error);
console.log(JSON.stringify({ started, opened, total: JSON.parse(found.value).total, refused: [refused.code, refused.message] }));
`,
  });
  const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder });
  const { started, opened, total, refused } = JSON.parse(stdout);
  assert.deepEqual([started.type, opened.type, total], ["ready", "answer", 1]);
  assert.match(refused.join(" "), /^invalid_argument .*commas.*worker.*URL/);
});

test("the tarball holds what is needed and nothing else", async () => {
  const folder = await project("contents");
  const { stdout } = await execute("find", ["node_modules/rangefind", "-type", "f"], { cwd: folder });
  const files = stdout.trim().split("\n").map((path) => path.replace("node_modules/rangefind/", ""));
  const odd = files.filter((path) => !/^(dist\/[\w.-]+\.(js|d\.ts|wasm)|package\.json|README\.md|LICENSE[\w.-]*|CHANGELOG\.md)$/.test(path));
  assert.deepEqual(odd, []);
  for (const path of ["LICENSE-APACHE", "LICENSE-MIT", "README.md"]) assert.ok(files.includes(path), `${path} is missing`);
  for (const path of files.filter((path) => /\.js$/.test(path))) {
    const text = readFileSync(join(folder, "node_modules/rangefind", path), "utf8");
    assert.doesNotMatch(text, /\beval\(|new Function\(/, `${path} needs unsafe-eval`);
  }
});
