// `npm run bench -- SUITE [--quick]`: prints a table and writes bench/results/SUITE.json.
//
// A suite is a script in bench/suites/SUITE.mjs, or else a suite of the Rust program in bench/src.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const bench = dirname(fileURLToPath(import.meta.url));
const root = dirname(bench);
const [suite, ...rest] = process.argv.slice(2);
if (!suite || suite.startsWith("-")) {
  console.error("usage: npm run bench -- SUITE [--quick]");
  process.exit(2);
}
const out = join(bench, "results", `${suite}.json`);
const script = join(bench, "suites", `${suite}.mjs`);
const [program, args] = existsSync(script)
  ? [process.execPath, [script, ...rest, "--out", out]]
  : ["cargo", ["run", "--release", "--quiet", "--locked", "--manifest-path", join(bench, "Cargo.toml"), "--target-dir", join(root, "target", "bench"), "--", suite, ...rest, "--out", out]];
const { status, error } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
if (error) console.error(`${program}: ${error.message}`);
process.exit(status ?? 1);
