// `toolbox inspect`: prompts, resources, frames and what breaks the protocol, of friendly and hostile servers.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { accessible, another, call, context, fill, flow, open, picture, tab, tryTool } from "./harness.mjs";
import { fits, tabsInSight } from "./narrow.mjs";
import { program, startProgram } from "./programs.mjs";

const EVERYTHING = process.env.MCP_EVERYTHING;

/** Runs a flow over the page of `toolbox inspect` with this command. */
function inspected(name, command, run, options) {
  flow(`inspect: ${name}`, async () => {
    const own = await startProgram("toolbox-program", ["inspect", ...command]);
    try {
      const page = await open(await context(options), own);
      await run(page, own);
    } finally {
      await own.stop();
    }
  });
}

const rows = (page, list) => page.getByRole("listbox", { name: list }).getByRole("option");

async function choose(page, name, key) {
  await tab(page, name);
  await rows(page, name.toLowerCase()).filter({ hasText: key }).first().click();
}

/** Returns a server of 2026-07-28 with a tool whose calls become tasks. */
function taskServer() {
  let asked = 0;
  const times = { createdAt: new Date().toISOString(), lastUpdatedAt: new Date().toISOString(), ttlMs: 60_000, pollIntervalMs: 50 };
  const task = (more) => ({ taskId: "task-7", ...times, ...more });
  const results = {
    "server/discover": () => ({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
      ttlMs: 0,
      cacheScope: "private",
    }),
    "tools/list": () => ({ tools: [{ name: "bake", description: "Bakes", inputSchema: { type: "object" } }], ttlMs: 0, cacheScope: "private" }),
    "tools/call": () => task({ resultType: "task", status: "working", statusMessage: "in the oven" }),
    "tasks/get": () => {
      asked += 1;
      const result = { resultType: "complete", content: [{ type: "text", text: "a loaf" }] };
      return asked < 4 ? task({ status: "working", statusMessage: "rising" }) : task({ status: "completed", result });
    },
  };
  return (request, response) => {
    let text = "";
    request.on("data", (data) => (text += data));
    request.on("end", () => {
      const { id, method } = JSON.parse(text || "{}");
      if (id === undefined) {
        response.writeHead(request.method === "POST" ? 202 : 405).end();
        return;
      }
      const result = results[method]?.();
      const answer = result ? { result: { resultType: "complete", ...result } } : { error: { code: -32601, message: "no such method" } };
      response.writeHead(result ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
  };
}

export function register() {
  for (const mode of [["modern"], []]) {
    const server = [program("offering"), ...mode];
    const kind = mode[0] ?? "handshake";

    inspected(`a prompt is completed, got, and shown as messages (${kind})`, server, async (page) => {
      await choose(page, "Prompts", "review");
      await page.getByRole("textbox", { name: "tone" }).fill("ki");
      await page.getByRole("textbox", { name: "code (required)" }).focus();
      await page.getByRole("textbox", { name: "tone" }).focus();
      const found = page.getByRole("group", { name: "Values for tone" });
      // The server answers with what it was asked.
      await found.getByRole("button", { name: "ref/prompt" }).waitFor();
      // The browser holds back what lacks a required argument.
      await page.getByRole("button", { name: "Get the prompt" }).click();
      assert.equal(await page.getByRole("region", { name: "Messages" }).count(), 0);
      await page.getByRole("textbox", { name: "code (required)" }).fill("let x");
      await page.getByRole("button", { name: "Get the prompt" }).click();
      const messages = page.getByRole("region", { name: "Messages" });
      await messages.getByText('Review "let x" "ki"').waitFor();
      await messages.getByRole("article", { name: "Message 2" }).getByText("test://text").waitFor();
      assert.equal(await messages.getByRole("article").count(), 3);
      await messages.getByRole("heading", { name: "assistant" }).waitFor();
    });

    inspected(`a template is filled in and read, and a resource followed (${kind})`, server, async (page) => {
      await choose(page, "Resources", "test://notes/{id}");
      await page.getByRole("textbox", { name: "id", exact: true }).fill("a b/7");
      assert.equal(await page.getByLabel("URI").inputValue(), "test://notes/a%20b%2F7");
      await page.getByRole("group", { name: "Values for id" }).getByRole("button", { name: "ref/resource" }).waitFor();
      await page.getByRole("textbox", { name: "id", exact: true }).fill("7");
      await page.getByRole("button", { name: "Read", exact: true }).click();
      await page.getByRole("region", { name: "Contents" }).getByText("read test://notes/7").waitFor();
      await page.getByLabel("URI").fill("other://x");
      await page.getByRole("button", { name: "Read", exact: true }).click();
      await page.getByRole("alert").filter({ hasText: "other://x" }).waitFor();

      await choose(page, "Resources", "test://text");
      await page.getByRole("button", { name: "Read", exact: true }).click();
      await page.getByRole("region", { name: "Contents" }).getByText("hello").waitFor();
      await page.getByRole("button", { name: "Subscribe to changes" }).click();
      await page.getByRole("button", { name: "Subscribed" }).waitFor();
      // In another browser, so that this page stays as it is.
      const other = await open(await context(), { link: await another(page) });
      for (;;) {
        await tryTool(other, "told");
        const told = await call(other);
        if (/\b1\b/.test(await told.getByRole("group", { name: "Text of the result" }).innerText())) {
          break;
        }
      }
      await tryTool(other, "touch");
      await call(other);
      await page.getByText(/Changed 1 time, .*, after it was read/).waitFor();
      await page.getByRole("button", { name: "Read", exact: true }).click();
      await page.getByText(/Changed 1 time, last at [\d:]+\.$/).waitFor();
      await page.getByRole("button", { name: "Subscribed" }).click();
      await page.getByRole("button", { name: "Subscribe to changes" }).waitFor();
    });

    for (const width of [375, 320, 768]) {
      inspected(
        `at ${width} pixels all tabs are in sight, and nothing is wider than the screen (${kind})`,
        server,
        async (page) => {
          await tabsInSight(page);
          await choose(page, "Prompts", "review");
          await page.getByRole("textbox", { name: "code (required)" }).fill("c".repeat(300));
          await fits(page, "a prompt");
          await page.getByRole("button", { name: "Get the prompt" }).click();
          await page.getByRole("region", { name: "Messages" }).waitFor();
          await fits(page, "messages");
          await choose(page, "Resources", "test://notes/{id}");
          await page.getByRole("textbox", { name: "id", exact: true }).fill("i".repeat(300));
          await page.getByRole("button", { name: "Read", exact: true }).click();
          await page.getByRole("region", { name: "Contents" }).waitFor();
          await fits(page, "a resource");
          await tab(page, "Protocol");
          await fits(page, "frames");
          for (const view of ["Times", "Tasks", "Faults", "Notifications"]) {
            await page.getByRole("button", { name: view }).click();
            await fits(page, view);
          }
          await page.getByRole("button", { name: "Frames", exact: true }).click();
          await rows(page, "Frames").filter({ hasText: "resources/read" }).first().click();
          await page.getByRole("region", { name: "Frame", exact: true }).getByText("iii").first().waitFor();
          await fits(page, "a frame");
          await tabsInSight(page);
          await accessible(page, `a frame at ${width}`);
        },
        { viewport: { width, height: 700 } },
      );
    }

    inspected(`a prompt by keyboard alone (${kind})`, server, async (page) => {
      await choose(page, "Prompts", "review");
      await page.getByRole("textbox", { name: "tone" }).focus();
      await page.keyboard.type("ki");
      const values = page.getByRole("group", { name: "Values for tone" });
      await values.getByRole("button", { name: "ref/prompt" }).waitFor();
      await page.keyboard.press("ArrowDown");
      const first = await values.getByRole("button").first().innerText();
      assert.equal(await page.evaluate(() => document.activeElement.textContent), first);
      await page.keyboard.press("Enter");
      assert.equal(await page.getByRole("textbox", { name: "tone" }).inputValue(), first);
      await page.getByRole("textbox", { name: "code (required)" }).focus();
      await page.keyboard.type("let x");
      await page.getByRole("listbox", { name: "prompts" }).focus();
      await page.keyboard.press("Control+Enter");
      await page.getByRole("region", { name: "Messages" }).getByText('Review "let x"').waitFor();
      await page.waitForFunction(() => document.activeElement.getAttribute("role") === "listbox");
    });

    inspected(`frames both ways, filtered, with times, and a server without faults (${kind})`, server, async (page) => {
      await tryTool(page, "told");
      await call(page);
      await tab(page, "Protocol");
      await rows(page, "Frames").filter({ hasText: "server/discover" }).first().waitFor();
      await page.getByRole("searchbox").fill("tools/call");
      const calls = rows(page, "Frames").filter({ hasText: "tools/call" });
      await calls.nth(1).waitFor();
      assert.equal(await calls.count(), 2);
      await calls.filter({ hasText: "request" }).click();
      const detail = page.getByRole("region", { name: "Frame", exact: true });
      await detail.getByRole("group", { name: "Message" }).getByText('"method": "tools/call"').waitFor();
      await detail.getByRole("button", { name: "The answer" }).click();
      await detail.getByText("Answered after").waitFor();
      await detail.getByRole("button", { name: "The request" }).waitFor();
      await page.getByRole("combobox", { name: "Direction" }).selectOption("received");
      await page.getByRole("combobox", { name: "Kind" }).selectOption("error");
      // The first message is one that older servers do not know.
      await page.waitForFunction((count) => document.querySelectorAll('[role="listbox"][aria-label="Frames"] [role="option"]').length === count, kind === "modern" ? 0 : 1);
      await page.getByRole("button", { name: "Times" }).click();
      const row = page.getByRole("row").filter({ hasText: "tools/call" });
      assert.match(await row.innerText(), /this program\s+1\s+0\s+0\s+[\d.]+ m?s/);
      await page.getByRole("button", { name: "Tasks" }).click();
      await page.getByText("No call became a task").waitFor();
      await page.getByRole("button", { name: "Faults" }).click();
      await page.getByText("Nothing that the servers sent breaks the protocol").waitFor();
    });
  }

  inspected("a question in the middle of a prompt is answered by its form", [program("offering"), "modern"], async (page) => {
    await choose(page, "Prompts", "ask");
    await page.getByRole("button", { name: "Get the prompt" }).click();
    await page.locator(".card").filter({ hasText: "About what?" }).waitFor();
    const other = await open(await context(), { link: await another(page) });
    await tab(other, "Approvals 1 waiting");
    const card = other.getByRole("article").filter({ hasText: "About what?" });
    await card.locator('[data-path="topic"]').getByRole("textbox").fill("tea");
    await card.getByRole("button", { name: "Answer" }).click();
    await page.getByRole("region", { name: "Messages" }).getByText('"topic":"tea"').waitFor();
  });

  inspected("a question of an older server in the middle of a call is answered by its form", [program("asking")], async (page) => {
    await tryTool(page, "ask");
    const form = { type: "object", properties: { shelf: { type: "string" } }, required: ["shelf"] };
    await fill(page, { method: "elicitation/create", params: { message: "Which shelf?", requestedSchema: form } });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const card = page.locator(".card").filter({ hasText: "Which shelf?" });
    await card.locator('[data-path="shelf"]').getByRole("textbox").fill("left");
    await card.getByRole("button", { name: "Answer" }).click();
    await card.waitFor({ state: "detached" });
    await tab(page, "Protocol");
    await page.getByRole("searchbox").fill("elicitation/create");
    await rows(page, "Frames").filter({ hasText: "result" }).first().click();
    await page.getByRole("group", { name: "Message" }).getByText('"shelf": "left"').waitFor();
    await page.getByRole("button", { name: "Times" }).click();
    await page.getByRole("row").filter({ hasText: "elicitation/create" }).getByText("the server").waitFor();
  });

  inspected("what breaks the protocol is named, and leads to its frame", [program("misbehaving")], async (page) => {
    for (const tool of ["foreign_id", "twice", "both", "string_id", "progress"]) {
      await tryTool(page, `${tool}`);
      await call(page);
    }
    await tab(page, "Protocol");
    await page.getByRole("button", { name: /Faults/ }).click();
    const faults = page.getByRole("listitem").filter({ has: page.getByRole("heading", { level: 3 }) });
    for (const rule of ["unknown-id", "answered-twice", "id-type", "answer"]) {
      await faults.filter({ hasText: rule }).first().waitFor();
    }
    await faults.filter({ hasText: "answered-twice" }).getByRole("button").click();
    const detail = page.getByRole("region", { name: "Frame", exact: true });
    await detail.getByText("was answered before").waitFor();
    await detail.getByRole("group", { name: "Message" }).getByText('"second"').waitFor();
    await page.getByRole("checkbox", { name: "With faults" }).check();
    assert.equal(await rows(page, "Frames").count(), 6);
  });

  flow("inspect: a server behind a URL, whose call becomes a task that is followed", async () => {
    const server = createServer(taskServer());
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const own = await startProgram("toolbox-program", ["inspect", `http://127.0.0.1:${server.address().port}/mcp`]);
    try {
      const page = await open(await context(), own);
      await tryTool(page, "bake");
      await page.getByRole("button", { name: "Call", exact: true }).click();
      const other = await open(await context(), { link: await another(page) });
      await tab(other, "Protocol");
      await other.getByRole("button", { name: "Tasks" }).click();
      const row = other.getByRole("row").filter({ hasText: "task-7" });
      await row.getByText("completed").waitFor();
      await page.getByRole("region", { name: "Result" }).getByText("a loaf").first().waitFor();
      await row.getByRole("button").click();
      await other.getByRole("group", { name: "Message" }).getByText('"taskId": "task-7"').waitFor();
      await other.getByRole("button", { name: "Faults" }).click();
      await other.getByText("Nothing that the servers sent breaks the protocol").waitFor();
    } finally {
      await own.stop();
      server.close();
    }
  });

  inspected("notifications are listed as they come, and the list is paused", [program("misbehaving")], async (page) => {
    await tab(page, "Protocol");
    await page.getByRole("button", { name: "Notifications" }).click();
    const other = await open(await context(), { link: await another(page) });
    await tryTool(other, "progress");
    await call(other);
    await rows(page, "Frames").filter({ hasText: "notifications/progress" }).nth(2).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await call(other);
    await page.getByText(/; [1-9][\d,]* later/).waitFor();
    assert.equal(await rows(page, "Frames").count(), 3);
    await page.getByRole("button", { name: "Go on" }).click();
    await rows(page, "Frames").nth(5).waitFor();
  });

  inspected("frames are saved as JSON lines", [program("offering"), "modern"], async (page) => {
    await tab(page, "Protocol");
    await rows(page, "Frames").filter({ hasText: "resources/templates/list" }).first().waitFor();
    await page.getByRole("searchbox").fill("resources/templates/list");
    await page.waitForFunction(() => document.querySelectorAll('[role="listbox"][aria-label="Frames"] [role="option"]').length === 2);
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as JSON lines" }).click()]);
    const lines = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map((line) => line.direction), ["sent", "received"]);
    assert.equal(JSON.parse(lines[0].text).method, "resources/templates/list");
  });

  inspected("texts of a hostile server are inert in every tab", [program("misbehaving"), "list", "hostile"], async (page) => {
    await tryTool(page, "talk_dirty");
    await call(page);
    await tab(page, "Protocol");
    await page.getByRole("searchbox").fill("tools/list");
    await rows(page, "Frames").filter({ hasText: "result" }).first().click();
    const message = page.getByRole("group", { name: "Message" });
    await message.getByText("⟨U+202E⟩").first().waitFor();
    assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(await page.locator("#page").innerText()));
    assert.equal(await page.locator("#page svg, #page script, #page iframe, #page [onerror]").count(), 0);
  });

  inspected("prompts and resources of a hostile server are inert and bounded", [program("offering"), "broken"], async (page) => {
    await choose(page, "Prompts", "review");
    await page.getByText("Reviews").first().waitFor();
    for (const name of ["Prompts", "Resources"]) {
      await tab(page, name);
      assert.ok(!/[\u0007\u202a-\u202e\u200b]/.test(await page.locator("#page").innerText()), name);
    }
    await tab(page, "Protocol");
    await page.getByRole("button", { name: /Faults/ }).click();
    await page.getByRole("listitem").filter({ hasText: "duplicate" }).first().waitFor();
  });

  inspected("a server that ends says why, and its frames stay", [program("misbehaving")], async (page) => {
    await tryTool(page, "die");
    await call(page);
    await tab(page, "Protocol");
    await rows(page, "Frames").filter({ hasText: "tools/call" }).first().waitFor();
    await tab(page, "Tools");
    // It is started again by itself, with the next connection.
    await page.getByRole("listbox", { name: "Tools" }).getByRole("option").filter({ hasText: "echo" }).waitFor();
  });

  for (const colorScheme of ["light", "dark"]) {
    inspected(
      `axe finds nothing, ${colorScheme}, wide and narrow`,
      [program("offering")],
      async (page) => {
        await choose(page, "Prompts", "review");
        await page.getByRole("textbox", { name: "code (required)" }).fill("let x");
        await page.getByRole("button", { name: "Get the prompt" }).click();
        await page.getByRole("region", { name: "Messages" }).waitFor();
        await accessible(page, "Prompts");
        await picture(page, `prompts-${colorScheme}`);
        await choose(page, "Resources", "test://notes/{id}");
        await page.getByRole("textbox", { name: "id", exact: true }).fill("7");
        await page.getByRole("button", { name: "Read", exact: true }).click();
        await page.getByRole("region", { name: "Contents" }).waitFor();
        await accessible(page, "Resources");
        await picture(page, `resources-${colorScheme}`);
        await tab(page, "Protocol");
        await rows(page, "Frames").filter({ hasText: "prompts/get" }).first().click();
        await accessible(page, "Protocol");
        await picture(page, `protocol-${colorScheme}`);
        await page.getByRole("button", { name: "Times" }).click();
        await page.getByRole("row").filter({ hasText: "prompts/get" }).waitFor();
        await accessible(page, "Times");
        await picture(page, `times-${colorScheme}`);
        await page.setViewportSize({ width: 360, height: 740 });
        await picture(page, `times-narrow-${colorScheme}`);
        await page.getByRole("button", { name: "Frames" }).click();
        await page.getByRole("button", { name: "← All frames" }).click();
        await rows(page, "Frames").first().waitFor();
        await picture(page, `protocol-narrow-${colorScheme}`);
        await accessible(page, "Protocol on a phone");
        await tab(page, "Prompts");
        await picture(page, `prompts-narrow-${colorScheme}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
        assert.equal(wide, false, "the page does not scroll sideways");
      },
      { colorScheme },
    );
  }

  if (EVERYTHING && existsSync(EVERYTHING)) {
    inspected("the server `everything` of the protocol's authors", ["node", EVERYTHING], async (page) => {
      await rows(page, "Tools").filter({ hasText: "echo" }).first().waitFor();
      await tryTool(page, "echo");
      await fill(page, { message: "hello" });
      const result = await call(page);
      await result.getByText("hello").first().waitFor();
      await tab(page, "Prompts");
      await rows(page, "prompts").nth(2).waitFor();
      await tab(page, "Resources");
      await rows(page, "resources").nth(2).waitFor();
      await rows(page, "resources").first().click();
      await page.getByRole("button", { name: "Read", exact: true }).click();
      await page.getByRole("region", { name: "Contents" }).waitFor();
      await tab(page, "Protocol");
      await rows(page, "Frames").filter({ hasText: "initialize" }).first().waitFor();
      await page.getByRole("button", { name: /Faults/ }).click();
      console.log(`        faults of everything: ${(await page.locator(".one").innerText()).replaceAll("\n", " ").slice(0, 600)}`);
      await picture(page, "everything-faults");
    });
  } else {
    console.log("left out: the server `everything`, since MCP_EVERYTHING names no file");
  }
}
