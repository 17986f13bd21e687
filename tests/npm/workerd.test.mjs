// The packed package in workerd, the runtime of Cloudflare Workers: the module is a static import, indexes are read
// over HTTP and from a bucket within 128 MB, and written to a bucket and to memory.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { here, project, report, root } from "./lib/package.mjs";
import { hasCrash } from "./lib/pages.mjs";
import { remoteIndex } from "./lib/remote.mjs";

const WORKER = `
import * as rangefind from "./dist/workerd.js";
import { answers, documents, runScenario } from "./scenario.mjs";

/** What a Worker sees of a bucket, over a server that has the files. */
function bucketAt(url) {
  const ask = (key, init) => fetch(url + key, init);
  return {
    async get(key, { range } = {}) {
      const headers = range && { range: "bytes=" + range.offset + "-" + (range.offset + range.length - 1) };
      const response = await ask(key, { headers });
      if (response.status === 404) return null;
      const bytes = await response.arrayBuffer();
      return { size: bytes.byteLength, arrayBuffer: async () => bytes };
    },
    async head(key) {
      const response = await ask(key, { method: "HEAD" });
      return response.ok ? { size: Number(response.headers.get("content-length")) } : null;
    },
    list: async () => ({ objects: [], truncated: false }),
  };
}

/** A bucket in memory that writes, too. */
function emptyBucket() {
  const objects = new Map();
  return {
    get: async (key, { range } = {}) => {
      const bytes = objects.get(key);
      if (bytes === undefined) return null;
      const part = range ? bytes.slice(range.offset, range.offset + range.length) : bytes;
      return { size: bytes.length, arrayBuffer: async () => part.slice().buffer };
    },
    head: async (key) => (objects.has(key) ? { size: objects.get(key).length } : null),
    list: async ({ prefix }) => ({
      objects: [...objects].filter(([key]) => key.startsWith(prefix)).map(([key, { length }]) => ({ key, size: length })),
      truncated: false,
    }),
    put: async (key, bytes) => void objects.set(key, bytes.slice()),
    delete: async (key) => void objects.delete(key),
  };
}

export default {
  async fetch(request) {
    const { remote, crash, writes } = await request.json();
    if (writes) {
      let next = 0;
      const bucket = emptyBucket();
      const inBucket = await runScenario(rangefind, { storage: () => rangefind.r2(bucket, "w" + next++ + "/"), gpu: "absent", crash });
      const inMemory = await runScenario(rangefind, { storage: () => rangefind.memory(), gpu: "absent", crash });
      const tag = (kind, list) => list.map((result) => ({ ...result, name: kind + ": " + result.name }));
      return Response.json([...tag("bucket", inBucket), ...tag("memory", inMemory)]);
    }
    const results = await runScenario(rangefind, { http: remote });
    const extra = async (name, work) => {
      try {
        await work();
        results.push({ name, ok: true });
      } catch (error) {
        results.push({ name, ok: false, error: String(error?.stack ?? error) });
      }
    };
    const same = (index) => answers(index).then((found) => {
      if (JSON.stringify(found) !== JSON.stringify(remote.answers)) throw new Error(JSON.stringify(found));
    });
    await extra("reads a bucket", async () => {
      const url = new URL(remote.url);
      const index = await rangefind.open({ storage: rangefind.r2(bucketAt(url.origin + "/"), "index/"), mode: "readOnly" });
      await same(index);
      await index.close();
    });
    await extra("reads an S3-compatible endpoint, signed", async () => {
      const url = new URL(remote.url);
      let signed = 0;
      const sign = (request) => (signed++, request);
      const index = await rangefind.open({ storage: rangefind.s3({ bucket: url.origin, prefix: "index/", sign }), mode: "readOnly" });
      await same(index);
      if (signed === 0) throw new Error("nothing was signed");
      await index.close();
    });
    return Response.json(results);
  },
};
`;

/** Memory of the workerd processes of a group: most so far and now, bytes. */
function memoryOf(group) {
  const sum = { peak: 0, now: 0 };
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // After the name in parentheses: state, parent, group.
      if (!stat.includes("(workerd)") || Number(stat.split(") ").at(-1).split(" ")[2]) !== group) continue;
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      sum.peak += Number(/VmHWM:\s+(\d+) kB/.exec(status)[1]) * 1024;
      sum.now += Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) * 1024;
    } catch {
      // It has ended since it was listed.
    }
  }
  return sum;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("the scenario in workerd, reading within 128 MB", { timeout: 420_000 }, async (t) => {
  const folder = await project("workerd", { "worker.mjs": WORKER });
  copyFileSync(join(here, "scenario.mjs"), join(folder, "scenario.mjs"));
  const dist = join(folder, "node_modules/rangefind/dist");
  const scripts = readdirSync(dist).filter((name) => name.endsWith(".js") && !/^(node|deno|files|beside)\.js$/.test(name));
  const modules = [
    `(name = "worker.mjs", esModule = embed "worker.mjs")`,
    `(name = "scenario.mjs", esModule = embed "scenario.mjs")`,
    ...scripts.map((name) => `(name = "dist/${name}", esModule = embed "node_modules/rangefind/dist/${name}")`),
    `(name = "dist/rangefind.wasm", wasm = embed "node_modules/rangefind/dist/rangefind.wasm")`,
  ];
  const port = await freePort();
  writeFileSync(join(folder, "config.capnp"), `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [${modules.join(",\n    ")}],
  compatibilityDate = "2026-11-01",
);
`);
  const child = spawn(join(root, "node_modules/.bin/workerd"), ["serve", "config.capnp"], {
    cwd: folder, stdio: ["ignore", "pipe", "pipe"], detached: true,
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (output += chunk));
  t.after(() => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  });
  const url = `http://127.0.0.1:${port}/`;
  const remote = await remoteIndex();
  const pause = () => new Promise((resolve) => setTimeout(resolve, 200));
  // At rest two looks in a row see about the same.
  let [last, before] = [0, memoryOf(child.pid).now];
  for (let looks = 0; looks < 50 && (before === 0 || Math.abs(before - last) > 1e6); looks += 1) {
    await pause();
    [last, before] = [before, memoryOf(child.pid).now];
  }
  let response;
  for (let tries = 0; response === undefined; tries += 1) {
    await pause();
    response = await fetch(url, { method: "POST", body: JSON.stringify({ remote }) }).catch((error) => {
      if (child.exitCode !== null || tries > 50) throw new Error(`workerd: ${output}`, { cause: error });
    });
  }
  const results = async (response) => {
    const text = await response.text();
    assert.equal(response.status, 200, `${text}\n${output}`);
    await report(t, JSON.parse(text));
  };
  await results(response);
  const used = memoryOf(child.pid).peak - before;
  t.diagnostic(`${(used / 1e6).toFixed(0)} MB more than an idle workerd (${(before / 1e6).toFixed(0)} MB)`);
  assert.ok(before > 0 && used < 128e6, `${used} bytes of memory`);
  // What is written lies in the test's own memory, so this part is not held to the limit.
  await results(await fetch(url, { method: "POST", body: JSON.stringify({ writes: true, crash: hasCrash }) }));
});
