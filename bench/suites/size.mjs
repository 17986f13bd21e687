// `npm run bench -- size`: what a page or a Worker downloads. The wasm module whole, everything in, and the
// JavaScript of each entry as a bundler makes it of the published files: minified, compressed by brotli at its best.
import { existsSync, readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { report, row } from "../report.mjs";

const root = new URL("../../", import.meta.url);
const KIB = 1024;
/** All of the engine, with WebGPU, in one module: DESIGN.md §10. */
const WASM_GOAL_KIB = 350;

const brotli = (bytes) => brotliCompressSync(bytes, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
}).length;
const kib = (bytes) => Math.round((bytes / KIB) * 100) / 100;

/** The files that `entry` of dist/ loads, as one minified script. */
async function bundled(entry) {
  const { build } = await import("vite");
  const result = await build({
    root: fileURLToPath(root), configFile: false, logLevel: "silent", publicDir: false,
    build: {
      write: false, target: "esnext", minify: true, modulePreload: false,
      lib: { entry: fileURLToPath(new URL(`dist/${entry}.js`, root)), formats: ["es"], fileName: entry },
      rollupOptions: { external: [/^node:/, /\.wasm$/] },
    },
    // The module and the worker are files of their own, measured apart.
    plugins: [{
      name: "leave-urls", enforce: "pre",
      transform: (code) => code.replaceAll("import.meta.url", "globalThis.__here"),
    }],
  });
  const { output } = Array.isArray(result) ? result[0] : result;
  return Buffer.from(output.filter(({ type }) => type === "chunk").map(({ code }) => code).join("\n"));
}

/** Rows of the suite. Sizes are exact: there is nothing to repeat, and `--quick` changes nothing. */
async function measure() {
  const module = new URL("dist/rangefind.wasm", root);
  if (!existsSync(module)) throw new Error("dist/ is not built: npm run build");
  const wasm = readFileSync(module);
  const isDev = wasm.includes("the query of the crash test");
  const also = (bytes, what) => `${kib(bytes.length)} KiB ${what}, ${kib(gzipSync(bytes, { level: 9 }).length)} KiB gzip`;
  const rows = [row({
    key: "wasm-brotli-kib", ours: kib(brotli(wasm)), unit: "KiB", peer: "goal", peerValue: WASM_GOAL_KIB, goal: 1,
    note: also(wasm, "raw") + (isDev ? "; a quick build, not the published one" : ""),
  })];
  for (const entry of ["browser", "worker", "inline", "slim", "node", "workerd"]) {
    const code = await bundled(entry);
    rows.push(row({ key: `js-brotli-kib-${entry}`, ours: kib(brotli(code)), unit: "KiB", note: also(code, "minified") }));
  }
  return rows;
}

const at = process.argv.indexOf("--out");
report(await measure(), at < 0 ? fileURLToPath(new URL("bench/results/size.json", root)) : process.argv[at + 1]);
