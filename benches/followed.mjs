// The page while 10 000 calls pass: how long its frames take, when the last call is drawn, and what it holds.
//
//   cargo build -p toolbox-mcp-examples --example page
//   (cd toolbox/page && npm ci)
//   node benches/followed.mjs
//
// Needs Chromium (CHROMIUM, or /usr/bin/chromium). CALLS and PER_SECOND change the traffic.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../toolbox/page/package.json", import.meta.url))("playwright-core");
const CALLS = Number(process.env.CALLS ?? 10_000);
const PER_SECOND = Number(process.env.PER_SECOND ?? 1_000);
const WAIT = 120_000;

const program = spawn(process.env.PAGE_EXAMPLE ?? "target/debug/examples/page", [], { stdio: ["ignore", "pipe", "inherit"] });
process.on("exit", () => program.kill("SIGKILL"));
const link = await new Promise((resolve, reject) => {
  program.stdout.once("data", (data) => resolve(String(data).trim()));
  program.on("exit", (code) => reject(new Error(`ended with ${code}`)));
});

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--enable-precise-memory-info"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(WAIT);
await page.goto(link);
await page.evaluate(() => (location.hash = "#/live"));
const rows = page.getByRole("listbox", { name: "Calls" }).getByRole("option");
await page.getByRole("searchbox").waitFor();

// Collected garbage is not held.
const devtools = await page.context().newCDPSession(page);
async function heap() {
  await devtools.send("HeapProfiler.collectGarbage");
  return (await page.evaluate(() => performance.memory.usedJSHeapSize)) / 1e6;
}

const before = await heap();
await page.evaluate(() => {
  window.frames_ = [];
  let last = performance.now();
  (function frame(now) {
    window.frames_.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  })(last);
});
const began = performance.now();
await page.evaluate(
  async ([calls, per_second]) => {
    const headers = { "content-type": "application/json", "x-toolbox-page": localStorage.getItem("toolbox-page-key") };
    const body = JSON.stringify({ id: "traffic", tool: "traffic", arguments: JSON.stringify({ calls, per_second }) });
    await (await fetch("/api/calls", { method: "POST", headers, body })).text();
  },
  [CALLS, PER_SECOND],
);
// The call returns at once.
const made = began + (1000 * CALLS) / PER_SECOND;
await page.waitForTimeout(made - performance.now());
await page.getByRole("searchbox").fill(`traffic-${CALLS - 1}`);
await rows.filter({ hasText: "add" }).first().waitFor();
const found = performance.now();
const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b);
await page.getByRole("searchbox").fill("");
const drawn = await rows.count();
const after = await heap();

const ms = (time) => `${Math.round(time)} ms`;
console.log(`${CALLS} calls, ${PER_SECOND} a second; the last is found ${ms(found - made)} after it is due`);
console.log(`${frames.length} frames: half within ${ms(frames[Math.floor(frames.length / 2)])}, 99 of 100 within ${ms(frames[Math.floor(frames.length * 0.99)])}, the longest ${ms(frames.at(-1))}`);
console.log(`${drawn} rows drawn; ${(after - before).toFixed(1)} MB more than before`);
await browser.close();
program.kill("SIGINT");
