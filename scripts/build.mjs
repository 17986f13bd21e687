// `npm run build [-- --dev]`: the publishable package in dist/. The wasm module by `cargo xtask build`,
// then the TypeScript face. `--dev`: a quick module without link-time optimisation and wasm-opt.
import { existsSync } from "node:fs";
import { hasFlag, root, run } from "./lib/tools.mjs";
import { setup } from "./setup.mjs";

/** Builds dist/. Does nothing that is already done. */
export async function build({ dev = false } = {}) {
  await setup({ tests: false });
  const mode = dev ? ["--dev"] : [];
  await run("cargo", ["xtask", "build", ...mode]);
  if (existsSync(new URL("js/build.mjs", root))) await run(process.execPath, ["js/build.mjs", ...mode]);
}

if (process.argv[1] === new URL(import.meta.url).pathname) await build({ dev: hasFlag("--dev") });
