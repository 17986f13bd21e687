// The part of wasm-bindgen's glue that engine.ts uses. The build wraps the generated module into
// `createGlue`, so that each call makes an instance of its own: see js/build.mjs.

/** Tells running work to stop. */
export interface WasmCancel {
  cancel(): void;
  free(): void;
}

export interface WasmStorage {
  readFiles(): Promise<[name: string, bytes: Uint8Array][]>;
  writeFile(name: string, bytes: Uint8Array): Promise<void>;
  free(): void;
}

export interface WasmBatch {
  addVectors(field: string, counts: Uint32Array, data: Float32Array): void;
  free(): void;
}

export type WasmProgress = ((phase: string, done: number, total: number) => void) | undefined;

/** Functions from text to tokens, by name. */
export type WasmAnalyzers = Record<string, (text: string) => unknown> | undefined;

export interface WasmIndex {
  add(batch: WasmBatch): Promise<string>;
  delete(ids: string): Promise<number>;
  commit(): Promise<string>;
  rollback(): Promise<void>;
  reopen(): Promise<boolean>;
  search(request: string, vector: Float32Array | undefined, cancel: WasmCancel): Promise<string>;
  get(ids: string, cancel: WasmCancel): Promise<string>;
  merge(settings: string, progress: WasmProgress, cancel: WasmCancel): Promise<string>;
  check(progress: WasmProgress, cancel: WasmCancel): Promise<string>;
  info(): string;
  close(): Promise<void>;
  free(): void;
}

export interface WasmBuild {
  push(batch: WasmBatch): Promise<boolean>;
  finish(): Promise<string>;
  abort(): Promise<void>;
  free(): void;
}

export interface WasmMerge {
  addSource(source: WasmStorage): void;
  run(settings: string, progress: WasmProgress, cancel: WasmCancel): Promise<string>;
  free(): void;
}

export interface Glue {
  WasmCancel: new () => WasmCancel;
  WasmBatch: new (json: Uint8Array) => WasmBatch;
  WasmStorage: {
    memory(): WasmStorage;
    opfs(name: string): Promise<WasmStorage>;
    http(url: string, options: string, fetch: typeof globalThis.fetch | undefined): WasmStorage;
    custom(object: object): WasmStorage;
  };
  WasmIndex: {
    open(storage: WasmStorage, settings: string, cancel: WasmCancel, analyzers: WasmAnalyzers): Promise<WasmIndex>;
    openOver(
      storage: WasmStorage,
      base: WasmStorage,
      settings: string,
      cancel: WasmCancel,
      analyzers: WasmAnalyzers,
    ): Promise<WasmIndex>;
  };
  WasmBuild: {
    start(
      storage: WasmStorage,
      settings: string,
      progress: WasmProgress,
      cancel: WasmCancel,
      analyzers: WasmAnalyzers,
    ): WasmBuild;
  };
  WasmMerge: new (target: WasmStorage) => WasmMerge;
  onPanic(handler: (message: string) => void): void;
}

/** A new instance of `module`. `onTrap` hears once of anything thrown out of wasm, which then stays silent. */
export function createGlue(module: WebAssembly.Module, onTrap: (thrown: unknown) => void): Glue;
