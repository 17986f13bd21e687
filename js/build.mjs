// Makes dist/ of the wasm module (dist/wasm/, by `cargo xtask build`) and the TypeScript beside this file.
//
// wasm-bindgen's glue is a module with one instance in module-level variables. Here it becomes a function that
// makes an instance of its own on each call, with every way into wasm guarded: an exception that leaves wasm (a
// panic, a trap, a stack overflow) is reported once, and the instance is never entered again.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const dist = new URL("dist/", root);
const at = (path) => new URL(path, root);

/** Replaces exactly one occurrence; the pinned generator's output is known to the character. */
function replaceOnce(text, from, to) {
  const [before, after, ...more] = text.split(from);
  if (after === undefined || more.length > 0) throw new Error(`js/build.mjs: the glue has ${more.length + 1} × ${from}`);
  return before + to + after;
}

/** The glue as a factory. */
export function factoryOf(glue) {
  const names = [...glue.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
  if (names.length === 0) throw new Error("js/build.mjs: the glue exports nothing");
  const loader = glue.indexOf("let wasmModule, wasmInstance, wasm;");
  if (loader < 0) throw new Error("js/build.mjs: the glue's loader was not found");
  let body = glue.slice(0, loader);
  if (/^import /m.test(body) || body.includes("import.meta")) throw new Error("js/build.mjs: the glue imports something");
  body = body
    .replace(/\/\* @ts-self-types.*?\*\/\n/, "")
    .replace(/^[ \t]*\/\*\*[\s\S]*?\*\/\n/gm, "")
    .replace(/^export (class|function) /gm, "$1 ");
  return `// Made by js/build.mjs of wasm-bindgen's output.
export function createGlue(module, onTrap) {
let trapped = false;
// Whether a result, a pair or a pointer is expected: callers find no error in it, and nothing enters wasm again.
const nothing = [];
/** \`exports\`, with functions that tell of exceptions instead of throwing, and do nothing from then on. */
function guarded(exports) {
    const safe = {};
    for (const [name, value] of Object.entries(exports)) {
        safe[name] = typeof value !== "function" ? value : (...args) => {
            if (trapped) return nothing;
            try {
                return value(...args);
            } catch (thrown) {
                trapped = true;
                onTrap(thrown);
                return nothing;
            }
        };
    }
    return safe;
}
${body}
const wasm = guarded(new WebAssembly.Instance(module, __wbg_get_imports()).exports);
wasm.__wbindgen_start();
return { ${names.join(", ")} };
}
`;
}

function tsc(...options) {
  const { status } = spawnSync(process.execPath, [fileURLToPath(at("node_modules/typescript/bin/tsc")), "-p", "js", ...options], {
    cwd: fileURLToPath(root),
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}

function build() {
  const glue = readFileSync(at("dist/wasm/rangefind.js"), "utf8");
  for (const name of readdirSync(dist)) if (name !== "wasm") rmSync(new URL(name, dist), { recursive: true });
  mkdirSync(dist, { recursive: true });
  writeFileSync(new URL("glue.js", dist), factoryOf(glue));
  copyFileSync(at("dist/wasm/rangefind_bg.wasm"), new URL("rangefind.wasm", dist));
  // Comments are for who reads the types; the code is downloaded.
  tsc("--declaration", "false", "--removeComments", "true");
  // Among the comments are those that tell bundlers to leave the caller's own module alone.
  const analyzers = new URL("analyzers.js", dist);
  const kept = replaceOnce(readFileSync(analyzers, "utf8"), "import(", "import(/* webpackIgnore: true */ /* @vite-ignore */ ");
  writeFileSync(analyzers, kept);
  tsc("--emitDeclarationOnly");
  for (const name of ["index.d.ts", "glue.d.ts", "rangefind.wasm.d.ts"]) copyFileSync(at(`js/${name}`), new URL(name, dist));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!existsSync(at("dist/wasm/rangefind.js"))) {
    console.error("js/build.mjs: run `cargo xtask build` first, or `npm run build`");
    process.exit(1);
  }
  build();
}
