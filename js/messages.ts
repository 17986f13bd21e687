// What a page and its worker tell each other.
import type { PlainError } from "./errors.js";
import type { Op } from "./protocol.js";
import type { ObjectCall, ObjectReply } from "./proxy.js";
import type { Progress } from "./types.js";

/** Page to worker. */
export type ToWorker =
  | { type: "start"; module: WebAssembly.Module }
  | { type: "call"; id: number; op: Op; args: unknown[]; progress: boolean }
  | { type: "cancel"; id: number }
  | ({ type: "reply" } & ObjectReply);

/** Worker to page. */
export type FromWorker =
  | { type: "ready" }
  | { type: "answer"; id: number; value: unknown }
  | { type: "error"; id: number; error: PlainError }
  | { type: "progress"; id: number; progress: Progress }
  | { type: "crashed"; error: PlainError }
  | ({ type: "object" } & ObjectCall);
