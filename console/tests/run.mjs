// Bundles the tests of the modules that need no browser, and runs them in node.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const names = (await readdir(here)).filter((name) => name.endsWith(".test.ts"));
const folder = await mkdtemp(join(tmpdir(), "headrace-console-"));
await build({
  entryPoints: names.map((name) => join(here, name)),
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  logLevel: "warning",
});
const { status } = spawnSync(process.execPath, ["--test", ...names.map((name) => join(folder, name.replace(/ts$/, "mjs")))], { stdio: "inherit" });
await rm(folder, { recursive: true });
process.exit(status ?? 1);
