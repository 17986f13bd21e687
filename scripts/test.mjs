// `npm test [-- SUITE…]`: every suite, or those whose names begin so. `--list` names them; `--dev` tests a package
// built quickly instead of the one that is published; `--verbose` shows all output.
//
// Uses Node's own modules until setup has installed the rest. Ends with one line, `N passed, N failed`.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { hasFlag, root, rootPath, run } from "./lib/tools.mjs";
import { WEB_TESTS, buildWebTests, runWebTest } from "./lib/wasm-tests.mjs";
import { build } from "./build.mjs";
import { setup } from "./setup.mjs";

const MINUTE = 60_000;
/** Natively everything is built at once: the command line, its HTTP client, the GPU. */
const NATIVE = ["--features", "webgpu,cli"];
const WASM = ["--target", "wasm32-unknown-unknown", "--features", "webgpu"];

/** Test files of a folder, one suite each: they are long and independent. */
function nodeTests(folder) {
  const url = new URL(`${folder}/`, root);
  let names = [];
  try {
    names = readdirSync(url).filter((name) => name.endsWith(".test.mjs")).sort();
  } catch {
    // A checkout without this folder has none of its suites.
  }
  return names.map((name) => ({
    name: `${folder.replace("tests/", "")}/${name.replace(".test.mjs", "")}`,
    timeout: 12 * MINUTE,
    run: (suite) => nodeTest(`${folder}/${name}`, suite),
  }));
}

/** @type {{ name: string, timeout: number, run: (suite: object) => Promise<Outcome> }[]} */
const SUITES = [
  { name: "format", timeout: 2 * MINUTE, run: (suite) => checks(suite, [["fmt", "--all", "--check"], ["fmt", "--all", "--check", "--manifest-path", "xtask/Cargo.toml"]]) },
  { name: "locks", timeout: 3 * MINUTE, run: (suite) => checks(suite, ["bench", "fuzz", "xtask", "."].map((folder) => ["update", "--workspace", "--locked", "--manifest-path", `${folder}/Cargo.toml`])) },
  { name: "lint native", timeout: 10 * MINUTE, run: (suite) => checks(suite, [["clippy", "--quiet", "--all-targets", ...NATIVE, "--", "-D", "warnings"]]) },
  { name: "lint wasm", timeout: 10 * MINUTE, run: (suite) => checks(suite, [["clippy", "--quiet", "--lib", "--tests", ...WASM, "--", "-D", "warnings"]]) },
  { name: "native", timeout: 25 * MINUTE, run: cargoTest },
  ...nodeTests("scripts"),
  ...WEB_TESTS.flatMap((name) =>
    ["chromium", "firefox"].map((browser) => ({ name: `${name} ${browser}`, timeout: 12 * MINUTE, run: () => webTest(name, browser) })),
  ),
  { name: "package", timeout: 15 * MINUTE, run: packageBuild },
  ...nodeTests("tests/web"),
  ...nodeTests("tests/npm"),
  ...nodeTests("tests/demo"),
];

/** Counts of one suite; `output` is shown when something failed. @typedef {{ passed: number, failed: number, skipped?: number, output: string }} Outcome */

/** Cargo commands that pass or fail as a whole. */
async function checks({ timeout }, commands) {
  const outcome = { passed: 0, failed: 0, output: "" };
  for (const args of commands) {
    const { code, output } = await run("cargo", args, { quiet: true, check: false, timeout });
    outcome[code === 0 ? "passed" : "failed"] += 1;
    outcome.output += output;
  }
  return outcome;
}

async function cargoTest({ timeout }) {
  // A software Vulkan driver is part of the setup: a GPU test that finds none must fail, not skip.
  const env = { RANGEFIND_REQUIRE_GPU: "1" };
  const { code, output, timedOut } = await run("cargo", ["test", "--no-fail-fast", ...NATIVE], { quiet: true, check: false, timeout, env });
  const results = [...output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)];
  const sum = (group) => results.reduce((total, result) => total + Number(result[group]), 0);
  const failed = Math.max(sum(2), code === 0 && !timedOut ? 0 : 1);
  const lines = output.split("\n").filter((line) => !/^test .* (ok|ignored)$|^running \d+ test|^\s*$/.test(line));
  return { passed: sum(1), failed, skipped: sum(3), output: lines.join("\n") + (timedOut ? "\ntimed out" : "") };
}

let webModules;
async function webTest(name, browser) {
  webModules ??= buildWebTests(WEB_TESTS);
  const module = (await webModules)[name];
  if (!module) return { passed: 0, failed: 1, output: `cargo built no test ${name}` };
  return runWebTest(browser, module);
}

let builtPackage;
async function packageBuild() {
  await (builtPackage ??= build({ dev: hasFlag("--dev") }));
  return { passed: 1, failed: 0, output: "" };
}

async function nodeTest(file, { timeout }) {
  if (!file.startsWith("scripts/")) await packageBuild();
  const args = ["--test", "--test-reporter=tap", "--test-concurrency=1", file];
  const { code, output, timedOut } = await run(process.execPath, args, { quiet: true, check: false, timeout });
  const count = (what) => Number(new RegExp(`^# ${what} (\\d+)`, "m").exec(output)?.[1] ?? 0);
  const passed = count("pass");
  // A file without tests proves nothing.
  const broken = code !== 0 || timedOut || passed === 0 ? 1 : 0;
  return { passed, failed: Math.max(count("fail") + count("cancelled"), broken), skipped: count("skipped"), output: output + (timedOut ? "\ntimed out" : "") };
}

/** Runs one suite and prints its line. */
async function runSuite(suite, width) {
  const started = Date.now();
  let outcome;
  let alarm;
  try {
    const late = new Promise((_, reject) => {
      alarm = setTimeout(() => reject(new Error(`no end after ${suite.timeout / MINUTE} minutes`)), suite.timeout + 5_000);
    });
    outcome = await Promise.race([suite.run(suite), late]);
  } catch (error) {
    outcome = { passed: 0, failed: 1, output: String(error?.stack ?? error) };
  }
  clearTimeout(alarm);
  const seconds = ((Date.now() - started) / 1000).toFixed(1).padStart(7);
  const skipped = outcome.skipped ? `, ${outcome.skipped} skipped` : "";
  if (outcome.failed || hasFlag("--verbose")) console.log(`--- ${suite.name}\n${outcome.output.trimEnd()}\n---`);
  console.log(`${outcome.failed ? "FAIL" : "ok  "} ${suite.name.padEnd(width)} ${seconds} s  ${outcome.passed} passed, ${outcome.failed} failed${skipped}`);
  return { ...outcome, suite, seconds };
}

async function main() {
  const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
  const suites = SUITES.filter(({ name }) => wanted.length === 0 || wanted.some((prefix) => name.startsWith(prefix)));
  if (hasFlag("--list")) return suites.forEach(({ name }) => console.log(name));
  if (suites.length === 0) throw new Error(`no suite begins with ${wanted.join(" or ")}: see --list`);
  console.log(`Rangefind: ${suites.length} suites in ${rootPath}`);
  const started = Date.now();
  await setup({ tests: true });
  console.log(`setup done after ${((Date.now() - started) / 1000).toFixed(1)} s`);
  const width = Math.max(...suites.map(({ name }) => name.length));
  const outcomes = [];
  for (const suite of suites) outcomes.push(await runSuite(suite, width));
  const sum = (key) => outcomes.reduce((total, outcome) => total + (outcome[key] ?? 0), 0);
  const broken = outcomes.filter(({ failed }) => failed).map(({ suite }) => suite.name);
  if (broken.length) console.log(`\nfailed: ${broken.join(", ")}`);
  console.log(`\n${suites.length} suites, ${((Date.now() - started) / MINUTE).toFixed(1)} minutes, ${sum("skipped")} skipped`);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`);
  process.exit(sum("failed") ? 1 : 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
