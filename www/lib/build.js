// Documents to a finished index in this browser, with live progress. Every commit becomes a segment of its own, so that the
// page has something to show and to merge.
import { CORPUS, loadCorpus } from "./corpus.js";
import { $, h } from "./dom.js";
import { createLocal, register } from "./engine.js";
import { readDocs, schemaFor } from "./files.js";
import { bytes, count, millis } from "./format.js";
import { drawStrip } from "./inspector.js";

const BATCH_DOCS = 256;
const CORPUS_SEGMENTS = 5;
const FILE_COMMIT_DOCS = 5000;
/** Documents looked at for a schema. */
const SAMPLE_DOCS = 1000;

/** Draws the state of a build. */
function progressView(label) {
  const start = performance.now();
  $("build-count").textContent = "0";
  $("build-of").textContent = "documents";
  $("build-bar").removeAttribute("value");
  $("build-strip").replaceChildren();
  return {
    phase(text) { $("build-phase").textContent = `${label}: ${text}`; },
    draw({ docs, ofDocs, share, read, index }) {
      $("build-count").textContent = count(docs);
      $("build-of").textContent = ofDocs ? `of ${count(ofDocs)} documents` : "documents";
      $("build-bar").value = share;
      const seconds = (performance.now() - start) / 1000;
      const facts = [["Read", bytes(read)], ["Time", millis(seconds * 1000)], ["Rate", docs ? `${count(docs / seconds)}/s` : "–"]];
      if (index) facts.push(["On disk", bytes(index.bytes)], ["Segments", count(index.segments.length)]);
      $("build-facts").replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
      if (index) drawStrip($("build-strip"), index.segments);
    },
  };
}

/** Builds the bundled corpus. Resolves to the name under which the index can be opened. */
export async function buildCorpus({ signal }) {
  const view = progressView(CORPUS.label);
  let read = 0;
  view.phase("fetching documents and vectors");
  view.draw({ docs: 0, ofDocs: CORPUS.docs, share: 0, read });
  const corpus = await loadCorpus({
    signal, onBytes(done) { read = done; view.draw({ docs: 0, ofDocs: CORPUS.docs, share: Math.min(0.2, (done / CORPUS.bytes) * 0.2), read }); },
  });
  const total = corpus.lines.length;
  const perSegment = Math.ceil(total / CORPUS_SEGMENTS);
  const index = await createLocal(CORPUS.name, corpus.schema);
  try {
    let info;
    for (let at = 0; at < total;) {
      signal.throwIfAborted();
      const until = Math.min(at + BATCH_DOCS, Math.ceil((at + 1) / perSegment) * perSegment, total);
      const rows = corpus.lines.slice(at, until).map((line) => JSON.parse(line));
      view.phase("indexing");
      await index.add({
        ids: rows.map((row) => row.id), docs: rows.map(({ id, ...fields }) => fields),
        vectors: { [CORPUS.vectorField]: { data: corpus.vectors.slice(at, until), dims: corpus.vectors.dims } },
      });
      at = until;
      if (at % perSegment === 0 || at === total) {
        view.phase("committing");
        await index.commit();
        info = await index.info();
      }
      view.draw({ docs: at, ofDocs: total, share: 0.2 + 0.8 * (at / total), read, index: info });
    }
    register(CORPUS.name, { label: CORPUS.label, docs: total, corpus: true });
    return CORPUS.name;
  } finally {
    await index.close();
  }
}

/** Builds an index of a dropped file under a schema made from its first documents. Resolves to the name and what was refused. */
export async function buildFile(file, { signal }) {
  const view = progressView(file.name);
  const name = `file-${file.name.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60)}`;
  let read = 0;
  let docs = 0;
  let info;
  const refused = [];
  view.phase("reading");
  const source = readDocs(file, { onBytes(done) { read = done; } });
  const sample = [];
  while (sample.length < SAMPLE_DOCS) {
    const next = await source.next();
    if (next.done) break;
    sample.push(next.value);
  }
  if (sample.length === 0) throw new Error("there are no documents in this file");
  const index = await createLocal(name, schemaFor(sample));
  try {
    let batch = [];
    let sinceCommit = 0;
    const flush = async () => {
      const report = await index.add(batch);
      refused.push(...(report.refused ?? []));
      docs += batch.length;
      sinceCommit += batch.length;
      batch = [];
      if (sinceCommit >= FILE_COMMIT_DOCS) await commit();
      view.draw({ docs, share: Math.min(1, read / file.size), read, index: info });
    };
    const commit = async () => {
      view.phase("committing");
      await index.commit();
      sinceCommit = 0;
      info = await index.info();
      view.phase("indexing");
    };
    view.phase("indexing");
    const take = async (doc) => {
      signal.throwIfAborted();
      batch.push(doc);
      if (batch.length === BATCH_DOCS) await flush();
    };
    for (const doc of sample) await take(doc);
    for await (const doc of source) await take(doc);
    if (batch.length > 0) await flush();
    await commit();
    if (info.numDocs === 0) {
      throw new Error(`no document fits: ${refused[0]?.reason ?? "the file is empty"}`);
    }
    view.draw({ docs, share: 1, read, index: info });
    register(name, { label: file.name, docs: info.numDocs });
    return { name, refused };
  } finally {
    await index.close();
  }
}
