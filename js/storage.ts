// Descriptions of where an index lives. Nothing is opened before an index is.
import { invalid } from "./errors.js";

/** A value or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** @internal Method of objects of ours by which they give back what they hold open, when an engine that used them ends. */
export const RELEASE: unique symbol = Symbol("rangefind: release");

/** What {@link custom} takes: a flat namespace of write-once files and two small replaceable ones. */
export interface StorageObject {
  /** For error messages and `info`, such as `"r2:notes"`. Default `"js"`. */
  label?: string;
  /** What the store likes to be asked for. */
  profile?: StorageProfile;
  /**
   * Exactly `length` bytes from `offset`; a shorter or longer answer is refused. Throw for an absent file.
   * `signal` fires when nobody waits for the bytes any more.
   */
  read(name: string, offset: number, length: number, signal?: AbortSignal): Awaitable<Uint8Array | ArrayBuffer>;
  /** The whole file; `undefined` or `null` where there is none. Used for the two commit slots only. */
  get(name: string, signal?: AbortSignal): Awaitable<Uint8Array | ArrayBuffer | undefined | null>;
  /** Length in bytes; `undefined` or `null` where there is no such file. */
  size?(name: string): Awaitable<number | undefined | null>;
  /** All files. Needed for writing (garbage collection) and for `check`. */
  list?(): Awaitable<Iterable<FileSize> | AsyncIterable<FileSize>>;
  /** Starts a new file, replacing a leftover of the same name that was never finished. */
  create?(name: string): Awaitable<StorageWriter>;
  /** Replaces a small file, durably. Used for commit slots. */
  put?(name: string, bytes: Uint8Array): Awaitable<void>;
  /** Removes a file; an absent one is no error. */
  delete?(name: string): Awaitable<void>;
  /**
   * Becomes the only writer, waiting at most `waitMillis`. Answers the function that releases the lock, or
   * `undefined` if another writer holds it. Without it only writers of one handle keep off each other.
   */
  lock?(waitMillis: number): Awaitable<(() => void) | undefined | null>;
}

/** What a store likes to be asked for. Defaults: as for a store across a network. */
export interface StorageProfile {
  /** Cache block, a power of two. Default 16 KiB. */
  blockBytes?: number;
  /** Two wanted ranges at most this far apart become one request. Default 32 KiB. */
  gapBytes?: number;
  /** No request is longer than this. Default 4 MiB. */
  maxRequestBytes?: number;
  /** Requests in flight at a time. Default 6. */
  inFlight?: number;
  /** A read of one small range waits about this long, microseconds. Default 20,000. */
  latencyMicros?: number;
}

/** A file and its length. */
export interface FileSize {
  name: string;
  size: number;
}

/** Writes one new file, front to back. */
export interface StorageWriter {
  /** Appends; the bytes are the callee's to keep. */
  append(bytes: Uint8Array): Awaitable<void>;
  /** Makes the file durable and visible under its name, whole. */
  finish(): Awaitable<void>;
  /** Called instead of `finish` when the file is given up. */
  abort?(): Awaitable<void>;
}

/** Options of {@link http}. */
export interface HttpOptions extends StorageProfile {
  /** Sent with every request. Other than `Range` any header makes browsers ask the server first (preflight). */
  headers?: Record<string, string>;
  /** Tries after the first one for 429, 5xx and network failures. Default 3. */
  retries?: number;
  /** A try that takes longer than this is given up. Default 30,000. */
  timeoutMillis?: number;
  /** Used instead of the global `fetch`. Only where the engine runs in the calling thread. */
  fetch?: typeof fetch;
}

/** Where an index lives. Made by {@link opfs}, {@link http}, {@link memory}, {@link custom} and their like. */
export class IndexStorage {
  /** Which kind of place. */
  readonly kind: "opfs" | "http" | "memory" | "custom";
  /** For people: `opfs:notes`. */
  readonly label: string;
  /** What the engine needs to know. @internal */
  readonly target: string | StorageObject | undefined;
  /** @internal */
  readonly options: HttpOptions | undefined;

  /** @internal */
  constructor(kind: IndexStorage["kind"], label: string, target?: string | StorageObject, options?: HttpOptions) {
    this.kind = kind;
    this.label = label;
    this.target = target;
    this.options = options;
  }
}

/**
 * The origin private file system of this browser: durable, private to the origin, shared by its tabs.
 *
 * @param name Directory of the index, one level, such as `"notes"`.
 */
export function opfs(name: string): IndexStorage {
  if (typeof name !== "string" || !/^[A-Za-z0-9._-]{1,128}$/.test(name)) {
    throw invalid(`opfs: name ${JSON.stringify(name)} must match [A-Za-z0-9._-]{1,128}`);
  }
  return new IndexStorage("opfs", `opfs:${name}`, name);
}

/**
 * An index behind a web server that answers range requests. Read-only.
 *
 * @param url Directory of the index, absolute or, in pages, relative to the page. A slash at the end is implied.
 */
export function http(url: string | URL, options: HttpOptions = {}): IndexStorage {
  const base = typeof location === "object" ? location.href : undefined;
  let resolved: URL;
  try {
    resolved = new URL(url, base);
  } catch (cause) {
    throw invalid(`http: ${JSON.stringify(String(url))} is no absolute URL`);
  }
  if (!resolved.pathname.endsWith("/")) resolved.pathname += "/";
  return new IndexStorage("http", resolved.href, resolved.href, options);
}

/**
 * Memory of the engine. Every index opened on the same object sees the same files; they are gone with it.
 */
export function memory(): IndexStorage {
  return new IndexStorage("memory", "memory");
}

/**
 * Anything: an object that reads ranges, and writes if it has the functions for that.
 *
 * In pages the engine's workers call it by messages, so it may use what only the page has.
 */
export function custom(object: StorageObject): IndexStorage {
  for (const member of ["read", "get"] as const) {
    if (typeof object?.[member] !== "function") throw invalid(`custom: the object has no function \`${member}\``);
  }
  return new IndexStorage("custom", object.label ?? "js", object);
}
