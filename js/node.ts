// Entry for Node.js and Deno: the engine runs in the calling thread, the module lies beside this file.
import { createFace } from "./face.js";
import { loadBeside } from "./beside.js";
export * from "./shared.js";
export { files } from "./files.js";
export const { init, open, build, merge } = createFace({ load: loadBeside, spawn: undefined });
