// Where the time of a search goes: the functions with most time of their own, native and in wasm.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Functions that are named. */
const SHOWN = 6;
/** Instructions that tell what a loop is about. */
const TELLING = /\b(i8x16\.popcnt|i8x16\.swizzle|i16x8\.extmul\w*|i32x4\.dot_i16x8_s|f32x4\.(?:mul|add|relaxed_madd)|v128\.(?:and|xor)|i8x16\.shuffle|memory\.copy|i64\.popcnt)\b/g;

/** The hottest functions of a profile of V8's, by their own samples. */
export function hottest({ nodes, samples }) {
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const counts = new Map();
  for (const id of samples) {
    const { functionName, url, lineNumber } = byId.get(id);
    const name = functionName || `anonymous ${url.split("/").at(-1)}:${lineNumber}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).filter(([name]) => name !== "(idle)");
  return sorted.slice(0, SHOWN).map(([name, count]) => ({ name, share: count / samples.length }));
}

/** What functions of a module without names do: their telling instructions with how often they stand there, by number. */
export function instructionsOf(module, numbers) {
  const tool = fileURLToPath(new URL("../../node_modules/binaryen/bin/wasm-dis", import.meta.url));
  const { stdout, status } = spawnSync(process.execPath, [tool, module], { encoding: "utf8", maxBuffer: 1 << 30 });
  if (status !== 0) return new Map();
  const bodies = stdout.split(/^ \(func \$/m).slice(1);
  const imports = (stdout.match(/^ \(import .*\(func /gm) ?? []).length;
  return new Map(numbers.map((number) => {
    const counts = new Map();
    for (const [found] of bodies[number - imports]?.matchAll(TELLING) ?? []) counts.set(found, (counts.get(found) ?? 0) + 1);
    return [number, [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([name, count]) => `${count} ${name}`).join(", ")];
  }));
}

/** The hottest functions of process `pid` while `work` runs, by perf; null where there is none. */
export async function perf(pid, file, work) {
  if (spawnSync("perf", ["--version"]).status !== 0) return null;
  const recorder = spawn("perf", ["record", "--quiet", "-F", "999", "-o", file, "-p", String(pid)], { stdio: "ignore" });
  const ended = once(recorder, "exit");
  await new Promise((done) => setTimeout(done, 500));
  await work();
  recorder.kill("SIGINT");
  await ended;
  const { stdout, status } = spawnSync("perf", ["report", "--stdio", "--no-children", "--sort", "symbol", "-i", file], { encoding: "utf8", maxBuffer: 1 << 26 });
  if (status !== 0) return null;
  const lines = [...stdout.matchAll(/^ +([\d.]+)% +\[[.k]\] (.+)$/gm)].slice(0, SHOWN);
  return lines.map(([, share, name]) => ({ name: name.replace(/(\s+-)+\s*$/, "").trim(), share: Number(share) / 100 }));
}
