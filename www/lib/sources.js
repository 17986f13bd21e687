// Where an index can come from: this browser, the bundled corpus, a file, a URL. The same list is the start page and the dialog.
import { CORPUS } from "./corpus.js";
import { h } from "./dom.js";
import { localIndexes } from "./engine.js";
import { bytes, count, plural } from "./format.js";

/** The list of choices; `on` has `{ open, remove, corpus, file, url }`, `current` is the name that is open. */
export function sourcesView(on, current) {
  const found = localIndexes();
  const built = found.some((entry) => entry.name === CORPUS.name);
  const picker = h("input", { type: "file", hidden: true, accept: ".jsonl,.ndjson,.json,.csv,.tsv,.gz", "aria-label": "File to index",
    onchange() { if (picker.files[0]) on.file(picker.files[0]); } });
  const served = new URL("index/", document.baseURI).href;
  const address = h("input", { class: "field", type: "url", name: "url", required: true, placeholder: "https://example.org/index/", "aria-label": "Address of the index", autocomplete: "url", spellcheck: false });
  // A server that has the corpus as a finished index, as `npm start` does, is offered at once.
  fetch(`${served}commit-a.rf`, { method: "HEAD" }).then((response) => { if (response.ok && address.value === "") address.value = served; }).catch(() => {});
  const choice = (name, text, ...act) => h("section", { class: "choice" }, h("h3", {}, name), h("div", { class: "act" }, act), h("p", {}, text));

  return h("div", { class: "sources" },
    found.map((entry) => choice(entry.label, `${plural(entry.docs, "document")}, built here ${new Date(entry.builtAt).toLocaleDateString("en", { day: "numeric", month: "long" })}`,
      h("button", { class: "quiet", type: "button", "aria-label": `Remove ${entry.label}`, onclick: () => on.remove(entry) }, "Remove"),
      entry.name === current ? h("button", { class: "quiet framed", type: "button", disabled: true }, "Open now")
        : h("button", { class: "primary", type: "button", "data-open": entry.name, "aria-label": `Open ${entry.label}`, onclick: () => on.open(entry.name) }, "Open"))),
    !built && choice(CORPUS.label, `${count(CORPUS.docs)} packages with facets, sizes and sentence vectors. Fetches ${bytes(CORPUS.bytes)}, then builds the index in this tab.`,
      h("button", { id: "build-corpus", class: "primary", type: "button", onclick: on.corpus }, "Build the index")),
    choice("Your own documents", "JSON Lines or CSV, dropped anywhere on this page. They stay in this browser.",
      h("button", { class: "quiet framed", type: "button", onclick: () => picker.click() }, "Choose a file"), picker),
    h("section", { class: "choice whole" }, h("h3", {}, "An index by URL"),
      h("p", {}, "Opened in place over byte ranges: a few hundred kilobytes instead of a download."),
      h("form", { onsubmit(event) { event.preventDefault(); on.url(address.value.trim()); } }, address,
        h("button", { class: "quiet framed", type: "submit" }, "Open"))));
}
