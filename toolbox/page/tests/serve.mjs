// `toolbox serve --page`: decisions of people at the page on calls that MCP clients make.
import assert from "node:assert/strict";
import { accessible, another, context, flow, go, open, picture } from "./harness.mjs";
import { request, startProgram } from "./programs.mjs";

/** Runs a flow over a served box and its page, beside each other. */
function served(name, words, run) {
  flow(`serve: ${name}`, async () => {
    const own = await startProgram("own-program", ["serve", "--http", "127.0.0.1:0", ...words], { environment: { TRANSFERS: "1" } });
    try {
      const page = await open(await context(), own);
      await go(page, "approvals");
      await run(page, own);
    } finally {
      await own.stop();
    }
  });
}

/** Begins a transfer by an MCP client; its result comes once somebody decides. */
function transfer(own, cents, to) {
  const answer = request(own.mcp ?? own.url, "tools/call", { name: "transfer", arguments: { cents, to } });
  // A flow that fails before it waits for this fails by itself.
  answer.catch(() => {});
  return answer.then((message) => message.result);
}

async function card(page, to) {
  const own = page.getByRole("article").filter({ hasText: to });
  await own.waitFor();
  return page.locator(`article[aria-labelledby="${await own.getAttribute("aria-labelledby")}"]`);
}

export function register() {
  served("a client's call waits, and runs once approved", ["--page"], async (page, own) => {
    const result = transfer(own, 500, "Ada");
    const entry = await card(page, "Ada");
    await entry.getByText('"cents": 500').waitFor();
    await page.waitForFunction(() => /^\(1\) /.test(document.title));
    await entry.getByRole("button", { name: "Approve", exact: true }).click();
    assert.equal((await result).content[0].text, "sent 500 to Ada");
    await entry.waitFor({ state: "detached" });
  });

  served("other arguments, by the form", ["--page"], async (page, own) => {
    const result = transfer(own, 700, "Cleo");
    const entry = await card(page, "Cleo");
    await entry.getByRole("button", { name: "Edit" }).click();
    const form = entry.getByRole("form", { name: "Other arguments" });
    const cents = form.locator('[data-path="cents"] input').last();
    // What is no number is not sent as the value before it.
    await cents.fill("7o");
    await entry.getByRole("button", { name: "Approve with these arguments" }).click();
    assert.equal(await cents.evaluate((input) => input.validity.valid), false);
    assert.equal(await entry.count(), 1);
    assert.equal(await page.evaluate(() => document.activeElement?.closest("[data-path]")?.getAttribute("data-path")), "cents");
    await cents.fill("70");
    await entry.getByRole("button", { name: "Approve with these arguments" }).click();
    const { content } = await result;
    assert.match(content.map((part) => part.text).join("\n"), /sent 70 to Cleo/);
  });

  served("a denial hands the reason to the client's model", ["--page"], async (page, own) => {
    const result = transfer(own, 600, "Bob");
    const entry = await card(page, "Bob");
    await entry.getByLabel("Reason, for the model").fill("not this month");
    await entry.getByRole("button", { name: "Deny" }).click();
    const { isError, content } = await result;
    assert.equal(isError, true);
    assert.match(content[0].text, /not this month/);
  });

  served("a call is deferred, and the client is told", ["--page"], async (page, own) => {
    const result = transfer(own, 900, "Eve");
    const entry = await card(page, "Eve");
    await entry.getByRole("button", { name: "Defer" }).click();
    const { isError, content } = await result;
    assert.equal(isError, true);
    assert.match(content[0].text, /approv/);
    await page.getByText("transfer: deferred").waitFor();
  });

  served("of two people who decide at once one holds, and the other is told", ["--page"], async (page, own) => {
    const other = await open(await context(), { link: await another(page) });
    await go(other, "approvals");
    const result = transfer(own, 1000, "Finn");
    const [one, two] = [await card(page, "Finn"), await card(other, "Finn")];
    await two.getByLabel("Reason, for the model").fill("no");
    // Both pages hold their word back until both have said it.
    let held = 0;
    let release;
    const both = new Promise((done) => (release = done));
    for (const own of [page, other]) {
      await own.route("**/api/decide", async (route) => {
        held += 1;
        if (held === 2) {
          release();
        }
        await both;
        await route.continue();
      });
    }
    await Promise.all([one.getByRole("button", { name: "Approve", exact: true }).click(), two.getByRole("button", { name: "Deny" }).click()]);
    const { content } = await result;
    const approved = /sent 1000 to Finn/.test(content[0].text);
    const late = approved ? other : page;
    await late.getByText(`somebody was earlier: ${approved ? "approved" : "denied"} by session`).waitFor();
    await (approved ? page : other).getByText(`transfer: ${approved ? "approved" : "denied"}`).waitFor();
    await page.getByText("Nothing waits").waitFor();
    await other.getByText("Nothing waits").waitFor();
  });

  served("a client that goes away takes its call back", ["--page"], async (page, own) => {
    const leaving = new AbortController();
    const call = request(own.url, "tools/call", { name: "transfer", arguments: { cents: 5, to: "Hal" } }, leaving.signal);
    call.catch(() => {});
    const entry = await card(page, "Hal");
    leaving.abort();
    await entry.waitFor({ state: "detached" });
  });

  served("Live shows the calls of clients, and Copy as curl names the endpoint", ["--page"], async (page, own) => {
    const answer = await request(own.url, "tools/call", { name: "sum", arguments: { numbers: [2, 3], label: "of the client" } });
    assert.equal(answer.result.content[0].text, "of the client: 5");
    await page.getByRole("link", { name: "Live" }).click();
    await page.getByRole("listbox", { name: "Calls" }).getByRole("option").filter({ hasText: "sum" }).click();
    await page.getByRole("group", { name: "Result" }).getByText("of the client: 5").waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("link", { name: "Try it" }).click();
    await page.getByRole("button", { name: "As curl" }).click();
    await page.getByText("Copied").waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`${own.url}/mcp`));
  });

  for (const words of [["--page"], ["--page", "127.0.0.1:0"]]) {
    served(`frames of apps have a listener of their own (${words.join(" ")})`, words, async (page) => {
      const policy = await page.evaluate(async () => (await fetch("/")).headers.get("content-security-policy"));
      const port = /; frame-src http:\/\/127\.0\.0\.1:(\d+)$/.exec(policy)?.[1];
      assert.ok(port && port !== (await page.evaluate(() => location.port)), policy);
    });
  }

  served("the page on a port of its own", ["--page", "127.0.0.1:0"], async (page, own) => {
    await page.getByText("Nothing waits").waitFor();
    await page.getByRole("link", { name: "Tools" }).click();
    await page.getByRole("listbox", { name: "Tools" }).getByRole("option").filter({ hasText: "transfer" }).waitFor();
    // It is no MCP server.
    const response = await fetch(`${own.url}/mcp`, { method: "POST", body: "{}" });
    assert.ok(response.status >= 400, String(response.status));
  });

  served("axe finds nothing while something waits, light and dark", ["--page"], async (page, own) => {
    const result = transfer(own, 1500, "Kim");
    for (const colorScheme of ["light", "dark"]) {
      const other = await open(await context({ colorScheme }), { link: await another(page) });
      await go(other, "approvals");
      const entry = await card(other, "Kim");
      await entry.getByRole("button", { name: "Edit" }).click();
      await accessible(other, `Approvals, ${colorScheme}`);
      await picture(other, `serve-approvals-${colorScheme}`);
    }
    await (await card(page, "Kim")).getByRole("button", { name: "Approve", exact: true }).click();
    await result;
  });
}
