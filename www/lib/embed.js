// Vectors for queries of your own: all-MiniLM-L6-v2 in this page through transformers.js. Opt-in, since it loads a model from
// other hosts; where that fails within the time limit, the caller is told and text alone answers.

const LIBRARY = "https://cdn.jsdelivr.net/npm/@huggingface/transformers@4.3.2";
const MODEL = "onnx-community/all-MiniLM-L6-v2-ONNX";
const LIMIT_MILLIS = 45_000;

let pipeline;

function limited(promise, what) {
  return Promise.race([promise, new Promise((_, fail) => {
    setTimeout(() => fail(new Error(`${what} did not arrive in ${LIMIT_MILLIS / 1000} seconds`)), LIMIT_MILLIS);
  })]);
}

/** Loads library and model once; a failed load can be tried again. */
export function loadModel() {
  pipeline ??= (async () => {
    const { pipeline: make } = await limited(import(LIBRARY), "the library");
    return limited(make("feature-extraction", MODEL, { dtype: "q8" }), "the model");
  })().catch((error) => { pipeline = undefined; throw error; });
  return pipeline;
}

/** The vector of `text`, unit length, 384 components. */
export async function embed(text) {
  const run = await loadModel();
  const output = await run(text, { pooling: "mean", normalize: true });
  return Float32Array.from(output.data);
}
