// Tests the forms in Chromium: `node tests/forms/run.mjs CORPUS.jsonl [filter]`, from toolbox/page.
//
// CORPUS.jsonl is what the program form-corpus of the Rust tests prints. CHROMIUM names the browser, if it is not
// /usr/bin/chromium. Prints counts, and exits with 1 where something differs.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { cases } from "./cases.mjs";
import { typed } from "./typed.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const [corpus, filter = ""] = process.argv.slice(2);
const begun = Date.now();

async function bundle(entry) {
  const { outputFiles } = await build({
    absWorkingDir: root, entryPoints: { out: entry }, bundle: true, minify: true, write: false, outdir: "out", format: "esm",
    target: ["es2022"], jsx: "automatic", jsxImportSource: "preact", logLevel: "warning",
  });
  return Object.fromEntries(outputFiles.map((file) => [file.path.split(".").pop(), file.text]));
}

const page = await bundle("tests/forms/harness.tsx");
const axe = readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8");
const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>forms</title><link rel="stylesheet" href="/page.css">
<link rel="icon" href="data:,"><script type="module" src="/page.js"></script><main><h1>forms</h1><form id="form"></form></main></html>`;
const files = {
  "/": ["text/html", html],
  "/page.js": ["text/javascript", page.js],
  "/page.css": ["text/css", page.css],
};
const server = createServer((request, response) => {
  const file = files[request.url];
  response.writeHead(file ? 200 : 404, {
    "content-type": file?.[0] ?? "text/plain",
    // The policy of the page, and no more.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
  });
  response.end(file?.[1] ?? "");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const deadline = setTimeout(() => {
  console.error("the forms are not done after 8 minutes");
  process.exit(1);
}, 480_000);

const failures = [];
async function open() {
  const tab = await browser.newPage();
  tab.setDefaultTimeout(10_000);
  tab.on("pageerror", (error) => failures.push(`the page: ${error.stack ?? error}`));
  tab.on("console", (message) => message.type() === "error" && failures.push(`the console: ${message.text()}`));
  await tab.goto(address);
  await tab.waitForFunction(() => window.forms !== undefined);
  return tab;
}

try {
  const tools = readFileSync(corpus, "utf8").trim().split("\n").map((line) => {
    // The numbers of a schema keep their digits as well: it reaches the page as text.
    const tool = JSON.parse(line);
    return { ...tool, schema: JSON.stringify(tool.schema), generated: tool.valid.length, valid: [...new Set(tool.valid)] };
  });
  const chosen = tools.filter((tool) => tool.name.includes(filter));
  const total = { generated: 0, entered: 0, shown: 0, inputs: 0, boxes: 0, escaped: 0, refused: 0, faults: 0, exact: 0, above: 0 };
  const add = (counts) => {
    for (const [name, count] of Object.entries(counts)) total[name] += count;
  };
  const queue = [...chosen];
  const worker = async () => {
    const tab = await open();
    for (let tool = queue.shift(); tool; tool = queue.shift()) {
      total.generated += tool.generated;
      for (const test of ["roundTrips", "refusals"]) {
        const { counts, failures: found } = await tab.evaluate(([test, tool]) => window.forms[test](tool), [test, tool]);
        add(counts);
        failures.push(...found);
      }
    }
    failures.push(...(await tab.evaluate(() => window.violations)).map((one) => `the policy: ${one}`));
    await tab.close();
  };
  await Promise.all([worker(), worker()]);
  const sources = new Map();
  for (const tool of chosen) {
    const source = tool.source === "agreement" ? "of the agreement tests" : "of foreign servers";
    sources.set(source, (sources.get(source) ?? 0) + 1);
  }
  console.log(`${[...sources].map(([source, count]) => `${count} tools ${source}`).join(", ")} (${seconds()})`);
  console.log(`${total.generated} valid arguments, ${total.entered} of them different: entered from the empty form and equal; ${total.shown} shown and equal`);
  console.log(`${total.inputs} inputs used, ${total.boxes} text boxes where any JSON may be, ${total.escaped} for texts with characters that no input keeps`);
  console.log(`${total.refused} refused arguments with ${total.faults} faults: ${total.exact} at their field, ${total.above} at the nearest above`);
  if (filter === "") {
    if (sources.size === 0 || total.entered < 1000 || total.exact < 1000) failures.push("the corpus is too small to show anything");
    const keyed = await typed(await open(), chosen);
    console.log(`${keyed.count} arguments typed with the keyboard (${seconds()})`);
    failures.push(...keyed.failures);
    const done = await cases(open, axe);
    console.log(`${done.count} cases (${seconds()})`);
    failures.push(...done.failures);
    const form = await bundle("src/form/index.tsx");
    const whole = form.js.length + form.css.length;
    console.log(`the form and preact: ${whole} bytes, ${gzipSync(form.js, { level: 9 }).length + gzipSync(form.css, { level: 9 }).length} compressed`);
  }
} catch (error) {
  failures.push(String(error.stack ?? error));
} finally {
  clearTimeout(deadline);
  await browser.close();
  server.close();
}

function seconds() {
  return `${((Date.now() - begun) / 1000).toFixed(0)} s`;
}
for (const failure of failures.slice(0, 40)) console.error(`- ${failure.slice(0, 700)}`);
if (failures.length > 0) {
  console.error(`${failures.length} failures`);
  process.exit(1);
}
