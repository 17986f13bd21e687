// An index behind a server, and what it must answer: built by the package itself in this Node.js.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "../../../scripts/serve.mjs";
import { root, temporaryFolder } from "./package.mjs";
import { SCHEMA, answers, documents } from "./scenario.mjs";

/** The built package, in this process. */
export const rangefind = await import(pathToFileURL(join(root, "dist/node.js")).href);

/** Builds the index of documents 0 to 200 in a folder. */
export async function builtIndex(numDocs = 200) {
  const folder = temporaryFolder("index");
  await rangefind.build(documents(0, numDocs), { storage: rangefind.files(folder), schema: SCHEMA });
  return folder;
}

/** Serves that index from a port of its own, which is another origin for every page. */
export async function remoteIndex() {
  const folder = await builtIndex();
  const { url, server } = await serve({ mounts: { "/index/": folder } });
  server.unref();
  const index = await rangefind.open({ storage: rangefind.files(folder), mode: "readOnly" });
  const expected = await answers(index);
  await index.close();
  return { url: `${url}index/`, answers: expected, folder };
}
