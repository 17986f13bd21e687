// One engine with one index, asked over and over: the same in a process of Node.js and in a worker of a page.
import { engines } from "./engines.mjs";

const K = 10;

/** Memories of wasm modules that are started from here on. */
function watchMemories() {
  const memories = new Set();
  const see = (instance) => {
    for (const value of Object.values(instance.exports)) if (value instanceof WebAssembly.Memory) memories.add(value);
    return instance;
  };
  const { Instance, instantiate, instantiateStreaming } = WebAssembly;
  const seen = async (started) => {
    const result = await started;
    see(result.instance ?? result);
    return result;
  };
  WebAssembly.Instance = new Proxy(Instance, { construct: (target, args) => see(Reflect.construct(target, args)) });
  WebAssembly.instantiate = (...args) => seen(instantiate(...args));
  if (instantiateStreaming) WebAssembly.instantiateStreaming = (...args) => seen(instantiateStreaming(...args));
  return () => [...memories].reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
}

/** `env`: see engines.mjs; also `load(name)`, a file of the set, `resident()`, bytes of this process or null, `gc()`. */
export function makeRunner(name, set, env) {
  const wasmBytes = watchMemories();
  let engine, queries;

  const ops = {
    async build() {
      const values = new Float32Array(await env.load("queries.f32"));
      let base = new Float32Array(await env.load("base.f32"));
      base = base.subarray(0, set.count * set.dims);
      env.gc();
      const before = env.resident() - base.buffer.byteLength;
      engine = await engines[name].start(env);
      queries = Array.from({ length: set.numQueries }, (_, query) => engine.queryOf(values.slice(query * set.dims, (query + 1) * set.dims)));
      const started = performance.now();
      await engine.build(base, set);
      const seconds = (performance.now() - started) / 1000;
      base = undefined;
      env.gc();
      return { seconds, memoryBytes: env.resident() - before, wasmBytes: wasmBytes(), fileBytes: engine.fileBytes(), borderSeconds: engine.border?.(queries[0]) ?? 0, before };
    },

    /** What every query finds. */
    async answer({ point }) {
      const search = engine.at(point);
      const [ids, sums] = [[], {}];
      for (const query of queries) {
        const found = Array.from(await search(query), Number).slice(0, K);
        while (found.length < K) found.push(-1);
        ids.push(...found);
        for (const [what, value] of Object.entries(engine.lastStats?.() ?? {})) sums[what] = (sums[what] ?? 0) + value / queries.length;
      }
      return { ids, stats: sums };
    },

    /**
     * Seconds for the first `count` queries, one after another, and those of them that crossing into native code takes: measured
     * just before, as the machine is then.
     */
    async time({ point, count }) {
      const search = engine.at(point);
      const asked = queries.slice(0, count);
      const borderSeconds = (engine.border?.(queries[0]) ?? 0) * count;
      const started = performance.now();
      for (const query of asked) await search(query);
      return { seconds: (performance.now() - started) / 1000, borderSeconds };
    },

    /** Bytes of this process now, over those before `build`. */
    memory({ before }) {
      env.gc();
      return { memoryBytes: env.resident() - before, wasmBytes: wasmBytes() };
    },
  };
  return async ({ op, ...args }) => ops[op](args);
}
