// Entry that loads nothing by itself: call `init` first. Engines run in the calling thread.
import { createFace } from "./face.js";
import { threadRuntime } from "./thread.js";
export * from "./shared.js";
export { files } from "./no-files.js";
export const { init, open, build, merge } = createFace(threadRuntime(undefined));
