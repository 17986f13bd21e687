// How fast wasm reads memory, one thread: what a scan of codes or rows can reach at most.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PAGES = 8192;
const ROUNDS = 5;
/** Sums that do not wait for each other. */
const LANES = [0, 1, 2, 3];

const text = `(module
  (memory (export "memory") ${PAGES})
  (func (export "read") (param $at i32) (param $end i32) (result i64)
    ${LANES.map((lane) => `(local $sum${lane} v128)`).join(" ")}
    (loop $more
      ${LANES.map((lane) => `(local.set $sum${lane} (i64x2.add (local.get $sum${lane}) (v128.load offset=${lane * 16} (local.get $at))))`).join("\n      ")}
      (local.set $at (i32.add (local.get $at) (i32.const ${LANES.length * 16})))
      (br_if $more (i32.lt_u (local.get $at) (local.get $end))))
    (i64.add
      (i64x2.extract_lane 0 (i64x2.add (local.get $sum0) (local.get $sum1)))
      (i64x2.extract_lane 1 (i64x2.add (local.get $sum2) (local.get $sum3))))))`;

/** Bytes per second, the best of some rounds; null where the module cannot be made. `folder` takes it. */
export function wasmBandwidth(folder) {
  const [source, module] = ["wat", "wasm"].map((end) => join(folder, `bandwidth.${end}`));
  writeFileSync(source, text);
  const tool = fileURLToPath(new URL("../../node_modules/binaryen/bin/wasm-as", import.meta.url));
  if (spawnSync(process.execPath, [tool, "--enable-simd", source, "-o", module], { stdio: "inherit" }).status !== 0) return null;
  const { memory, read } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(module))).exports;
  const bytes = memory.buffer.byteLength;
  new Uint8Array(memory.buffer).fill(1);
  const round = () => {
    const started = performance.now();
    read(0, bytes);
    return bytes / ((performance.now() - started) / 1000);
  };
  return Math.max(...Array.from({ length: ROUNDS }, round));
}
