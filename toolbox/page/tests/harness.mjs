// Starts programs and browsers for the flows, and counts what they prove.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const BROWSER = [process.env.CHROMIUM ?? "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const PROGRAM = process.env.PAGE_EXAMPLE ?? "../../target/debug/examples/page";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const PICTURES = process.env.PAGE_PICTURES ?? join(mkdtempSync(join(tmpdir(), "page-")), "pictures");
mkdirSync(PICTURES, { recursive: true });

/** The time for anything that a flow waits for. */
export const PATIENCE = Number(process.env.PAGE_PATIENCE ?? 15) * 1000;
/** The time for a whole flow. */
const LONGEST = 8 * PATIENCE;

/** The programs that run; none outlives this one. */
const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

export function owned(child) {
  children.add(child);
  child.on("exit", () => children.delete(child));
  return child;
}

/** Starts the example, and returns it with its link. */
export async function start(...words) {
  const child = owned(spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "pipe"] }));
  let errors = "";
  child.stderr.on("data", (data) => (errors += data));
  const link = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no link in time: ${errors}`)), PATIENCE);
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      if (text.includes("\n")) {
        clearTimeout(timer);
        resolve(text.trim());
      }
    });
    child.on("exit", (code) => reject(new Error(`ended with ${code}: ${errors}`)));
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const url = link.split("/#")[0];
  return {
    link,
    url,
    port: Number(new URL(url).port),
    token: link.split("token=")[1],
    async stop() {
      child.kill("SIGINT");
      await ended;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

let browser;
/** The contexts of the flow that runs. */
const opened = [];
export async function launch() {
  assert.ok(BROWSER, "there is no Chromium");
  browser ??= await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });
  return browser;
}

/** Opens a context whose pages fail the flow on an error of their script. */
export async function context(options = {}) {
  const own = await (await launch()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  own.setDefaultTimeout(PATIENCE);
  own.faults = [];
  opened.push(own);
  own.on("page", (page) => {
    page.on("pageerror", (error) => own.faults.push(String(error)));
    page.on("console", (message) => {
      // A refusal that a flow provokes is reported here as well.
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) {
        own.faults.push(message.text());
      }
    });
  });
  return own;
}

/** Opens the page by the link of a program. */
export async function open(own, program) {
  const page = await own.newPage();
  await page.goto(program.link);
  await page.getByRole("navigation", { name: "Tabs" }).waitFor();
  return page;
}

/** Returns a link for another browser. */
export function another(page) {
  return page.evaluate(async () => {
    const headers = { "content-type": "application/json", "x-toolbox-page": localStorage.getItem("toolbox-page-key") };
    return (await (await fetch("/api/link", { method: "POST", headers, body: "{}" })).json()).link;
  });
}

/** Goes to a tab, and to what is named behind it, as `tools/order`. */
export async function go(page, at) {
  await page.evaluate((at) => (location.hash = `#/${at}`), at);
  await current(page, `#/${at.split("/")[0]}`);
}

/** Chooses a tab by its name. */
export async function tab(page, name) {
  const link = page.getByRole("navigation", { name: "Tabs" }).getByRole("link", { name, exact: true });
  const address = await link.getAttribute("href");
  await link.click();
  await current(page, address);
}

/** Waits for a tab: until it is drawn, the fields in sight are those of the one before. */
async function current(page, address) {
  await page.getByRole("navigation", { name: "Tabs" }).locator(`a[href="${address}"][aria-current="page"]`).waitFor();
}

/** Opens a tool in the tab *Try*. */
export async function tryTool(page, name) {
  await go(page, `try/${name}`);
  await page.getByRole("heading", { name, level: 2, exact: true }).waitFor();
  await page.getByRole("button", { name: "Call", exact: true }).waitFor();
}

/** Shows the form of a part of the page as JSON, and returns the text box. */
export async function asJson(place) {
  await place.getByRole("switch", { name: "Edit as JSON" }).check();
  return place.getByRole("textbox", { name: "JSON", exact: true });
}

/** Writes the whole as JSON, and goes back to the form. */
export async function fill(place, json) {
  await (await asJson(place)).fill(typeof json === "string" ? json : JSON.stringify(json));
  await place.getByRole("switch", { name: "Edit as JSON" }).uncheck();
}

/** Returns the arguments as JSON text. */
export async function written(place) {
  const text = await (await asJson(place)).inputValue();
  await place.getByRole("switch", { name: "Edit as JSON" }).uncheck();
  return text;
}

/** Calls the tool that is open, and returns the section with its result. */
export async function call(page) {
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const result = page.getByRole("region", { name: "Result" });
  await result.waitFor();
  return result;
}

/** Fails if axe finds anything on the page. */
export async function accessible(page, what) {
  // Through the debugger, which the policy of the page does not bind.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const text = found.violations.map((own) => `${own.id}: ${own.nodes.map((node) => node.html + " " + node.failureSummary).join("\n")}`);
  assert.equal(text.join("\n"), "", `axe on ${what}`);
}

export async function picture(page, name) {
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

const flows = [];

/** Registers a flow. */
export function flow(name, run) {
  flows.push({ name, run });
}

/** Keeps the contexts that are open for all flows. */
export function keep() {
  opened.length = 0;
}

/** Returns the flows that the command line chooses. */
function chosenOf(words) {
  if (words.length === 0) return flows;
  if (words[0] !== "--every") return flows.filter(({ name }) => words.some((word) => name.includes(word)));
  const step = Number(words[1]);
  assert.ok(Number.isInteger(step) && step > 0, "--every takes a number");
  return flows.filter((_, at) => at % step === 0);
}

/** Runs the flows that the command line chooses, and exits. */
export async function run() {
  const chosen = chosenOf(process.argv.slice(2));
  const failed = [];
  const began = Date.now();
  for (const { name, run } of chosen) {
    const from = Date.now();
    try {
      let timer;
      const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`not done after ${LONGEST / 1000} s`)), LONGEST)));
      await Promise.race([run(), late]).finally(() => clearTimeout(timer));
      console.log(`ok      ${name} (${Date.now() - from} ms)`);
    } catch (error) {
      failed.push(`${name}: ${String(error).slice(0, 1000)}`);
      console.log(`FAILED  ${name}\n${error.stack ?? error}`);
      const pages = opened.flatMap((own) => own.pages());
      await Promise.all(pages.map((page, at) => picture(page, `failed-${failed.length}-${at}`).catch(() => {})));
    }
    // Else their streams would count as those of the next flows.
    await Promise.all(opened.splice(0).map((own) => own.close().catch(() => {})));
  }
  await browser?.close();
  // Again at the end, which is all that a log of CI may keep.
  for (const one of failed) console.log(`\nFAILED  ${one}`);
  console.log(`${chosen.length} flows, ${failed.length} failed, ${Math.round((Date.now() - began) / 1000)} s; pictures in ${PICTURES}`);
  process.exit(failed.length > 0 || chosen.length === 0 ? 1 : 0);
}
