// Builds the console into the Python package, and writes down what it was built from.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "headrace", "serve", "console");
const text = (path) => relative(here, path).split(sep).join("/");

// CodeMirror writes <style> elements, which the console's Content-Security-Policy refuses. Where a
// shadow root is its home it uses style sheets of its own instead; this lets it do so everywhere.
const adoptedStyles = {
  name: "adopted-styles",
  setup(builder) {
    builder.onLoad({ filter: /style-mod\/src\/style-mod\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const patched = source.replace("!root.head && root.adoptedStyleSheets", "root.adoptedStyleSheets");
      if (patched === source) throw new Error("style-mod has changed: look at it again");
      return { contents: patched, loader: "js" };
    });
  },
};

async function files(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)).sort();
}

async function digests(paths, name) {
  const pairs = paths.map(async (path) => [name(path), createHash("sha256").update(await readFile(path)).digest("hex")]);
  return Object.fromEntries(await Promise.all(pairs));
}

async function licences(inputs) {
  const packages = new Set();
  for (const input of Object.keys(inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
    if (found) packages.add(found[1]);
  }
  const parts = [];
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const licence = (await readdir(folder)).find((file) => /^licen[sc]e/i.test(file));
    const words = licence ? (await readFile(join(folder, licence), "utf8")).trim() : "";
    parts.push(`${name} ${version} (${license})\n\n${words}\n`);
  }
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
const result = await build({
  entryPoints: { app: join(here, "src", "main.ts") },
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  loader: { ".woff2": "file" },
  assetNames: "[name]",
  metafile: true,
  absWorkingDir: here,
  legalComments: "none",
  plugins: [adoptedStyles],
});
await copyFile(join(here, "src", "index.html"), join(target, "index.html"));
await copyFile(join(here, "src", "icon.svg"), join(target, "icon.svg"));
await writeFile(join(target, "licences.txt"), await licences(result.metafile.inputs));

const sources = [...(await files(join(here, "src"))), ...["build.mjs", "package.json", "package-lock.json"].map((name) => join(here, name))];
const manifest = {
  sources: await digests(sources, text),
  built: await digests(await files(target), (path) => relative(target, path)),
};
await writeFile(join(target, "manifest.json"), JSON.stringify(manifest, null, 1) + "\n");
for (const [name, { bytes }] of Object.entries(result.metafile.outputs)) console.log(`${name.split("/").pop()}  ${(bytes / 1024).toFixed(0)} kB`);
