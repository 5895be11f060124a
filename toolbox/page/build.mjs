// Builds the files that toolbox/src/page embeds: one script, one style sheet, one document, each gzipped.
// The same sources give the same bytes: no date and no name of a file enters the output.
//
// node build.mjs           writes ../src/page/assets
// node build.mjs --check   compares instead, and exits with 1 where a file differs
import { gzipSync, gunzipSync } from "node:zlib";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const target = join(root, "..", "src", "page", "assets");
const limit = 150 * 1024;

const bundled = await build({
  absWorkingDir: root,
  entryPoints: { page: "src/main.tsx", app: "src/apps/proxy.ts" },
  bundle: true,
  minify: true,
  write: false,
  outdir: "out",
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});

const files = new Map(bundled.outputFiles.map((file) => [file.path.split("/").pop(), Buffer.from(file.contents)]));
files.set("index.html", readFileSync(join(root, "src", "index.html")));

let total = 0;
let differs = false;
mkdirSync(target, { recursive: true });
for (const [name, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const packed = gzipSync(content, { level: 9 });
  // Byte 9 of a gzip header names the operating system that wrote it.
  packed[9] = 255;
  total += packed.length;
  const path = join(target, `${name}.gz`);
  if (process.argv.includes("--check")) {
    // The content counts: releases of zlib compress alike, and not always to the same bytes.
    let same = false;
    try {
      same = gunzipSync(readFileSync(path)).equals(content);
    } catch {
      same = false;
    }
    if (!same) {
      console.error(`${name}.gz is not what toolbox/page/src gives: run node build.mjs`);
      differs = true;
    }
  } else {
    writeFileSync(path, packed);
  }
  console.log(`${name}: ${content.length} bytes, ${packed.length} compressed`);
}
console.log(`all: ${total} bytes compressed, at most ${limit}`);
if (total > limit || differs) {
  process.exit(1);
}
