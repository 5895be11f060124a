// From the command to the first result in the browser: `toolbox inspect` and the MCP Inspector, over one server, by turns. A script
// clicks as fast as the pages answer, so this is the time of the programs, without that of a person.
//
//   cargo install --path crates/toolbox-cli && cargo build -p toolbox-mcp-examples --example own_program
//   (cd toolbox/page && npm ci)
//   INTEROP_HOME=… node benches/first_call.mjs      the folder in which node_modules has @modelcontextprotocol/inspector
//
// Needs Chromium (CHROMIUM, or /usr/bin/chromium).
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../toolbox/page/package.json", import.meta.url))("playwright-core");
const ROUNDS = 10;
const target = new URL("../target/", import.meta.url).pathname;
const server = [`${target}debug/examples/own_program`, "serve"];
const home = process.env.INTEROP_HOME;

/** Starts a program, and returns it with the link that it prints. */
async function start(command, link) {
  const child = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
  const found = new Promise((resolve, reject) => {
    let text = "";
    const read = (data) => {
      text += data;
      const match = link.exec(text);
      if (match) resolve(match[0]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", () => reject(new Error(text)));
  });
  return { child, link: await found };
}

const programs = {
  "toolbox inspect": {
    command: [process.env.TOOLBOX ?? "toolbox", "inspect", ...server],
    link: /http:\S+#token=\w+/,
    async call(page) {
      await page.getByRole("link", { name: "Try", exact: true }).click();
      await page.getByText("add", { exact: true }).first().click();
      const form = page.getByRole("form", { name: "Arguments" });
      await form.locator('[data-path="a"] input').last().fill("40");
      await form.locator('[data-path="b"] input').last().fill("2");
      await page.getByRole("button", { name: "Call", exact: true }).click();
      await page.getByRole("region", { name: "Result" }).getByText("42").first().waitFor();
    },
  },
  "MCP Inspector": {
    command: [`${home}/bin/node`, `${home}/node_modules/.bin/mcp-inspector`, "--web", ...server],
    link: /http:\S+MCP_INSPECTOR_API_TOKEN=\w+/,
    async call(page) {
      await page.getByRole("switch").first().click({ force: true });
      await page.getByText("Tools", { exact: true }).first().click();
      await page.getByText("add", { exact: true }).first().click();
      await page.getByLabel(/^a\b/).last().fill("40");
      await page.getByLabel(/^b\b/).last().fill("2");
      await page.getByRole("button", { name: "Execute Tool" }).click();
      await page.getByText("42", { exact: true }).first().waitFor();
    },
  },
};

process.env.MCP_AUTO_OPEN_ENABLED = "false";
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const times = {};
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, { command, link, call }] of Object.entries(programs)) {
    const began = performance.now();
    const own = await start(command, link);
    const linked = performance.now() - began;
    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(own.link);
    await call(page);
    (times[name] ??= []).push([linked, performance.now() - began]);
    await context.close();
    const ended = new Promise((resolve) => own.child.on("exit", resolve));
    own.child.kill("SIGINT");
    await ended;
  }
}
await browser.close();
const median = (values) => Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]);
for (const [name, own] of Object.entries(times)) {
  console.log(`${name}: ${median(own.map(([linked]) => linked))} ms to the link, ${median(own.map(([, called]) => called))} ms to the first result (median of ${ROUNDS})`);
}
