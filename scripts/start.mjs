// `npm start [-- --once] [-- --port N]`: builds what is not built yet, indexes the bundled corpus with the package,
// shows real results, and serves the demo page with range requests. `--once` ends after the results.
import { existsSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, isStale } from "./build.mjs";
import { hasFlag, root } from "./lib/tools.mjs";

const DEFAULT_PORT = 8080;
const indexDir = fileURLToPath(new URL("target/demo-index", root));
const packageFile = new URL("dist/node.js", root);

/** Whether the index was built by this package. */
function indexIsFresh() {
  const slots = ["commit-a.rf", "commit-b.rf"].map((name) => `${indexDir}/${name}`).filter((path) => existsSync(path));
  return slots.some((path) => statSync(path).mtimeMs > statSync(packageFile).mtimeMs);
}

/** One search, printed. */
async function show(index, title, request) {
  const { hits, total, took } = await index.search({ ...request, limit: 3 });
  console.log(`\n${title}  —  ${total} found in ${took.toFixed(1)} ms`);
  for (const { id, score, doc } of hits) {
    console.log(`  ${score.toFixed(3).padStart(8)}  ${doc.title ?? id}`);
  }
}

async function main() {
  const started = Date.now();
  if (isStale()) {
    console.log("Building the package: one to three minutes on a fresh machine.");
    await build();
  }
  const { files, open } = await import(packageFile);
  const { buildDemoIndex } = await import("./demo-index.mjs");
  if (!indexIsFresh()) {
    const { numDocs, bytes, took } = await buildDemoIndex(indexDir);
    console.log(`Indexed ${numDocs} documents with vectors: ${(bytes / 2 ** 20).toFixed(1)} MiB in ${(took / 1000).toFixed(1)} s.`);
  }

  const index = await open({ storage: files(indexDir), mode: "readOnly" });
  const [{ text, vector }] = JSON.parse(readFileSync(new URL("www/corpus/queries.json", root), "utf8"));
  await show(index, 'Text: "video editor" -audio', { query: '"video editor" -audio', syntax: "lucene" });
  await show(index, `Text: ${text}`, { query: text });
  await show(index, `Meaning: ${text}`, { vector: { field: "embedding", value: vector, k: 50 } });
  await show(index, `Both: ${text}`, { query: text, vector: { field: "embedding", value: vector, k: 50 }, fuse: "rrf" });
  await index.close();
  console.log(`\nReady after ${((Date.now() - started) / 1000).toFixed(1)} s.`);
  if (hasFlag("--once")) return;

  const { demoMounts, serve } = await import("./serve.mjs");
  const at = process.argv.indexOf("--port");
  const wanted = at < 0 ? DEFAULT_PORT : Number(process.argv[at + 1]);
  const mounts = { ...demoMounts(), "/index/": indexDir };
  const site = await serve({ mounts, port: wanted }).catch(() => serve({ mounts, port: 0 }));
  console.log(`The demo page: ${site.url}   its index by URL: ${site.url}index/   (Ctrl+C ends it)`);
}

await main();
