// What the package is measured against: the packages of bench/package.json.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const bench = fileURLToPath(new URL("./", import.meta.url));

/** Installs them, unless they are there as the lock file says. */
export function install() {
  const [lock, done] = [join(bench, "package-lock.json"), join(bench, "node_modules", ".installed-lock.json")];
  if (existsSync(done) && readFileSync(done, "utf8") === readFileSync(lock, "utf8")) return;
  // Native code is made for this processor, as ours chooses its instructions by it.
  const env = { ...process.env, CXXFLAGS: "-O3 -march=native" };
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: bench, env, stdio: "inherit" });
  if (status !== 0) throw new Error("npm ci in bench/ failed");
  copyFileSync(lock, done);
}
