// The wasm module: fetched and compiled once, whoever asks, with a clear word when it is not wasm that came.
import { SearchError } from "./errors.js";

/** Where the wasm module comes from, instead of the place the package knows. Exactly one is given. */
export interface ModuleSource {
  /** A compiled module, as `import module from "rangefind/rangefind.wasm"` gives in Workers. */
  module?: WebAssembly.Module;
  /** The bytes of `rangefind.wasm`. */
  bytes?: BufferSource;
  /** Where `rangefind.wasm` is served. */
  url?: string | URL;
}

/** The module of `source`. */
export async function loadModule(source: ModuleSource): Promise<WebAssembly.Module> {
  if (source.module !== undefined) return source.module;
  if (source.bytes !== undefined) return compile(source.bytes, "the given bytes");
  if (source.url !== undefined) return fetchModule(source.url);
  throw new SearchError("invalid_argument", "init: one of `module`, `bytes`, `url` is needed");
}

/** Downloads and compiles, while downloading where the server names the right type. */
export async function fetchModule(url: string | URL): Promise<WebAssembly.Module> {
  let response: Response;
  try {
    response = await fetch(url);
  } catch (cause) {
    throw new SearchError("network", `${url}: the wasm module could not be fetched`, { cause });
  }
  if (!response.ok) throw new SearchError("network", `${url}: the wasm module answered ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/wasm") && typeof WebAssembly.compileStreaming === "function") {
    return compiled(WebAssembly.compileStreaming(response), String(url));
  }
  return compile(await response.arrayBuffer(), String(url));
}

/** Compiles bytes, after a look at whether they are wasm at all. */
export async function compile(bytes: BufferSource, from: string): Promise<WebAssembly.Module> {
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  if (view[0] !== 0x00 || view[1] !== 0x61 || view[2] !== 0x73 || view[3] !== 0x6d) {
    const isHtml = /^\s*<(!doctype|html|head|!--)/i.test(new TextDecoder().decode(view.subarray(0, 64)));
    const what = isHtml
      ? "an HTML page came instead of the wasm module, as development servers answer for files they do not have. " +
        "With Vite, put `rangefind` into `optimizeDeps.exclude`; elsewhere call `init({ url })` with the address of rangefind.wasm"
      : "these bytes are no wasm module";
    throw new SearchError("invalid_argument", `${from}: ${what}`);
  }
  return compiled(WebAssembly.compile(bytes), from);
}

async function compiled(module: Promise<WebAssembly.Module>, from: string): Promise<WebAssembly.Module> {
  try {
    return await module;
  } catch (cause) {
    const isCsp = String(cause).includes("Content Security Policy");
    const hint = isCsp ? " (the page's Content-Security-Policy needs 'wasm-unsafe-eval' in script-src)" : "";
    throw new SearchError("io", `${from}: the wasm module does not compile here${hint}`, { cause });
  }
}
