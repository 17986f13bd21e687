// The little of Node.js that this package uses, and wasm imports, without anybody's type package.
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}

declare module "node:fs/promises" {
  export function readFile(path: string | URL): Promise<Uint8Array<ArrayBuffer>>;
}

declare module "node:fs" {
  interface Stats {
    readonly size: number;
    isFile(): boolean;
  }
  type Path = string | URL;
  export function openSync(path: Path, flags: string): number;
  export function closeSync(fd: number): void;
  export function fsyncSync(fd: number): void;
  export function readSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number;
  export function writeSync(fd: number, buffer: Uint8Array, offset: number, length: number): number;
  export function readFileSync(path: Path): Uint8Array<ArrayBuffer>;
  export function writeFileSync(path: Path, data: Uint8Array | string, options?: { flag?: string }): void;
  export function renameSync(from: Path, to: Path): void;
  export function rmSync(path: Path, options?: { force?: boolean }): void;
  export function statSync(path: Path): Stats;
  export function readdirSync(path: Path): string[];
  export function mkdirSync(path: Path, options: { recursive: boolean }): void;
}

declare module "node:path" {
  export function join(...parts: string[]): string;
  export function resolve(...parts: string[]): string;
}

declare module "node:url" {
  export function fileURLToPath(url: string | URL): string;
}

declare module "node:process" {
  const process: { readonly pid: number; kill(pid: number, signal: number): void };
  export default process;
}
