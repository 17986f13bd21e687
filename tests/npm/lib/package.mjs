// The package as a stranger gets it: packed, and installed into a folder of its own.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../", import.meta.url));
export const here = fileURLToPath(new URL("./", import.meta.url));

/** Runs a program to its end; resolves to its output, rejects with it. */
export function execute(program, args, { cwd, env, timeout = 120_000 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    const timer = setTimeout(() => child.kill("SIGKILL"), timeout);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve({ stdout, stderr });
      else reject(new Error(`${program} ${args.join(" ")}: ${signal ?? `exit status ${code}`}\n${stdout}\n${stderr}`));
    });
  });
}

const folders = [];
process.on("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A folder that is gone when this process ends. */
export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `rangefind-${name}-`));
  folders.push(folder);
  return folder;
}

let packed;

/** Path of the tarball, packed once per test file. */
export function tarball() {
  packed ??= (async () => {
    if (!existsSync(join(root, "dist/rangefind.wasm"))) throw new Error("dist/ is not built: npm run build");
    const folder = temporaryFolder("tarball");
    const { stdout } = await execute("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root });
    return join(folder, stdout.trim().split("\n").at(-1));
  })();
  return packed;
}

/** A project that has the package installed from its tarball; `files` are written into it. */
export async function project(name, files = {}) {
  const folder = temporaryFolder(name);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, private: true, type: "module" }));
  await execute("npm", ["install", "--silent", "--no-audit", "--no-fund", "--offline", await tarball()], { cwd: folder });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}

/** Makes each result of a scenario a test of its own. */
export async function report(t, results) {
  if (results.length === 0) throw new Error("the scenario checked nothing");
  for (const { name, ok, error } of results) {
    await t.test(name, () => {
      if (!ok) throw new Error(error);
    });
  }
}
