// A folder behind a server that is far away: each answer waits for a round trip, and all share one line.
import { open } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { parseRange } from "../../scripts/serve.mjs";

/** Bytes that go over the line at a time. */
const PIECE = 16 << 10;

/** Serves `folder`; `counts()` are requests and bytes of bodies so far, `url` its address. */
export async function farServer(folder, { roundTripMillis, bytesPerSecond }) {
  let [requests, bytes, free] = [0, 0, 0];

  /** Waits until `length` more bytes have gone over the line, behind all that came before. */
  async function send(length) {
    free = Math.max(free, performance.now()) + (length / bytesPerSecond) * 1000;
    const wait = free - performance.now();
    if (wait > 1) await new Promise((done) => setTimeout(done, wait));
  }

  async function answer(request, response) {
    requests += 1;
    const started = performance.now();
    response.setHeader("Access-Control-Allow-Origin", "*");
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const file = await open(join(folder, path)).catch(() => undefined);
    const read = async () => {
      if (file === undefined) return { status: 404, body: Buffer.alloc(0) };
      const { size } = await file.stat();
      const range = parseRange(request.headers.range, size);
      if (range === null) return { status: 416, body: Buffer.alloc(0), headers: { "Content-Range": `bytes */${size}` } };
      const [first, last] = range ?? [0, size - 1];
      const body = Buffer.alloc(last - first + 1);
      await file.read(body, 0, body.length, first);
      return { status: range ? 206 : 200, body, headers: range ? { "Content-Range": `bytes ${first}-${last}/${size}` } : {} };
    };
    const { status, body, headers = {} } = await read();
    await file?.close();
    await new Promise((done) => setTimeout(done, Math.max(0, roundTripMillis - (performance.now() - started))));
    bytes += body.length;
    response.writeHead(status, { ...headers, "Content-Type": "application/octet-stream", "Accept-Ranges": "bytes", "Content-Length": body.length });
    for (let at = 0; at < body.length; at += PIECE) {
      const piece = body.subarray(at, at + PIECE);
      await send(piece.length);
      response.write(piece);
    }
    response.end();
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise((done, fail) => server.once("error", fail).listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    counts: () => ({ requests, bytes }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
