// What the face asks of an engine, whether that is in this thread or in a worker.
import type { WireBatch } from "./batches.js";
import type { HttpOptions } from "./storage.js";
import type { AnalyzerFunction } from "./types.js";

/** The caller's analyzers: functions by name, or where the module is that exports them, which alone crosses to a worker. */
export type AnalyzerSource = Record<string, AnalyzerFunction> | string | undefined;
import type { PostingsCodec } from "./types.js";

/** A storage as an engine is told of it. Memory and objects are known by number within one engine. */
export type StorageSpec =
  | { kind: "opfs"; target: string }
  | { kind: "http"; target: string; options: HttpOptions }
  | { kind: "memory"; target: number }
  | { kind: "custom"; target: number };

/** Options of {@link Operations.open}, as the engine reads them. Absent ones take the engine's defaults. */
export interface OpenSettings {
  mode?: "create" | "openOrCreate" | "open" | "readOnly";
  schema?: unknown;
  codec?: PostingsCodec;
  memoryBytes?: number;
  cacheBytes?: number;
  gpuBytes?: number;
  writerWaitMillis?: number;
  releaseAfterCommit?: boolean;
  autoMerge?: boolean;
  graceMillis?: number;
}

/** Options of a merge or build. */
export interface MergeSettings {
  maxSegments?: number | null;
  memoryBytes?: number;
  schema?: unknown;
  codec?: PostingsCodec;
  reorder?: boolean;
}

/** Number of an open index or build within one engine. */
export type Handle = number;

/** A file by name, whole. */
export type NamedBytes = [name: string, bytes: Uint8Array];

/** Everything an engine does. Structured values come and go as JSON text: see each one's type in `types.ts`. */
export interface Operations {
  open(
    storage: StorageSpec,
    base: StorageSpec | undefined,
    settings: OpenSettings,
    analyzers: AnalyzerSource,
  ): Promise<Handle>;
  add(index: Handle, batch: WireBatch): Promise<string>;
  delete(index: Handle, ids: string): Promise<number>;
  commit(index: Handle): Promise<string>;
  rollback(index: Handle): Promise<void>;
  reopen(index: Handle): Promise<boolean>;
  search(index: Handle, request: string, vector: Float32Array | undefined): Promise<string>;
  get(index: Handle, ids: string): Promise<string>;
  merge(index: Handle, settings: MergeSettings): Promise<string>;
  check(index: Handle): Promise<string>;
  info(index: Handle): Promise<string>;
  close(index: Handle): Promise<void>;
  buildStart(storage: StorageSpec, settings: MergeSettings, analyzers: AnalyzerSource): Promise<Handle>;
  /** Whether the build wants more. */
  buildPush(build: Handle, batch: WireBatch): Promise<boolean>;
  buildFinish(build: Handle): Promise<string>;
  /** Gives a build up; what it wrote is removed. */
  buildAbort(build: Handle): Promise<void>;
  mergeStorages(sources: StorageSpec[], target: StorageSpec, settings: MergeSettings): Promise<string>;
  memoryRead(memory: number): Promise<NamedBytes[]>;
  memoryWrite(memory: number, files: NamedBytes[]): Promise<void>;
}

/** Name of an operation. */
export type Op = keyof Operations;

/** Arguments of an operation. */
export type Args<O extends Op> = Parameters<Operations[O]>;

/** Answer of an operation. */
export type Answer<O extends Op> = Awaited<ReturnType<Operations[O]>>;
