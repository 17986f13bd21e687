// The types of the packed package, in a strict project, as Node.js and as bundlers resolve them.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { execute, here, project, root } from "./lib/package.mjs";

for (const [module, moduleResolution] of [["nodenext", "nodenext"], ["esnext", "bundler"]]) {
  test(`compiles strictly with moduleResolution ${moduleResolution}`, async () => {
    const folder = await project("types");
    copyFileSync(join(here, "use.ts"), join(folder, "use.ts"));
    const flags = [
      "--strict", "--noEmit", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck", "false",
      "--target", "es2022", "--lib", "es2023,dom,dom.iterable,dom.asynciterable", "--types", "",
      "--module", module, "--moduleResolution", moduleResolution,
    ];
    await execute(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...flags, "use.ts"], { cwd: folder });
  });
}
