// A directory of Node.js or Deno as a storage: the same layout as the native command line's.
import fs from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { SearchError, invalid } from "./errors.js";
import { RELEASE, custom, type FileSize, type IndexStorage, type StorageObject, type StorageWriter } from "./storage.js";

/** Files open for reading at a time; further ones are closed and opened again on demand. */
const MAX_OPEN_FILES = 64;
/** Names of unfinished files; a leading dot is no name, so nobody reads them. */
const temporary = (name: string) => `.${name}.tmp`;
/** Names the process that writes from JavaScript; native writers lock `.writer.lock` and write their number in it. */
const PID_NAME = ".writer.pid";
const NATIVE_LOCK_NAME = ".writer.lock";
/** Between two tries for the lock, milliseconds. */
const LOCK_POLL_MILLIS = 20;

/**
 * A directory, made by the first write. The index in it is the same as the native command line's.
 *
 * Reads are synchronous: from the system's cache they take microseconds, and the engine computes in this thread
 * anyway. One writer at a time, told apart by process number; a native writer is seen, but does not see this one.
 */
export function files(path: string | URL): IndexStorage {
  if (typeof path !== "string" && !(path instanceof URL)) throw invalid("files: a path or a file URL is needed");
  return custom(new Directory(resolve(typeof path === "string" ? path : fileURLToPath(path))));
}

class Directory implements StorageObject {
  readonly label: string;
  readonly profile = { blockBytes: 4096, gapBytes: 8192, maxRequestBytes: 4 << 20, inFlight: 1, latencyMicros: 10 };
  /** Open for reading, least recently used first. */
  private readonly handles = new Map<string, number>();

  constructor(private readonly directory: string) {
    this.label = `file:${directory}`;
  }

  read(name: string, offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    const fd = this.handle(name);
    for (let done = 0; done < length; ) {
      const got = fs.readSync(fd, bytes, done, length - done, offset + done);
      if (got === 0) throw new SearchError("corrupt", `${name} ends before byte ${offset + length}`);
      done += got;
    }
    return bytes;
  }

  get(name: string): Uint8Array | undefined {
    return orAbsent(() => fs.readFileSync(this.path(name)));
  }

  size(name: string): number | undefined {
    return orAbsent(() => fs.statSync(this.path(name)).size);
  }

  list(): FileSize[] {
    const names = orAbsent(() => fs.readdirSync(this.directory)) ?? [];
    return names.flatMap((name) => {
      const stats = name.startsWith(".") ? undefined : orAbsent(() => fs.statSync(this.path(name)));
      return stats?.isFile() ? [{ name, size: stats.size }] : [];
    });
  }

  create(name: string): StorageWriter {
    fs.mkdirSync(this.directory, { recursive: true });
    const temp = this.path(temporary(name));
    const fd = guarded(() => fs.openSync(temp, "w"));
    return {
      append: (bytes) => guarded(() => writeAll(fd, bytes)),
      finish: () =>
        guarded(() => {
          fs.fsyncSync(fd);
          fs.closeSync(fd);
          fs.renameSync(temp, this.path(name));
          this.sync();
        }),
      abort: () => {
        fs.closeSync(fd);
        fs.rmSync(temp, { force: true });
      },
    };
  }

  put(name: string, bytes: Uint8Array): void {
    const writer = this.create(name);
    writer.append(bytes);
    writer.finish();
  }

  delete(name: string): void {
    this.forget(name);
    guarded(() => fs.rmSync(this.path(name), { force: true }));
  }

  async lock(waitMillis: number): Promise<(() => void) | undefined> {
    fs.mkdirSync(this.directory, { recursive: true });
    const file = this.path(PID_NAME);
    for (const end = Date.now() + waitMillis; ; ) {
      if (!this.nativeWriter() && claim(file)) return () => fs.rmSync(file, { force: true });
      if (Date.now() >= end) return undefined;
      await new Promise<void>((resolve) => setTimeout(resolve, LOCK_POLL_MILLIS));
    }
  }

  /** Whether a living native process holds the index. */
  private nativeWriter(): boolean {
    return isAlive(readPid(this.path(NATIVE_LOCK_NAME)));
  }

  private path(name: string): string {
    return `${this.directory}/${name}`;
  }

  private handle(name: string): number {
    const known = this.handles.get(name);
    const fd = known ?? guarded(() => fs.openSync(this.path(name), "r"));
    this.handles.delete(name);
    this.handles.set(name, fd);
    if (this.handles.size > MAX_OPEN_FILES) this.forget(this.handles.keys().next().value!);
    return fd;
  }

  /** Whoever reads on opens them again. */
  [RELEASE](): void {
    for (const name of [...this.handles.keys()]) this.forget(name);
  }

  private forget(name: string): void {
    const fd = this.handles.get(name);
    this.handles.delete(name);
    if (fd !== undefined) fs.closeSync(fd);
  }

  /** Makes renames durable. */
  private sync(): void {
    try {
      const fd = fs.openSync(this.directory, "r");
      fs.fsyncSync(fd);
      fs.closeSync(fd);
    } catch {
      // Windows opens no directories, and needs none of this.
    }
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done, bytes.length - done);
}

/** Makes `file` ours; takes it from a process that is gone. */
function claim(file: string): boolean {
  try {
    fs.writeFileSync(file, `${process.pid}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw asSearchError(error);
  }
  const holder = readPid(file);
  if (isAlive(holder)) return false;
  // Of several that see the dead holder, one renames its file; who renames a living one's puts it back.
  const aside = `${file}.${process.pid}`;
  try {
    fs.renameSync(file, aside);
    if (readPid(aside) !== holder) fs.renameSync(aside, file);
    fs.rmSync(aside, { force: true });
  } catch {
    // Another one was quicker.
  }
  return false;
}

function readPid(file: string): number {
  const text = orAbsent(() => fs.readFileSync(file));
  return text === undefined ? NaN : Number.parseInt(new TextDecoder().decode(text), 10);
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code);
}

function orAbsent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw asSearchError(error);
  }
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asSearchError(error);
  }
}

/** The operating system's codes in ours. */
function asSearchError(error: unknown): SearchError {
  if (error instanceof SearchError) return error;
  const codes = { ENOENT: "not_found", ENOSPC: "quota", EDQUOT: "quota", EROFS: "read_only", EACCES: "io" } as const;
  const code = codes[codeOf(error) as keyof typeof codes] ?? "io";
  return new SearchError(code, error instanceof Error ? error.message : String(error), { cause: error });
}
