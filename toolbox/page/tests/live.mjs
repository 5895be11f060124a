// The tab *Live*.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { overApps } from "./apps.mjs";
import { done, log, say } from "./chat.mjs";
import { accessible, call, context, fill, flow, go, open, start, tryTool } from "./harness.mjs";
import { model } from "./programs.mjs";
import { card } from "./servers.mjs";

/** Makes a call in another page. */
async function make(session, tool, json) {
  const page = await session("try");
  await tryTool(page, tool);
  await fill(page, json);
  await call(page);
  return page;
}

const rows = (page) => page.getByRole("listbox", { name: "Calls" }).getByRole("option");

export function register(program, session) {
  flow("live: a call appears while the page is open, with arguments, result and caller", async () => {
    const page = await session("live");
    await page.getByRole("searchbox").fill("seen live");
    await make(session, "echo", { text: "seen live" });
    // Alone in the list: calls of other flows are there until the search is applied.
    const row = rows(page).filter({ hasText: "echo" }).and(page.locator('[aria-setsize="1"]'));
    await row.waitFor();
    await row.click();
    const detail = page.getByRole("region", { name: "Call", exact: true });
    await detail.getByRole("group", { name: "Arguments" }).getByText("seen live").waitFor();
    await detail.getByRole("group", { name: "Result" }).getByText("seen live").waitFor();
    await detail.getByText(/^page\/\d+$/).waitFor();
  });

  flow("live: repairs, refusals and failures are told apart", async () => {
    await make(session, "add", { a: "7", b: 1 });
    await make(session, "add", { a: true, b: 1 });
    await make(session, "fails", { reason: "told apart" });
    const page = await session("live");
    await page.getByRole("combobox", { name: "State" }).selectOption("failed");
    await page.getByRole("searchbox").fill("told apart");
    await rows(page).filter({ hasText: "fails" }).first().waitFor();
    await page.getByRole("combobox", { name: "State" }).selectOption("refused");
    await page.getByRole("searchbox").fill('{"a":true,"b":1}');
    await rows(page).filter({ hasText: "refused" }).first().click();
    await page.getByRole("region", { name: "Call", exact: true }).getByText("args.wrong_type").first().waitFor();
  });

  flow("live: a repair is named", async () => {
    await make(session, "add", { a: "77", b: 1 });
    const page = await session("live");
    await page.getByRole("searchbox").fill('"77"');
    await rows(page).first().click();
    await page.getByRole("region", { name: "Call", exact: true }).getByText("Repaired").waitFor();
  });

  flow("live: an agent with an agent below, as a tree with steps, text and stop reasons", async () => {
    await make(session, "editor", { task: "Write about sums" });
    const page = await session("live");
    await page.getByRole("button", { name: "Agents" }).click();
    const editor = page.locator("details.agent").first();
    await editor.getByText("answered").first().waitFor();
    const text = await editor.innerText();
    assert.match(text, /^editor answered 2 requests/);
    const clerk = editor.locator("details.agent").first();
    assert.match(await clerk.innerText(), /^clerk answered 2 requests/);
    await clerk.getByText("scripted-clerk").first().waitFor();
    assert.match(await clerk.innerText(), /120 \+ 30 tokens/);
    await editor.getByText("Two and three make five.").waitFor();
    await clerk.getByRole("button", { name: /failed fails/ }).click();
    await page.getByRole("region", { name: "Call", exact: true }).getByText("no paper").first().waitFor();
    await page.getByRole("heading", { name: /Around it/ }).waitFor();
    assert.ok((await page.locator(".waterfall li").count()) >= 4);
  });

  flow("live: the waterfall leads from call to call", async () => {
    await make(session, "editor", { task: "Write about falls" });
    const page = await session("live");
    await page.getByRole("searchbox").fill("clerk");
    await rows(page).filter({ hasText: "clerk" }).last().click();
    await page.locator(".waterfall button").filter({ hasText: "add" }).first().click();
    await page.getByRole("heading", { name: "add", level: 2 }).waitFor();
  });

  flow("live: an approval is on the record, with who decided", async () => {
    const page = await session("try");
    await tryTool(page, "pay");
    await fill(page, { cents: 42, to: "Lena" });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const approvals = await session("approvals");
    const card = approvals.getByRole("article").filter({ hasText: "Lena" });
    await card.getByRole("link", { name: "The call in Live" }).click();
    await rows(approvals).filter({ hasText: "waiting" }).waitFor();
    await go(approvals, "approvals");
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("paid 42 to Lena").first().waitFor();
    const live = await session("live");
    await live.getByRole("searchbox").fill("lena");
    await rows(live).filter({ hasText: "done" }).click();
    await live.getByText("approved by page").waitFor();
  });

  flow("live: it is paused, and goes on", async () => {
    const page = await session("live");
    await page.getByRole("searchbox").fill("pause me");
    await page.getByRole("button", { name: "Pause" }).click();
    await make(session, "echo", { text: "pause me" });
    await page.getByText(/; [1-9][\d,]* events later/).waitFor();
    assert.equal(await rows(page).count(), 0);
    await page.getByRole("button", { name: "Go on" }).click();
    await rows(page).first().waitFor();
  });

  flow("live: events are saved as JSON lines, opened again and replayed", async () => {
    await make(session, "editor", { task: "Write a recording" });
    const page = await session("live");
    await rows(page).first().waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as JSON lines" }).click()]);
    const path = join(mkdtempSync(join(tmpdir(), "page-")), "calls.jsonl");
    await download.saveAs(path);
    const lines = readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(lines.some((line) => line.type === "tool_finished") && lines.every((line) => typeof line.sequence === "number"));
    await page.getByLabel("Recording", { exact: true }).setInputFiles(path);
    await page.getByText("of the recording calls.jsonl").waitFor();
    await page.getByRole("combobox", { name: "Speed" }).selectOption("25");
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.getByText(`${lines.length.toLocaleString("en")} of ${lines.length.toLocaleString("en")} events`).waitFor();
    await page.getByRole("button", { name: "Back to the program" }).click();
    await page.getByRole("button", { name: "Open a recording" }).waitFor();
  });

  flow("live: a file that is no recording is refused, and hostile lines are inert", async () => {
    const page = await session("live");
    const file = (text) => ({ name: "x.jsonl", mimeType: "text/plain", buffer: Buffer.from(text) });
    await page.getByLabel("Recording", { exact: true }).setInputFiles(file("nothing\n{}\n[1]\n"));
    await page.getByText("This file holds no events.").waitFor();
    const line = { sequence: 1, time_ms: 1, type: "tool_started", call_id: "<img src=x onerror=window.hacked=1>", tool: "<b>x</b>\u202e", arguments: "{}", path: "no list", step: 1 };
    await page.getByLabel("Recording", { exact: true }).setInputFiles(file(`${JSON.stringify(line)}\nbroken\n${JSON.stringify({ ...line, sequence: 2, type: "tool_finished", duration_ms: "x", preview: 5 })}\n`));
    await page.getByText("1 lines could not be read").waitFor();
    await rows(page).first().click();
    await page.getByText("<b>x</b>⟨U+202E⟩").first().waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });

  flow("live: a prompt that changed within a run has the byte and the cause at its request", async () => {
    const asks = { method: "elicitation/create", params: { message: "which one?", requestedSchema: { type: "object", properties: {} } } };
    const played = await model((messages) => (messages.at(-1).role === "user" ? [["q_ask", asks]] : "Done."));
    try {
      await overApps(
        async (page) => {
          await tryTool(page, "b_show");
          await tryTool(page, "q_ask");
          await go(page, "chat");
          await say(page, "ask me");
          await log(page).getByText("which one?").waitFor();
          // The tools of a server go while the run waits.
          await go(page, "servers");
          const server = await card(page, "b");
          await server.getByRole("button", { name: "Disconnect" }).click();
          await server.locator("summary").filter({ hasText: "switched off" }).waitFor();
          await go(page, "chat");
          await log(page).getByRole("button", { name: "Decline" }).click();
          await done(page);
          await go(page, "live");
          await page.getByRole("button", { name: "Agents" }).click();
          const steps = page.locator("details.agent").first().locator(".steps > li");
          await steps.nth(1).getByText(/^the prompt changed at byte [1-9][\d,]+ \(the tool \w_\w+\): what was cached ends there$/).waitFor();
          assert.equal(await page.getByText("the prompt changed").count(), 1);
          await accessible(page, "a prompt that changed");
        },
        {},
        ["--chat", played.url],
      );
    } finally {
      played.stop();
    }
  });

  flow("live: changes of a prompt in a recording are text, whatever they are", async () => {
    const page = await session("live");
    const causes = [{ tool: "<img src=x onerror=window.hacked=1>\u202e" }, "system", "settings", { message: 3 }, null, 7, "constructor"];
    const events = causes.flatMap((because, at) => [
      { type: "prefix_changed", at: at * 1000, because, step: at },
      { type: "model_started", model: "m", provider: "p", step: at },
    ]);
    const lines = events.map((event, at) => JSON.stringify({ sequence: at, time_ms: at, path: ["agent"], run: "r", ...event }));
    await page.getByLabel("Recording", { exact: true }).setInputFiles({ name: "x.jsonl", mimeType: "text/plain", buffer: Buffer.from(lines.join("\n")) });
    await page.getByRole("button", { name: "Agents" }).click();
    await page.getByText("the prompt changed").nth(6).waitFor();
    const shown = await page.getByText("the prompt changed").allInnerTexts();
    const causesShown = shown.map((text) => /^the prompt changed at byte (\d,000|0) \((.*)\): what was cached ends there$/.exec(text)?.[2]);
    assert.deepEqual(causesShown.slice(0, 4), ["the tool <img src=x onerror=window.hacked=1>⟨U+202E⟩", "the system prompt", "the settings", "message 3"]);
    assert.equal(causesShown.length, 7);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });

  flow("live: 100 calls a second do not freeze it", async () => {
    const page = await session("live");
    await rows(page).first().waitFor();
    await page.evaluate(() => {
      window.longest = 0;
      let last = performance.now();
      (function frame(now) {
        window.longest = Math.max(window.longest, now - last);
        last = now;
        requestAnimationFrame(frame);
      })(last);
    });
    // By this page itself: one in the background gets no frames.
    await page.evaluate(async () => {
      const headers = { "content-type": "application/json", "x-toolbox-page": localStorage.getItem("toolbox-page-key") };
      const body = JSON.stringify({ id: "traffic", tool: "traffic", arguments: '{"calls": 500, "per_second": 100}' });
      await (await fetch("/api/calls", { method: "POST", headers, body })).text();
    });
    await page.getByRole("searchbox").fill("traffic-499");
    await rows(page).filter({ hasText: "add" }).waitFor();
    await page.getByRole("searchbox").fill("");
    assert.ok((await rows(page).count()) < 100, "only the rows in sight are drawn");
    const longest = await page.evaluate(() => window.longest);
    // A second is far more than the frames of a busy machine take; a list that is drawn whole takes several.
    assert.ok(longest < 1000, `a frame took ${longest} ms`);
    console.log(`        the longest frame took ${Math.round(longest)} ms`);
  });

  flow("live: a page that comes back after a restart goes on by itself", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "page-")), "sessions.json");
    let own = await start("--sessions", file);
    const browser = await context();
    const page = await open(browser, own);
    await go(page, "live");
    await own.kill();
    await page.getByText("Connecting to the program").waitFor();
    own = await start("--sessions", file, "--http", `127.0.0.1:${own.port}`);
    await page.getByText("Connecting to the program").waitFor({ state: "detached" });
    await tryTool(page, "echo");
    await fill(page, { text: "after the restart" });
    await (await call(page)).getByText("after the restart").first().waitFor();
    await go(page, "live");
    await rows(page).filter({ hasText: "echo" }).first().waitFor();
    assert.equal(readFileSync(file, "utf8").includes(await page.evaluate(() => localStorage.getItem("toolbox-page-key"))), false);
    assert.deepEqual(browser.faults, []);
    await browser.close();
    await own.stop();
  });

  flow("live: without a file of sessions, a new link wakes the old page", async () => {
    let own = await start();
    const browser = await context();
    const page = await open(browser, own);
    await own.kill();
    own = await start("--http", `127.0.0.1:${own.port}`);
    await page.getByText("The session has ended").waitFor();
    await open(browser, own);
    await page.getByText("The session has ended").waitFor({ state: "detached" });
    await browser.close();
    await own.stop();
  });

  flow("live: axe finds nothing, light and dark", async () => {
    await make(session, "editor", { task: "Write for all" });
    for (const colorScheme of ["light", "dark"]) {
      const page = await session("live", { colorScheme });
      await rows(page).first().waitFor();
      await rows(page).first().click();
      await accessible(page, `live ${colorScheme}`);
      await page.getByRole("button", { name: "Agents" }).click();
      await page.locator("details.agent").first().waitFor();
      await accessible(page, `agents ${colorScheme}`);
    }
  });
}
