// Runs wasm-bindgen tests in Chromium and Firefox without a WebDriver: the pinned test runner serves the page, the
// browsers are driven by what the npm packages bring.
//
//   node scripts/lib/wasm-tests.mjs [chromium|firefox] [test target…]
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { launchChromiumProfile, launchFirefox } from "./browsers.mjs";
import { root, rootPath, run } from "./tools.mjs";

/** Test targets of Cargo.toml that run in browsers. */
export const WEB_TESTS = [...readFileSync(new URL("Cargo.toml", root), "utf8").matchAll(/^name = "(web_\w+)"/gm)].map((found) => found[1]);
/** Longest run of one target in one browser. */
const TIMEOUT_MILLIS = 300_000;

/** Builds the test targets; resolves to `{ name: path of the module }`. */
export async function buildWebTests(names) {
  await run("cargo", ["build", "--quiet", "--manifest-path", "xtask/Cargo.toml", "--package", "test-runner"]);
  const args = ["test", "--quiet", "--no-run", "--target", "wasm32-unknown-unknown", "--features", "webgpu", "--message-format", "json"];
  const cargo = spawn("cargo", [...args, ...names.flatMap((name) => ["--test", name])], {
    cwd: rootPath,
    stdio: ["ignore", "pipe", "inherit"],
    // Both browsers are started with an adapter: tests that find none must fail, not skip.
    env: { ...process.env, RANGEFIND_REQUIRE_GPU: "1" },
  });
  let output = "";
  cargo.stdout.on("data", (chunk) => (output += chunk));
  const code = await new Promise((resolve) => cargo.on("close", resolve));
  const messages = output.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  if (code !== 0) {
    for (const message of messages) if (message.message?.level === "error") console.error(message.message.rendered);
    throw new Error("the wasm tests do not build");
  }
  const built = messages.filter((message) => message.reason === "compiler-artifact" && message.executable);
  return Object.fromEntries(built.map((message) => [message.target.name, message.executable]));
}

/** Serves one module while `use(url)` runs. */
async function serve(module, use) {
  const port = await freePort();
  const runner = fileURLToPath(new URL("xtask/target/debug/test-runner", root));
  const child = spawn(runner, [module], {
    cwd: rootPath,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_HEADLESS: "1", WASM_BINDGEN_TEST_ADDRESS: `127.0.0.1:${port}`, WASM_BINDGEN_TEST_NO_ORIGIN_ISOLATION: "1" },
  });
  try {
    await new Promise((resolve, reject) => {
      let seen = "";
      const look = (chunk) => {
        seen += chunk;
        if (/now available/.test(seen)) resolve();
        if (/no tests to run/.test(seen)) reject(new Error(`${module} holds no tests`));
      };
      child.stdout.on("data", look);
      child.stderr.on("data", look);
      child.on("exit", () => reject(new Error(`the test runner ended: ${seen}`)));
      setTimeout(() => reject(new Error(`the test runner does not start: ${seen}`)), 60_000).unref();
    });
    return await use(`http://127.0.0.1:${port}/`);
  } finally {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Runs the served page in a browser; resolves to its output once it names a result. */
async function drive(launch, url) {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const console = [];
    page.on("console", (message) => console.push(message.text()));
    page.on("pageerror", (error) => console.push(String(error)));
    await page.goto(url);
    const end = Date.now() + TIMEOUT_MILLIS;
    let text = "";
    while (Date.now() < end) {
      text = await page.evaluate(() => document.getElementById("output")?.textContent ?? "");
      if (/test result: .*\n/.test(text) || /Worker error/.test(text)) return { text, console };
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return { text: `${text}\nno result after ${TIMEOUT_MILLIS / 1000} s`, console };
  } finally {
    await browser.close();
  }
}

/** Without the frames of wasm stacks, which hide the message. */
const readable = (text) =>
  text.split("\n").filter((line) => !/wasm-function|wasm-bindgen-test:\d|worker\.js:\d|^\s*$/.test(line)).join("\n");

/** Where tests/web/http.rs expects the server that misbehaves. */
const TEST_SERVER_PORT = "18931";

/** The server that misbehaves, while `use()` runs. It ends with its standard input. */
async function withTestServer(use) {
  const server = spawn(process.execPath, ["tests/servers/misbehaving.mjs", "--port", TEST_SERVER_PORT], {
    cwd: rootPath,
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    await new Promise((resolve, reject) => {
      server.stdout.once("data", resolve);
      server.once("exit", () => reject(new Error(`no test server: is port ${TEST_SERVER_PORT} in use?`)));
    });
    return await use();
  } finally {
    server.stdin.end();
    server.kill();
  }
}

/** Runs one module in one browser; resolves to `{ passed, failed, output }`. */
export async function runWebTest(browser, module) {
  const launch = browser === "chromium" ? launchChromiumProfile : launchFirefox;
  const { text, console } = await withTestServer(() => serve(module, (url) => drive(launch, url)));
  const result = /test result: (\w+)\. (\d+) passed; (\d+) failed/.exec(text);
  if (!result) return { passed: 0, failed: 1, output: readable(`${text}\n${console.join("\n")}`) };
  const [, verdict, passed, failed] = result;
  // An empty run proves nothing.
  const broken = verdict === "ok" && Number(passed) > 0 ? 0 : Math.max(1, Number(failed));
  return { passed: Number(passed), failed: broken, output: readable(broken ? `${text}\n${console.join("\n")}` : text) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const browsers = args.filter((arg) => ["chromium", "firefox"].includes(arg));
  const names = args.filter((arg) => !browsers.includes(arg));
  const modules = await buildWebTests(names.length ? names : WEB_TESTS);
  let bad = 0;
  for (const [name, module] of Object.entries(modules)) {
    for (const browser of browsers.length ? browsers : ["chromium", "firefox"]) {
      const { passed, failed, output } = await runWebTest(browser, module);
      console.log(`${name} in ${browser}: ${passed} passed, ${failed} failed`);
      if (failed || process.env.VERBOSE) console.log(output);
      bad += failed;
    }
  }
  process.exit(bad ? 1 : 0);
}
