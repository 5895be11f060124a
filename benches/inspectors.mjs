// The same tasks in `toolbox inspect` and in the MCP Inspector, over one server, by turns: clicks, and seconds. A script clicks as
// fast as the pages answer, so this is the time of the programs, without that of a person.
//
//   cargo install --path crates/toolbox-cli
//   (cd toolbox/page && npm ci)
//   INTEROP_HOME=… node benches/inspectors.mjs      the folder in which node_modules has @modelcontextprotocol/inspector
//
// Needs Chromium (CHROMIUM, or /usr/bin/chromium), and the Node 22 of the Inspector as bin/node of that folder.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../toolbox/page/package.json", import.meta.url))("playwright-core");
const ROUNDS = Number(process.env.ROUNDS ?? 10);
const server = ["node", new URL("inspected.mjs", import.meta.url).pathname];
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

/** A hand that counts: a click, or a field that is written in, is one. */
class Hand {
  constructor(page) {
    this.page = page;
    this.clicks = 0;
  }
  async click(place, options) {
    this.clicks += 1;
    await place.click(options);
  }
  async write(place, text) {
    this.clicks += 1;
    await place.fill(text);
  }
  async choose(place, value) {
    this.clicks += 1;
    await place.selectOption(value);
  }
  button(name) {
    return this.page.getByRole("button", { name, exact: true });
  }
}

const programs = {
  "toolbox inspect": {
    words: "takes minutes",
    command: [process.env.TOOLBOX ?? "toolbox", "inspect", ...server],
    link: /http:\S+#token=\w+/,
    open: (hand) => hand.click(hand.page.getByRole("link", { name: "Try", exact: true })),
    async find(hand, words, name) {
      await hand.write(hand.page.getByRole("searchbox"), words);
      await hand.click(hand.page.locator(".side").getByText(name, { exact: true }));
      await hand.page.getByRole("heading", { name, level: 2, exact: true }).waitFor();
    },
    field: (hand, path) => hand.page.locator(`[data-path="${path}"]`).locator("input, textarea, select").first(),
    add: (hand) => hand.click(hand.page.getByRole("form", { name: "Arguments" }).locator("button:visible").getByText("Add", { exact: true }).first()),
    call: (hand) => hand.click(hand.button("Call")),
    result: (hand, text) => hand.page.getByRole("region", { name: "Result" }).getByText(text).first().waitFor(),
    async end(hand) {
      await hand.click(hand.button("Last"));
      await hand.page.getByText("the end").first().waitFor();
    },
    async agree(hand) {
      await hand.choose(hand.page.locator('[data-path="sure"] select'), "true");
      await hand.click(hand.button("Answer"));
    },
    cancelled: (hand) => hand.page.getByText("was cancelled").first().waitFor(),
  },
  "MCP Inspector": {
    // It searches names alone.
    words: "rebuild",
    command: [`${home}/bin/node`, `${home}/node_modules/.bin/mcp-inspector`, "--web", ...server],
    link: /http:\S+MCP_INSPECTOR_API_TOKEN=\w+/,
    async open(hand) {
      await hand.click(hand.page.getByRole("switch").first(), { force: true });
      await hand.click(hand.page.getByText("Tools", { exact: true }).first());
    },
    async find(hand, words, name) {
      await hand.write(hand.page.getByPlaceholder("Search tools..."), words);
      await hand.click(hand.page.getByText(name, { exact: true }).first());
      await hand.button("Execute Tool").waitFor();
    },
    field: (hand, path) => hand.page.getByLabel(new RegExp(`^${path.split(/[.\]]/).pop()}\\b`)).last(),
    add: (hand) => hand.click(hand.button("Add item to items")),
    call: (hand) => hand.click(hand.button("Execute Tool")),
    result: (hand, text) => hand.page.getByText(text).first().waitFor(),
    // All of it is in the page.
    end: (hand) => hand.page.getByText("the end").first().waitFor(),
    async agree(hand) {
      await hand.click(hand.page.getByRole("checkbox", { name: "Sure" }));
      await hand.click(hand.button("Submit"));
    },
    cancelled: (hand) => hand.page.getByText("Tool call cancelled").first().waitFor(),
  },
};

/** The tasks, in the order in which a person would do them. */
const tasks = {
  "find a tool of sixty": (own, hand) => own.find(hand, own.words, "rebuild_index"),
  "cancel a slow call": async (own, hand) => {
    await own.call(hand);
    await hand.click(hand.button("Cancel"));
    await own.cancelled(hand);
  },
  "fill nested arguments, and call": async (own, hand) => {
    await own.find(hand, "place_order", "place_order");
    for (const [path, text] of [["customer.name", "Ada"], ["customer.address.street", "Gate 1"], ["customer.address.city", "Oslo"]]) {
      await hand.write(own.field(hand, path), text);
    }
    await own.add(hand);
    await hand.write(own.field(hand, "items[0].sku"), "a-7");
    await hand.write(own.field(hand, "items[0].quantity"), "2");
    await own.call(hand);
    await own.result(hand, "1 items for Oslo");
  },
  "answer a question of a tool": async (own, hand) => {
    await own.find(hand, "close_account", "close_account");
    await hand.write(own.field(hand, "account"), "a-1");
    await own.call(hand);
    await own.agree(hand);
    await own.result(hand, "closed");
  },
  "see a result of 5 MB": async (own, hand) => {
    await own.find(hand, "read_report", "read_report");
    await own.call(hand);
    await own.result(hand, "A line of the report");
  },
  "see its last line": (own, hand) => own.end(hand),
};

process.env.MCP_AUTO_OPEN_ENABLED = "false";
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
/** By task and program: clicks, and the seconds of each round; "not done" once it failed. */
const table = {};
const keep = (task, name, clicks, seconds) => {
  const own = ((table[task] ??= {})[name] ??= { clicks, seconds: [] });
  own.seconds.push(seconds);
};
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, own] of Object.entries(programs)) {
    const began = performance.now();
    const started = await start(own.command, own.link);
    const since = (from) => (performance.now() - from) / 1000;
    keep("from the command to the link", name, 0, since(began));
    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const opening = performance.now();
    await page.goto(started.link);
    const hand = new Hand(page);
    await own.open(hand);
    await page.getByText("rebuild_index", { exact: true }).first().waitFor();
    keep("to the list of tools", name, hand.clicks, since(opening));
    for (const [task, run] of Object.entries(tasks)) {
      const from = performance.now();
      hand.clicks = 0;
      try {
        await run(own, hand);
        keep(task, name, hand.clicks, since(from));
      } catch (error) {
        console.error(`${name}, ${task}: ${error.message.split("\n")[0]}`);
        keep(task, name, hand.clicks, Infinity);
        if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}-${task}.png` });
      }
    }
    await context.close();
    const ended = new Promise((resolve) => started.child.on("exit", resolve));
    started.child.kill("SIGINT");
    await ended;
  }
}
await browser.close();
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const shown = ({ clicks, seconds }) => {
  const middle = median(seconds);
  return Number.isFinite(middle) ? `${clicks}, ${middle.toFixed(middle < 0.1 ? 2 : 1)} s` : "not done";
};
console.log(`| | ${Object.keys(programs).join(" | ")} |\n|---|---|---|`);
for (const [task, own] of Object.entries(table)) {
  console.log(`| ${task} | ${Object.keys(programs).map((name) => shown(own[name])).join(" | ")} |`);
}
