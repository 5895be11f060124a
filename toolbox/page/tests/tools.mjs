// The tab *Tools*.
import assert from "node:assert/strict";
import { accessible, context, flow, go, open } from "./harness.mjs";
import { startProgram } from "./programs.mjs";

export function register(program, session) {
  flow("tools: every tool is listed, in order, with its tokens", async () => {
    const page = await session("tools");
    const list = page.getByRole("listbox", { name: "Tools" });
    assert.match(await page.getByRole("status").filter({ hasText: "tools" }).first().innerText(), /of \d+ tools, about [\d,]+ tokens/);
    assert.match(await list.getByRole("option").first().innerText(), /echo\s+\d+ tokens/);
  });

  flow("tools: a search ranks as a model's, and says which words matched", async () => {
    const page = await session("tools");
    await page.getByRole("searchbox").fill("send money to a customer");
    const first = page.getByRole("listbox", { name: "Tools" }).getByRole("option").first();
    await first.filter({ hasText: "score" }).waitFor();
    await page.getByRole("searchbox").fill("pays an amount");
    await first.filter({ hasText: "pay" }).waitFor();
    await first.click();
    const reasons = page.getByRole("table", { name: "Words of the search" });
    await reasons.waitFor();
    assert.match(await reasons.innerText(), /amount\s+amount\s+description/);
    assert.match(await page.getByRole("heading", { name: /Hit 1, score/ }).innerText(), /Hit 1, score \d+\.\d/);
  });

  flow("tools: a pattern finds names, and a faulty one is explained", async () => {
    const page = await session("tools");
    await page.getByLabel("Pattern").check();
    await page.getByRole("searchbox").fill("^count_");
    const options = page.getByRole("listbox", { name: "Tools" }).getByRole("option");
    await page.getByText(/^2 of/).waitFor();
    assert.match((await options.allInnerTexts()).join(), /count_folders[\s\S]*count_slowly/);
    await page.getByRole("searchbox").fill("(");
    await page.getByText("the pattern is invalid").waitFor();
  });

  flow("tools: filters by tag", async () => {
    const page = await session("tools");
    await page.getByLabel("Tag").selectOption("asking");
    const options = page.getByRole("listbox", { name: "Tools" }).getByRole("option");
    await options.filter({ hasText: "pay" }).first().waitFor();
    assert.equal(await options.filter({ hasText: "echo" }).count(), 0);
  });

  flow("tools: a definition in each dialect, with losses and tokens", async () => {
    const page = await session("tools/formats");
    for (const dialect of ["OpenAI Chat", "OpenAI Responses", "Anthropic", "Gemini", "Gemini Interactions", "MCP"]) {
      await page.getByRole("button", { name: new RegExp(`^${dialect} \\d+$`) }).click();
      await page.getByRole("group", { name: `Definition for ${dialect}`, exact: true }).waitFor();
    }
    assert.match(await page.getByRole("group", { name: "Definition for MCP" }).innerText(), /"inputSchema"/);
    await go(page, "tools/order");
    await page.getByRole("button", { name: /^OpenAI Chat/ }).click();
    await page.getByText("Not strict").waitFor();
  });

  flow("tools: annotations, approval and lints are named", async () => {
    const page = await session("tools/pay");
    await page.getByText("may destroy; needs approval").waitFor();
    await go(page, "tools/panics");
    await page.getByText("is described as").waitFor();
  });

  flow("tools: what is deprecated is marked, and an old name leads to its tool", async () => {
    const own = await startProgram("own-program", ["serve", "--http", "127.0.0.1:0", "--page"], { environment: { RENAMED: "1" } });
    try {
      const page = await open(await context(), own);
      await go(page, "tools/glance");
      await page.getByText("deprecated: use `seek`").first().waitFor();
      const options = page.getByRole("listbox", { name: "Tools" }).getByRole("option");
      const [glance, seek] = ["glance", "seek"].map((name) => options.filter({ hasText: new RegExp(`^${name}`) }));
      assert.equal(await glance.getByText("deprecated", { exact: true }).count(), 1);
      assert.equal(await seek.getByText("deprecated", { exact: true }).count(), 0);
      await go(page, "tools/look");
      await page.getByRole("note").filter({ hasText: "look is now seek" }).waitFor();
      await page.getByText("had the name look, find before").waitFor();
      await go(page, "tools/seek");
      await page.getByText("had the name look, find before").waitFor();
      assert.equal(await page.getByRole("note").count(), 0);
    } finally {
      await own.stop();
    }
  });

  flow("tools: an unknown tool is refused in words", async () => {
    const page = await session("tools/nonsense");
    await page.getByRole("alert").filter({ hasText: "there is no tool of this name" }).waitFor();
  });

  flow("tools: axe finds nothing, light and dark", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await session("tools/pay", { colorScheme });
      await page.getByText("As each provider gets it").waitFor();
      await accessible(page, `tools ${colorScheme}`);
    }
  });

  flow("tools: at 320 pixels nothing is cut off sideways", async () => {
    const page = await session("tools", { viewport: { width: 320, height: 640 } });
    await page.getByRole("listbox", { name: "Tools" }).waitFor();
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok((await wide()) <= 320);
    await page.getByRole("listbox", { name: "Tools" }).getByRole("option").nth(2).click();
    await page.getByRole("link", { name: "← All tools" }).waitFor();
    assert.ok((await wide()) <= 320);
    await page.getByRole("link", { name: "← All tools" }).click();
    await page.getByRole("listbox", { name: "Tools" }).waitFor();
  });

  flow("tools: by keyboard alone, from the search to a call", async () => {
    const page = await session("try");
    await page.getByRole("listbox", { name: "Tools" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("adds two numbers");
    await page.getByRole("option").filter({ hasText: "score" }).first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.getByRole("heading", { name: "add", level: 2 }).waitFor();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "detail");
    let found = false;
    for (let at = 0; at < 30 && !found; at++) {
      await page.keyboard.press("Tab");
      found = await page.evaluate(() => document.activeElement?.textContent === "Call");
    }
    assert.ok(found, "Tab reaches the button");
    const outlined = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outlined, "none");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Result" }).getByText("Done").waitFor();
  });

  flow("tools: the skip link leads to the content", async () => {
    const page = await session("tools");
    // To blur is not enough: Tab would go on from what had the focus, or was clicked.
    await page.evaluate(() => {
      document.body.tabIndex = -1;
      document.body.focus();
    });
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "content");
  });
}
