// Entry for who has a worker already: the engine runs in the calling thread.
import { createFace } from "./face.js";
import { inlineRuntime } from "./page.js";
export * from "./shared.js";
export { files } from "./no-files.js";
export const { init, open, build, merge } = createFace(inlineRuntime());
