// Object stores take a large object in parts of equal length, and a small one whole.
import type { StorageWriter } from "./storage.js";

/** Both R2 and S3 want at least 5 MiB for every part but the last. */
export const UPLOAD_PART_BYTES = 8 << 20;

/** How a store takes an object. */
export interface PartUpload<Part> {
  partBytes: number;
  /** Puts an object that is smaller than a part. */
  whole(bytes: Uint8Array): Promise<unknown>;
  /** Puts part `number`, from 1. */
  part(number: number, bytes: Uint8Array): Promise<Part>;
  /** Makes one object of all parts. */
  complete(parts: Part[]): Promise<unknown>;
  /** Forgets the parts put so far. */
  abort(): Promise<unknown>;
}

/** A writer that holds one part in memory. */
export function partsOf<Part>(upload: PartUpload<Part>): StorageWriter {
  const parts: Part[] = [];
  let held = new Uint8Array(0);
  let filled = 0;
  const take = (bytes: Uint8Array) => {
    if (filled + bytes.length > held.length) {
      const larger = new Uint8Array(Math.min(upload.partBytes, Math.max(2 * held.length, filled + bytes.length)));
      larger.set(held.subarray(0, filled));
      held = larger;
    }
    held.set(bytes, filled);
    filled += bytes.length;
  };
  const flush = async () => {
    const bytes = held.subarray(0, filled);
    held = new Uint8Array(0);
    filled = 0;
    parts.push(await upload.part(parts.length + 1, bytes));
  };
  return {
    async append(bytes) {
      for (let at = 0; at < bytes.length; ) {
        const end = Math.min(bytes.length, at + upload.partBytes - filled);
        take(bytes.subarray(at, end));
        at = end;
        if (filled === upload.partBytes) await flush();
      }
    },
    async finish() {
      if (parts.length === 0) {
        await upload.whole(held.subarray(0, filled));
        return;
      }
      if (filled > 0) await flush();
      await upload.complete(parts);
    },
    async abort() {
      await upload.abort();
    },
  };
}
