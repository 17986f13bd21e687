// An engine in a worker of a page: the first message names it, its set and where the set's files are.
import { makeRunner } from "./runner.mjs";

let run;
const load = async (url) => (await fetch(url)).arrayBuffer();

onmessage = async ({ data }) => {
  try {
    if (data.engine !== undefined) {
      run = makeRunner(data.engine, data.set, {
        isNode: false,
        load: (file) => load(`${data.files}${file}`),
        bytesOf: (url) => load(new URL(url, import.meta.url)),
        resident: () => NaN,
        gc: () => {},
      });
      return postMessage({ answer: {} });
    }
    postMessage({ answer: await run(data) });
  } catch (error) {
    postMessage({ error: String(error?.stack ?? error) });
  }
};
