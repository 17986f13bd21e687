// Entry for pages: engines run in workers.
import { createFace } from "./face.js";
import { pageRuntime } from "./page.js";
export * from "./shared.js";
export { files } from "./no-files.js";
export const { init, open, build, merge } = createFace(pageRuntime);
