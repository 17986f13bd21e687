// What every entry exports beside its own functions.
export { SearchError, searchErrorCodes, type SearchErrorCode } from "./errors.js";
export type { BuildOptions, InitOptions, MergeStoragesOptions, OpenOptions } from "./face.js";
export { SearchIndex, type MergeOptions } from "./index-handle.js";
export type { ModuleSource } from "./module.js";
export { r2, type R2Bucket } from "./r2.js";
export { s3, type S3Options } from "./s3.js";
export { custom, http, IndexStorage, memory, opfs } from "./storage.js";
export type { Awaitable, FileSize, HttpOptions, StorageObject, StorageProfile, StorageWriter } from "./storage.js";
export type * from "./types.js";
