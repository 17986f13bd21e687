// Entry for Deno, which reads files as Node.js does.
export * from "./node.js";
