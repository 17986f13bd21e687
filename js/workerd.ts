// Entry for Cloudflare Workers and their like: their module is imported, as they compile nothing at run time.
import module from "./rangefind.wasm";
import { createFace } from "./face.js";
import { edgeRuntime } from "./edge.js";
export * from "./shared.js";
export { files } from "./no-files.js";
export const { init, open, build, merge } = createFace(edgeRuntime(module));
