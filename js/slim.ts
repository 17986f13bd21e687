// Entry that loads nothing by itself: call `init` first. The engine runs in the calling thread.
import { createFace } from "./face.js";
export * from "./shared.js";
export { files } from "./no-files.js";
export const { init, open, build, merge } = createFace({ load: undefined, spawn: undefined });
