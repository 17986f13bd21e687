// `npm run build [-- --dev]`: the publishable package in dist/. The wasm module by `cargo xtask build`,
// then the TypeScript face. `--dev`: a quick module without link-time optimisation and wasm-opt.
import { existsSync, readdirSync, statSync } from "node:fs";
import { hasFlag, root, run } from "./lib/tools.mjs";
import { setup } from "./setup.mjs";

/** Builds dist/. Does nothing that is already done. */
export async function build({ dev = false } = {}) {
  await setup({ tests: false });
  const mode = dev ? ["--dev"] : [];
  await run("cargo", ["xtask", "build", ...mode]);
  if (existsSync(new URL("js/build.mjs", root))) await run(process.execPath, ["js/build.mjs", ...mode]);
}

/** What the package is made of. */
const SOURCES = ["src", "shaders", "js", "xtask/src", "Cargo.toml", "Cargo.lock", "xtask/Cargo.lock", "package-lock.json"];

/** Newest change of a file or of anything below a folder, in milliseconds. */
function newest(url) {
  const info = statSync(url);
  if (!info.isDirectory()) return info.mtimeMs;
  return Math.max(0, ...readdirSync(url).map((name) => newest(new URL(`${url.pathname}/${name}`, url))));
}

/** Whether dist/ holds no package, or one older than its sources. */
export function isStale() {
  const built = new URL("dist/node.js", root);
  if (!existsSync(built)) return true;
  const made = statSync(built).mtimeMs;
  return SOURCES.map((name) => new URL(name, root)).some((url) => existsSync(url) && newest(url) > made);
}

if (process.argv[1] === new URL(import.meta.url).pathname) await build({ dev: hasFlag("--dev") });
