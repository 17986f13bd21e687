// An engine in a process of its own: `node --expose-gc node.mjs ENGINE SET.json`, then messages from the parent.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hottest } from "./profile.mjs";
import { makeRunner } from "./runner.mjs";

const [name, path] = process.argv.slice(2);
const set = JSON.parse(readFileSync(path, "utf8"));
const scratch = mkdtempSync(join(tmpdir(), "rangefind-engine-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
process.on("disconnect", () => process.exit());

/** A buffer of the file's own, so that it goes when it is dropped. */
function whole(file) {
  const bytes = readFileSync(file);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
}

const run = makeRunner(name, set, {
  isNode: true, scratch,
  load: (file) => whole(join(set.folder, file)),
  bytesOf: (url) => readFileSync(fileURLToPath(new URL(url, import.meta.url))),
  resident: () => process.memoryUsage().rss,
  gc: globalThis.gc,
});

/** Where the time of a round goes, by V8's own profiler. */
async function profile(args) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 200 });
  await session.post("Profiler.start");
  await run({ ...args, op: "time" });
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return { functions: hottest(profile) };
}

process.on("message", async (ask) => {
  try {
    process.send({ answer: await (ask.op === "profile" ? profile(ask) : run(ask)) });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
process.send({ ready: true });
