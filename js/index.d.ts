// The types of every entry: what the package exports, whichever runtime its code was chosen for.
import type { BuildOptions, InitOptions, MergeStoragesOptions, OpenOptions } from "./face.js";
import type { SearchIndex } from "./index-handle.js";
import type { IndexStorage } from "./storage.js";
import type { BuildReport, DocSource, MergeReport } from "./types.js";

export * from "./shared.js";

/**
 * Says where the wasm module and the worker come from, before the first use or to replace them for later opens.
 * Not needed where the package finds them itself.
 *
 * @throws {SearchError} `invalid_argument` if the bytes are no wasm module, `network`.
 */
export declare function init(options: InitOptions): Promise<void>;

/**
 * Opens or creates an index. Two waves of requests, however many segments there are.
 *
 * @example
 * await using index = await open({ storage: opfs("notes"), schema: { title: "text", tag: "keyword" } });
 *
 * @throws {SearchError} `not_found`, `corrupt`, `unsupported_format`, `invalid_argument` if the schemas differ, and
 * storage's own.
 */
export declare function open(options: OpenOptions): Promise<SearchIndex>;

/**
 * Documents to a finished index in one call. Failed or cancelled, it leaves no index.
 *
 * @throws {SearchError} `invalid_argument` if there is an index already; what the source of documents throws comes
 * as `cause` of `invalid_argument`.
 */
export declare function build(docs: DocSource, options: BuildOptions): Promise<BuildReport>;

/**
 * Several indexes of equal schemas into a new one. Of documents with one id, the later source's stays.
 *
 * @throws {SearchError} `invalid_argument` if there is an index in `into` already or the schemas differ.
 */
export declare function merge(sources: readonly IndexStorage[], options: MergeStoragesOptions): Promise<MergeReport>;

/**
 * A directory, made by the first write; the index in it is the same as the native command line's. Only in Node.js
 * and Deno: elsewhere it throws.
 *
 * Reads are synchronous: from the system's cache they take microseconds, and the engine computes in the calling
 * thread anyway. One writer at a time, told apart by process number; a native writer is seen, but does not see this one.
 */
export declare function files(path: string | URL): IndexStorage;
