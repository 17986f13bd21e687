// A small static file server with byte ranges and CORS: for the demo, the tests and trying a remote index.
//
//   node scripts/serve.mjs [--port 8080] [--host 127.0.0.1] [/prefix/=folder …]
//
// Without folders it serves www/ at /, dist/ at /dist/ and, where it was built, the corpus as an index at /index/. The longest matching prefix wins. Use `serve` from code.
import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8", ".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml",
  ".csv": "text/csv; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".map": "application/json", ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};

/** Folders of this repository that make the demo page: `{ "/": www, "/dist/": dist, "/index/": target/demo-index }`. */
export function demoMounts() {
  const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
  return { "/": at("www"), "/dist/": at("dist"), "/index/": at("target/demo-index") };
}

/**
 * Reads a `Range` header: `undefined` to answer whole (absent, malformed or several ranges), `null` if it cannot be
 * satisfied, else the first and last byte.
 */
export function parseRange(header, len) {
  const found = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (!found || (found[1] === "" && found[2] === "")) return undefined;
  if (found[1] === "") {
    const suffix = Math.min(Number(found[2]), len);
    return suffix === 0 ? null : [len - suffix, len - 1];
  }
  const first = Number(found[1]);
  const last = found[2] === "" ? len - 1 : Math.min(Number(found[2]), len - 1);
  if (found[2] !== "" && Number(found[2]) < first) return undefined;
  return first >= len ? null : [first, last];
}

/** Where `path` lies under the longest matching mount, or `undefined` if it leaves its folder or no mount matches. */
async function locate(mounts, path) {
  const prefix = Object.keys(mounts).filter((mount) => path.startsWith(mount)).sort((a, b) => b.length - a.length)[0];
  if (prefix === undefined) return undefined;
  const root = resolve(mounts[prefix]);
  let file = resolve(join(root, path.slice(prefix.length)));
  try {
    if ((await stat(file)).isDirectory()) {
      if (!path.endsWith("/")) return { redirect: `${path}/` };
      file = join(file, "index.html");
    }
    const [real, base] = await Promise.all([realpath(file), realpath(root)]);
    const info = await stat(real);
    return info.isFile() && real.startsWith(base + sep) ? { file: real, info } : undefined;
  } catch {
    return undefined;
  }
}

async function answer(mounts, request, response) {
  response.setHeader("Access-Control-Allow-Origin", "*");
  response.setHeader("Access-Control-Expose-Headers", "Accept-Ranges, Content-Length, Content-Range, ETag");
  response.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
  if (request.method === "OPTIONS") {
    response.setHeader("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS");
    response.setHeader("Access-Control-Allow-Headers", "Range, If-Range, If-None-Match");
    response.setHeader("Access-Control-Max-Age", "86400");
    return response.writeHead(204).end();
  }
  if (request.method !== "GET" && request.method !== "HEAD") return response.writeHead(405, { Allow: "GET, HEAD, OPTIONS" }).end();
  let path;
  try {
    path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
  } catch {
    return response.writeHead(400).end("bad path\n");
  }
  const found = path.includes("\0") ? undefined : await locate(mounts, path);
  if (!found) return response.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" }).end("not found\n");
  if (found.redirect) return response.writeHead(308, { Location: encodeURI(found.redirect) }).end();

  const { file, info } = found;
  const etag = `"${info.size.toString(16)}-${Math.trunc(info.mtimeMs * 1000).toString(16)}"`;
  const headers = {
    "Content-Type": TYPES[extname(file)] ?? "application/octet-stream", "Accept-Ranges": "bytes", ETag: etag,
    "Cache-Control": "no-cache, no-transform",
  };
  const known = request.headers["if-none-match"]?.split(",").map((tag) => tag.trim());
  if (known?.some((tag) => tag === etag || tag === "*")) return response.writeHead(304, headers).end();
  const ifRange = request.headers["if-range"];
  const range = ifRange !== undefined && ifRange !== etag ? undefined : parseRange(request.headers.range, info.size);
  if (range === null) return response.writeHead(416, { ...headers, "Content-Range": `bytes */${info.size}` }).end();
  const [first, last] = range ?? [0, info.size - 1];
  response.writeHead(range ? 206 : 200, {
    ...headers, "Content-Length": last - first + 1,
    ...(range ? { "Content-Range": `bytes ${first}-${last}/${info.size}` } : {}),
  });
  if (request.method === "HEAD" || info.size === 0) return response.end();
  const stream = createReadStream(file, { start: first, end: last });
  stream.on("error", () => response.destroy());
  response.on("close", () => stream.destroy());
  stream.pipe(response);
}

/**
 * Serves folders and returns `{ url, port, server, close }` once it listens; port 0 takes a free one.
 * `onRequest(request)` sees every request first.
 */
export async function serve({ mounts = demoMounts(), port = 0, host = "127.0.0.1", onRequest } = {}) {
  const server = createServer((request, response) => {
    onRequest?.(request);
    answer(mounts, request, response).catch(() => response.headersSent ? response.destroy() : response.writeHead(500).end());
  });
  await new Promise((done, fail) => server.once("error", fail).listen(port, host, done));
  const actual = server.address().port;
  return {
    url: `http://${host === "0.0.0.0" || host === "::" ? "localhost" : host}:${actual}/`, port: actual, server,
    close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const options = { mounts: {} };
  const rest = process.argv.slice(2);
  while (rest.length > 0) {
    const word = rest.shift();
    if (word === "--port") options.port = Number(rest.shift());
    else if (word === "--host") options.host = rest.shift();
    else if (word.includes("=")) options.mounts[word.slice(0, word.indexOf("="))] = word.slice(word.indexOf("=") + 1);
    else { console.error(`unknown argument ${word}`); process.exit(2); }
  }
  if (Object.keys(options.mounts).length === 0) options.mounts = demoMounts();
  console.log((await serve({ port: 8080, ...options })).url);
}
