// A Cloudflare R2 bucket as a storage, through its binding.
import { SearchError, invalid } from "./errors.js";
import { UPLOAD_PART_BYTES, partsOf } from "./parts.js";
import { custom, type FileSize, type IndexStorage, type StorageObject, type StorageWriter } from "./storage.js";

/** What is used of an `R2Bucket` binding; Cloudflare's own type fits. */
export interface R2Bucket {
  get(key: string, options?: { range?: { offset: number; length: number } }): Promise<R2Body | null>;
  head(key: string): Promise<{ size: number } | null>;
  list(options: { prefix: string; cursor?: string }): Promise<R2List>;
  put(key: string, value: Uint8Array): Promise<unknown>;
  delete(key: string): Promise<void>;
  createMultipartUpload?(key: string): Promise<R2Upload>;
}

/** An object of a bucket, as far as it is used. */
export interface R2Body {
  size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** A page of a bucket's list, as far as it is used. */
export interface R2List {
  objects: { key: string; size: number }[];
  truncated: boolean;
  cursor?: string;
}

/** A multipart upload, as far as it is used. */
export interface R2Upload {
  uploadPart(partNumber: number, value: Uint8Array): Promise<unknown>;
  complete(parts: never[]): Promise<unknown>;
  abort(): Promise<void>;
}

/**
 * An index in an R2 bucket. Nothing keeps two writers apart: write from one place.
 *
 * @param bucket The binding, `env.BUCKET`.
 * @param prefix In front of the index's file names, such as `"notes/"`. Default none.
 */
export function r2(bucket: R2Bucket, prefix = ""): IndexStorage {
  if (typeof bucket?.get !== "function") throw invalid("r2: a bucket's binding is needed, such as env.BUCKET");
  return custom(new Bucket(bucket, prefix));
}

class Bucket implements StorageObject {
  readonly label: string;
  // Workers allow six connections that wait for headers.
  readonly profile = { inFlight: 6 };

  constructor(private readonly bucket: R2Bucket, private readonly prefix: string) {
    this.label = `r2:${prefix}`;
  }

  async read(name: string, offset: number, length: number): Promise<ArrayBuffer> {
    const body = await this.bucket.get(this.prefix + name, { range: { offset, length } });
    if (body === null) throw new SearchError("not_found", `${this.label}${name} is not there`);
    return body.arrayBuffer();
  }

  async get(name: string): Promise<ArrayBuffer | undefined> {
    return (await this.bucket.get(this.prefix + name))?.arrayBuffer();
  }

  async size(name: string): Promise<number | undefined> {
    return (await this.bucket.head(this.prefix + name))?.size;
  }

  async *list(): AsyncGenerator<FileSize, void, undefined> {
    let page: R2List | undefined;
    do {
      const cursor = page?.cursor;
      page = await this.bucket.list(cursor === undefined ? { prefix: this.prefix } : { prefix: this.prefix, cursor });
      for (const { key, size } of page.objects) yield { name: key.slice(this.prefix.length), size };
    } while (page.truncated);
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.bucket.put(this.prefix + name, bytes);
  }

  async delete(name: string): Promise<void> {
    await this.bucket.delete(this.prefix + name);
  }

  create(name: string): StorageWriter {
    const key = this.prefix + name;
    let upload: R2Upload | undefined;
    return partsOf({
      partBytes: UPLOAD_PART_BYTES,
      whole: (bytes) => this.bucket.put(key, bytes),
      part: async (number, bytes) => {
        if (this.bucket.createMultipartUpload === undefined) {
          throw new SearchError("read_only", `${this.label}: the binding has no multipart uploads`);
        }
        upload ??= await this.bucket.createMultipartUpload(key);
        return upload.uploadPart(number, bytes);
      },
      complete: (parts) => upload!.complete(parts as never[]),
      abort: async () => upload?.abort(),
    });
  }
}
