// Entry for who has a worker already: engines run in the calling thread.
import { createFace } from "./face.js";
import { fetchBeside } from "./wasm-url.js";
import { threadRuntime } from "./thread.js";
export * from "./shared.js";
export { files } from "./no-files.js";
export const { init, open, build, merge } = createFace(threadRuntime(fetchBeside));
