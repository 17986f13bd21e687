// The one error class of the package and the codes it carries.

/** Why a call failed. Stable across releases: branch on this, never on `message`. */
export type SearchErrorCode =
  /** A file, index, field or document that was named does not exist. */
  | "not_found"
  /** Bytes do not match their checksum or their format. */
  | "corrupt"
  /** Written by a newer or unknown version. */
  | "unsupported_format"
  /** An option or query that cannot be served as given. */
  | "invalid_argument"
  /** A document that does not fit the schema; the rest of its batch is untouched. */
  | "invalid_document"
  /** The network failed after the bounded retries. */
  | "network"
  /** The server does not answer byte ranges in a usable way. */
  | "range_unsupported"
  /** A file changed under an open index: reopen it. */
  | "index_changed"
  /** The caller cancelled; `cause` is the signal's reason. */
  | "aborted"
  /** Another writer holds the index. */
  | "locked"
  /** The storage or the index is opened for reading only. */
  | "read_only"
  /** The storage is full or over its quota. */
  | "quota"
  /** A memory, buffer or work budget cannot be met. */
  | "over_budget"
  /** A GPU was required and there is none, or it was lost. */
  | "no_gpu"
  /** The handle was closed. */
  | "closed"
  /** The engine instance panicked: an error of ours. Open a new one. */
  | "crashed"
  /** The operating system or browser refused an operation on storage. */
  | "io";

/** Every code, in the order of the type. */
export const searchErrorCodes: readonly SearchErrorCode[] = [
  "not_found", "corrupt", "unsupported_format", "invalid_argument", "invalid_document", "network",
  "range_unsupported", "index_changed", "aborted", "locked", "read_only", "quota", "over_budget", "no_gpu",
  "closed", "crashed", "io",
];

/** What every rejection of this package is. */
export class SearchError extends Error {
  /** Why, in one stable word. */
  readonly code: SearchErrorCode;

  constructor(code: SearchErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "SearchError";
    this.code = code;
  }
}

/** A failure in the form that crosses a worker boundary. */
export interface PlainError {
  code: SearchErrorCode;
  message: string;
  cause?: unknown;
}

/** Whether `value` is one of the codes. */
function isCode(value: unknown): value is SearchErrorCode {
  return (searchErrorCodes as readonly unknown[]).includes(value);
}

/** Makes a {@link SearchError} of anything thrown: engine errors keep their code, others become `fallback`. */
export function toSearchError(thrown: unknown, fallback: SearchErrorCode = "io"): SearchError {
  if (thrown instanceof SearchError) return thrown;
  if (typeof thrown === "object" && thrown !== null && "code" in thrown && isCode(thrown.code)) {
    const { code, message, cause } = thrown as unknown as PlainError;
    return new SearchError(code, String(message), cause === undefined ? undefined : { cause });
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new SearchError(fallback, message, { cause: thrown });
}

/** The form of `error` that structured clone carries. Causes that cannot be cloned cross as text. */
export function toPlainError(thrown: unknown): PlainError {
  const { code, message, cause } = toSearchError(thrown);
  if (cause === undefined) return { code, message };
  const plain = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return { code, message, cause: plain };
}

/** What a call rejects with when `signal` is aborted: code `aborted`, the signal's reason as cause. */
export function abortError(signal: AbortSignal): SearchError {
  return new SearchError("aborted", "cancelled by the caller", { cause: signal.reason });
}

/** Throws {@link abortError} if `signal` is already aborted, and `invalid_argument` if it is none. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal !== undefined && typeof signal?.addEventListener !== "function") {
    throw invalid("signal: an AbortSignal is needed, such as `controller.signal`");
  }
  if (signal?.aborted) throw abortError(signal);
}

/** Shorthand for code `invalid_argument`. */
export function invalid(message: string): SearchError {
  return new SearchError("invalid_argument", message);
}
