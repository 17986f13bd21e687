// Makes a fresh machine ready: Rust's wasm target, the npm packages of the lock file and, for tests, browsers and
// a software GPU. Run by the other scripts; does nothing, and says nothing, where everything is there.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { root, run } from "./lib/tools.mjs";

/** Debian packages the tests need, each with a file that shows it is installed. */
const TEST_PACKAGES = {
  chromium: "/usr/bin/chromium",
  "chromium-driver": "/usr/bin/chromedriver",
  "firefox-esr": "/usr/bin/firefox-esr",
  "mesa-vulkan-drivers": "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
  libvulkan1: "/usr/lib/x86_64-linux-gnu/libvulkan.so.1",
};
if (process.arch === "arm64") {
  TEST_PACKAGES["mesa-vulkan-drivers"] = "/usr/share/vulkan/icd.d/lvp_icd.aarch64.json";
  TEST_PACKAGES.libvulkan1 = "/usr/lib/aarch64-linux-gnu/libvulkan.so.1";
}

/** Prepares the machine. `tests`: also what only tests need. */
export async function setup({ tests = false } = {}) {
  checkNode();
  await rust();
  await npmPackages();
  if (tests) await testPackages();
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`Node.js ${process.versions.node} is too old: 20.19 or newer is needed`);
  }
}

async function rust() {
  const cargo = await run("cargo", ["--version"], { check: false, quiet: true });
  if (cargo.code === 127) throw new Error("cargo is missing: install Rust from https://rustup.rs");
  if (cargo.code !== 0) {
    // rust-toolchain.toml names a toolchain that rustup has not installed.
    await run("rustup", ["toolchain", "install", pinnedChannel(), "--profile", "minimal", "-c", "rustfmt", "-c", "clippy"]);
  }
  const sysroot = (await run("rustc", ["--print", "sysroot"], { quiet: true })).output.trim();
  if (!existsSync(`${sysroot}/lib/rustlib/wasm32-unknown-unknown/lib`)) {
    await run("rustup", ["target", "add", "wasm32-unknown-unknown"]);
  }
}

function pinnedChannel() {
  const toml = readFileSync(new URL("rust-toolchain.toml", root), "utf8");
  return /channel\s*=\s*"([^"]+)"/.exec(toml)[1];
}

/** `npm ci`, unless node_modules/ was made from this very lock file. */
async function npmPackages() {
  const digest = createHash("sha256").update(readFileSync(new URL("package-lock.json", root))).digest("hex");
  const stamp = new URL("node_modules/.lock-digest", root);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  await run(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(stamp, digest);
}

async function testPackages() {
  const missing = Object.entries(TEST_PACKAGES).filter(([, file]) => !existsSync(file)).map(([name]) => name);
  if (missing.length === 0) return;
  const root = process.getuid?.() === 0;
  if (!root || !existsSync("/usr/bin/apt-get")) {
    throw new Error(`The tests need ${missing.join(", ")}. On Debian, as root: apt-get install --no-install-recommends ${missing.join(" ")}`);
  }
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-qq"], { env, quiet: true, timeout: 300_000 });
  await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...missing], { env, quiet: true, timeout: 600_000 });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  await setup({ tests: process.argv.includes("--tests") });
}
