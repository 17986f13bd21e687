// Entry for Node.js and Deno: engines run in the calling thread, the module lies beside this file.
import { createFace } from "./face.js";
import { loadBeside } from "./beside.js";
import { threadRuntime } from "./thread.js";
export * from "./shared.js";
export { files } from "./files.js";
export const { init, open, build, merge } = createFace(threadRuntime(loadBeside));
