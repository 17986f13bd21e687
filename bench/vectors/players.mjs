// Engines as the suite holds them: `ask({ op, … })` and `end()`, whatever they run in.
import { fork, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { launchChromium } from "../../scripts/lib/browsers.mjs";
import { serve } from "../../scripts/serve.mjs";

const here = fileURLToPath(new URL("./", import.meta.url));
const root = fileURLToPath(new URL("../../", import.meta.url));

/** What goes to an engine: no vectors. */
const told = ({ name, metric, dims, count, numQueries, folder, index }) => ({ name, metric, dims, count, numQueries, folder, index });

/** An engine in a process of Node.js. */
export async function inNode(engine, set) {
  const path = join(set.folder, `${engine}.json`);
  writeFileSync(path, JSON.stringify(told(set)));
  const child = fork(join(here, "node.mjs"), [engine, path], { execArgv: ["--expose-gc", "--max-old-space-size=8192"] });
  const next = () => new Promise((done, fail) => {
    const gone = (code, signal) => fail(new Error(`${engine} ended: ${signal ?? code}`));
    child.once("exit", gone);
    child.once("message", ({ answer, error }) => {
      child.off("exit", gone);
      if (error === undefined) done(answer);
      else fail(new Error(error));
    });
  });
  await next();
  return {
    ask(args) {
      const answered = next();
      child.send(args);
      return answered;
    },
    // It ends by itself then, and takes its files with it.
    end: () => child.connected && child.disconnect(),
  };
}

/** Our engine in native code: a process that reads and writes lines. `field` holds options of the vector field. */
export function native(program, set, field = {}) {
  const child = spawn(program, ["vectors-engine"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid,
    async ask({ op, ...args }) {
      const more = op === "build" ? { folder: set.folder, dims: set.dims, metric: set.metric, field } : args;
      child.stdin.write(`${JSON.stringify({ op, ...more })}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error("the native engine ended");
      return JSON.parse(value);
    },
    end: () => child.stdin.end(),
  };
}

/** A browser, and engines in workers of its pages. `work` is the folder that holds the sets. */
export async function chromium(work) {
  const { url, server } = await serve({ mounts: { "/": root, "/work/": work } });
  const browser = await launchChromium();
  return {
    async start(engine, set) {
      const page = await (await browser.newContext()).newPage();
      page.setDefaultTimeout(0);
      await page.goto(`${url}bench/vectors/page.html`);
      const ask = (message) => page.evaluate((message) => globalThis.ask(message), message);
      await ask({ engine, set: told(set), files: `${url}work/${relative(work, set.folder)}/` });
      return { ask, end: () => page.context().close() };
    },
    async close() {
      await browser.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
