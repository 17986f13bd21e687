// Search engines of JavaScript and wasm behind one face: `index(texts)` makes the index, `search(words, all)` gives the
// ten best of any or all words.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

async function minisearch() {
  const { default: MiniSearch } = await import("minisearch");
  const index = new MiniSearch({ fields: ["body"] });
  return {
    index: (texts) => index.addAll(texts.map((body, id) => ({ id, body }))),
    search: (words, all) => index.search(words.join(" "), { combineWith: all ? "AND" : "OR" }).slice(0, 10),
  };
}

async function flexsearch() {
  const { Index } = require("flexsearch");
  const index = new Index({ tokenize: "strict" });
  return {
    index: (texts) => texts.forEach((body, id) => index.add(id, body)),
    // It means all words; `suggest` takes documents that lack some.
    search: (words, all) => index.search(words.join(" "), { limit: 10, suggest: !all }),
  };
}

async function orama() {
  const { create, insertMultiple, search } = await import("@orama/orama");
  const db = create({ schema: { body: "string" } });
  return {
    index: (texts) => insertMultiple(db, texts.map((body, id) => ({ id: String(id), body })), 5000),
    search: (words, all) => search(db, { term: words.join(" "), limit: 10, threshold: all ? 0 : 1, exact: false }),
  };
}

async function sqlite() {
  const { default: init } = await import("@sqlite.org/sqlite-wasm");
  const { oo1 } = await init({ print: () => {}, printErr: () => {} });
  const db = new oo1.DB(":memory:");
  db.exec("CREATE VIRTUAL TABLE docs USING fts5(body, content='', tokenize='unicode61')");
  return {
    index(texts) {
      db.exec("BEGIN");
      const insert = db.prepare("INSERT INTO docs(rowid, body) VALUES (?, ?)");
      texts.forEach((body, id) => insert.bind([id + 1, body]).stepReset());
      insert.finalize();
      db.exec("COMMIT; INSERT INTO docs(docs) VALUES ('optimize')");
    },
    search(words, all) {
      const match = words.map((word) => `"${word}"`).join(all ? " AND " : " OR ");
      return db.selectArrays("SELECT rowid, rank FROM docs WHERE docs MATCH ? ORDER BY rank LIMIT 10", [match]);
    },
  };
}

/** Engines by name. */
export const engines = { minisearch, flexsearch, orama, sqlite };
