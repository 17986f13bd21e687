// The packed package in Deno: in this thread, on files, memory and HTTP, with WebGPU on a software adapter.
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { execute, here, project, report, root, temporaryFolder } from "./lib/package.mjs";
import { hasCrash } from "./lib/pages.mjs";
import { remoteIndex } from "./lib/remote.mjs";

const MAIN = `
import * as rangefind from "rangefind";
import { runScenario } from "./scenario.mjs";
const { remote, folder, crash } = JSON.parse(Deno.readTextFileSync("options.json"));
let next = 0;
const place = (name) => rangefind.files(folder + "/" + name);
const files = await runScenario(rangefind, { storage: () => place("t" + next++), persistent: place, http: remote, gpu: "required", crash });
const memory = await runScenario(rangefind, { storage: () => rangefind.memory(), gpu: "required", crash });
const tag = (kind, results) => results.map((result) => ({ ...result, name: kind + ": " + result.name }));
Deno.writeTextFileSync("results.json", JSON.stringify([...tag("files", files), ...tag("memory", memory)]));
Deno.exit(0);
`;

test("the scenario in Deno", { timeout: 420_000 }, async (t) => {
  const folder = await project("deno", { "main.mjs": MAIN });
  copyFileSync(join(here, "scenario.mjs"), join(folder, "scenario.mjs"));
  const options = { remote: await remoteIndex(), folder: temporaryFolder("files"), crash: hasCrash };
  writeFileSync(join(folder, "options.json"), JSON.stringify(options));
  const deno = join(root, "node_modules/deno/bin.cjs");
  const env = { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" };
  await execute(process.execPath, [deno, "run", "--no-lock", "--allow-all", "--node-modules-dir=manual", "main.mjs"], { cwd: folder, env, timeout: 400_000 });
  const { readFileSync } = await import("node:fs");
  await report(t, JSON.parse(readFileSync(join(folder, "results.json"), "utf8")));
});
