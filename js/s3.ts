// An S3-compatible endpoint as a storage, behind plain fetch: public buckets as they are, private ones with a
// function of the caller's that signs requests.
import { SearchError, invalid, type SearchErrorCode } from "./errors.js";
import { UPLOAD_PART_BYTES, partsOf } from "./parts.js";
import { custom, type Awaitable, type FileSize, type IndexStorage, type StorageObject, type StorageWriter } from "./storage.js";

/** Options of {@link s3}. */
export interface S3Options {
  /** Address of the bucket: `https://bucket.s3.eu-central-1.amazonaws.com` or `https://host/bucket`. */
  bucket: string | URL;
  /** In front of the index's file names, such as `"notes/"`. Default none. */
  prefix?: string;
  /** Signs a request, or replaces it by a presigned one. Default: requests go out as they are. */
  sign?: (request: Request) => Awaitable<Request>;
  /** Offer the functions that write. Default false. */
  writable?: boolean;
  /** Requests in flight at a time. Default 6. */
  inFlight?: number;
  /** Tries after the first one for 429, 5xx and network failures. Default 3. */
  retries?: number;
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
}

/** First wait before a retry, milliseconds; it doubles, with jitter. */
const RETRY_MILLIS = 200;

/** An index in an S3-compatible bucket. Nothing keeps two writers apart: write from one place. */
export function s3(options: S3Options): IndexStorage {
  if (!URL.canParse(options?.bucket)) throw invalid("s3: the address of a bucket is needed, such as \"https://host/bucket\"");
  const bucket = new Bucket(options);
  if (!options.writable) return custom(bucket);
  return custom(
    Object.assign(bucket, {
      put: (name: string, bytes: Uint8Array) => bucket.write(name, bytes),
      delete: (name: string) => bucket.remove(name),
      create: (name: string) => bucket.upload(name),
    }),
  );
}

class Bucket implements StorageObject {
  readonly label: string;
  readonly profile: { inFlight: number };
  private readonly base: string;

  constructor(private readonly options: S3Options) {
    this.base = String(new URL(options.bucket)).replace(/\/*$/, "/");
    this.label = `s3:${this.base}${this.prefix}`;
    this.profile = { inFlight: options.inFlight ?? 6 };
  }

  async read(name: string, offset: number, length: number, signal?: AbortSignal): Promise<ArrayBuffer> {
    const range = `bytes=${offset}-${offset + length - 1}`;
    const response = await this.ask("GET", this.url(name), { headers: { range }, signal });
    if (response.status !== 206) {
      await response.body?.cancel();
      throw new SearchError("range_unsupported", `${this.label}: ${response.status} instead of 206 for a range of ${name}`);
    }
    return response.arrayBuffer();
  }

  async get(name: string, signal?: AbortSignal): Promise<ArrayBuffer | undefined> {
    const response = await this.ask("GET", this.url(name), { signal, absent: true });
    return response.status === 404 ? undefined : response.arrayBuffer();
  }

  async size(name: string): Promise<number | undefined> {
    const response = await this.ask("HEAD", this.url(name), { absent: true });
    if (response.status === 404) return undefined;
    const length = response.headers.get("content-length");
    if (length === null) throw new SearchError("io", `${this.label}: no Content-Length for ${name}; is the header exposed?`);
    return Number(length);
  }

  async *list(): AsyncGenerator<FileSize, void, undefined> {
    let token: string | undefined;
    do {
      const query = new URLSearchParams({ "list-type": "2", prefix: this.prefix });
      if (token !== undefined) query.set("continuation-token", token);
      const xml = await (await this.ask("GET", `${this.base}?${query}`)).text();
      for (const [, entry] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        yield { name: tag(entry!, "Key")!.slice(this.prefix.length), size: Number(tag(entry!, "Size")) };
      }
      token = tag(xml, "IsTruncated") === "true" ? tag(xml, "NextContinuationToken") : undefined;
    } while (token !== undefined);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await (await this.ask("PUT", this.url(name), { body: bytes })).body?.cancel();
  }

  async remove(name: string): Promise<void> {
    await (await this.ask("DELETE", this.url(name), { absent: true })).body?.cancel();
  }

  upload(name: string): StorageWriter {
    const url = this.url(name);
    let id: string | undefined;
    return partsOf({
      partBytes: UPLOAD_PART_BYTES,
      whole: (bytes) => this.write(name, bytes),
      part: async (number, bytes) => {
        id ??= tag(await (await this.ask("POST", `${url}?uploads`)).text(), "UploadId");
        if (id === undefined) throw new SearchError("io", `${this.label}: no upload id for ${name}`);
        const response = await this.ask("PUT", `${url}?partNumber=${number}&uploadId=${encodeURIComponent(id)}`, { body: bytes });
        await response.body?.cancel();
        return { number, etag: response.headers.get("etag") ?? "" };
      },
      complete: async (parts) => {
        const listed = parts.map(({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`);
        const body = new TextEncoder().encode(`<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`);
        const text = await (await this.ask("POST", `${url}?uploadId=${encodeURIComponent(id!)}`, { body })).text();
        // This answer says 200 before the work is done.
        if (text.includes("<Error>")) throw new SearchError("io", `${this.label}: ${name}: ${tag(text, "Message") ?? text}`);
      },
      abort: async () => {
        if (id === undefined) return;
        await (await this.ask("DELETE", `${url}?uploadId=${encodeURIComponent(id)}`, { absent: true })).body?.cancel();
      },
    });
  }

  private get prefix(): string {
    return this.options.prefix ?? "";
  }

  private url(name: string): string {
    return this.base + (this.prefix + name).split("/").map(encodeURIComponent).join("/");
  }

  private async ask(
    method: string,
    url: string,
    { headers, body, signal, absent }: {
      headers?: Record<string, string>;
      body?: Uint8Array;
      signal?: AbortSignal | undefined;
      /** Whether 404 is an answer. */
      absent?: boolean;
    } = {},
  ): Promise<Response> {
    const { sign, fetch: send = fetch, retries = 3 } = this.options;
    const init: RequestInit = { method, cache: "no-store" };
    if (headers !== undefined) init.headers = headers;
    if (body !== undefined) init.body = body as Uint8Array<ArrayBuffer>;
    if (signal !== undefined) init.signal = signal;
    for (let failed = 0; ; failed += 1) {
      let problem: SearchError;
      try {
        const request = makeRequest(url, init);
        const response = await send(sign === undefined ? request : await sign(request));
        if (response.ok || (absent && response.status === 404)) return response;
        await response.body?.cancel();
        problem = new SearchError(codeFor(response.status), `${method} ${url}: ${response.status}`);
        if (response.status !== 429 && response.status < 500) throw problem;
      } catch (thrown) {
        if (thrown instanceof SearchError) throw thrown;
        if (signal?.aborted) throw new SearchError("aborted", "nobody waits for it any more", { cause: signal.reason });
        problem = new SearchError("network", `${method} ${url}: ${String(thrown)}`, { cause: thrown });
      }
      if (failed >= retries) throw problem;
      await new Promise<void>((resolve) => setTimeout(resolve, RETRY_MILLIS * 2 ** failed * (0.5 + Math.random() / 2)));
    }
  }
}

/** Cloudflare Workers refuse the cache mode that browsers need. */
function makeRequest(url: string, init: RequestInit): Request {
  try {
    return new Request(url, init);
  } catch {
    const { cache: _, ...rest } = init;
    return new Request(url, rest);
  }
}

function codeFor(status: number): SearchErrorCode {
  if (status === 404) return "not_found";
  if (status === 416) return "index_changed";
  return status === 429 || status >= 500 ? "network" : "io";
}

/** Text of the first element called `name`, with the five entities of XML resolved. */
function tag(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>(.*?)</${name}>`, "s").exec(xml)?.[1];
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text?.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity]!);
}
