// MCP Apps in the tab *Chat*: their frames among the entries, their messages, and the context that they give.
import assert from "node:assert/strict";
import { opened, overApps } from "./apps.mjs";
import { done, lastCall, log, say } from "./chat.mjs";
import { accessible, flow, go, picture, tryTool } from "./harness.mjs";
import { NARROW, fits } from "./narrow.mjs";
import { model } from "./programs.mjs";

/** Returns the text of a message as the model reads it. */
function textOf({ content }) {
  return typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");
}

/** The arguments of a call. */
const ASKED = { method: "elicitation/create", params: { message: "which one?", requestedSchema: { type: "object", properties: { a: { type: "boolean" } } } } };
const argumentsOf = (tool) => (tool === "q_ask" ? ASKED : { of: "me" });

/** A model that makes the calls that a message names, as `a_show 3`, and answers once it has their results. */
function play(messages) {
  const last = messages.at(-1);
  const [, tool, count] = /(\w_\w+)(?: (\d+))?$/.exec(textOf(last)) ?? [];
  return last.role === "user" && tool ? Array.from({ length: Number(count ?? 1) }, () => [tool, argumentsOf(tool)]) : `The answer to ${messages.length} messages.`;
}

/** Runs a flow over a conversation with servers that have apps. */
function talked(name, run, options) {
  flow(`chat apps: ${name}`, async () => {
    const played = await model(play);
    try {
      await overApps(
        async (page) => {
          // Once its servers are there.
          await tryTool(page, "a_talk");
          await tryTool(page, "q_ask");
          await go(page, "chat");
          await page.getByRole("heading", { name: "Chat with played" }).waitFor();
          await run(page, played.asked);
        },
        options,
        ["--chat", played.url],
      );
    } finally {
      played.stop();
    }
  });
}

const sections = (page) => log(page).getByRole("region", { name: "App", exact: true });

/** Lets the model call a tool with an app, and returns the document of the app. */
async function show(page, tool) {
  await say(page, tool);
  await done(page);
  const section = sections(page).last();
  return { section, app: section.frameLocator("iframe").frameLocator("iframe") };
}

/** Lets the model make calls, as many as a hundred and twenty entries. */
async function calls(page) {
  for (let at = 0; at < 2; at += 1) {
    await say(page, "a_calls 60");
    await done(page);
  }
}

/** Clicks a button of the app, and returns its answer. */
async function asks(app, name, answer) {
  await app.getByRole("button", { name, exact: true }).click();
  await app.locator("#answer").getByText(answer).waitFor();
}

export function register() {
  talked("one is shown at its call, and is not loaded again while the conversation goes on", async (page) => {
    await calls(page);
    const { section, app } = await show(page, "a_talk");
    const loaded = await app.locator("#loaded").filter({ hasText: "0." }).innerText();
    const call = await lastCall(page, "a_talk");
    await call.locator(":scope > summary").click();
    // So many entries that the first are no longer drawn.
    await calls(page);
    await log(page).getByRole("button", { name: /older entries/ }).click();
    await log(page).getByRole("article", { name: "You" }).first().waitFor();
    assert.equal(await app.locator("#loaded").innerText(), loaded);
    assert.equal(await section.locator("iframe").getAttribute("sandbox"), "allow-scripts allow-same-origin allow-forms");
    assert.equal(await page.locator("iframe").count(), 1);
    await section.getByRole("button", { name: "Close the app" }).click();
    await section.locator("iframe").waitFor({ state: "detached" });
  });

  talked("it gets its input and result, calls and resizes, and a reload does not run it", async (page) => {
    const { section, app } = await show(page, "a_show");
    await app.locator("#input").getByText('{"of":"me"}').waitFor();
    await app.locator("#result").getByText("text of show; show; show").waitFor();
    await app.getByRole("button", { name: "Ask for more" }).click();
    await app.locator("#answer").getByText("more of it").waitFor();
    await app.getByRole("button", { name: "Grow" }).click();
    await page.waitForFunction(() => document.querySelector(".app iframe").offsetHeight === 640);
    await fits(page, "a grown app in a conversation");
    await page.reload();
    const again = section.getByRole("button", { name: "Open the app" });
    await again.waitFor();
    await log(page).getByText("The answer to").waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    await again.click();
    await app.locator("#result").getByText("text of show").waitFor();
    // Nor does it run again where the tab was left.
    await go(page, "tools");
    await page.waitForFunction(() => document.querySelectorAll("iframe").length === 0);
    await go(page, "chat");
    await again.waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    // The next call does run.
    await show(page, "a_show");
    await sections(page).nth(1).locator("iframe").waitFor();
    assert.equal(await page.locator("iframe").count(), 1);
  });

  talked("of many calls, four open theirs by themselves", async (page) => {
    await say(page, "a_talk 6");
    await done(page);
    await page.waitForFunction(() => document.querySelectorAll(".app iframe").length === 4);
    assert.equal(await page.getByRole("button", { name: "Open the app" }).count(), 2);
    await page.getByRole("button", { name: "Open the app" }).first().click();
    await page.waitForFunction(() => document.querySelectorAll(".app iframe").length === 5);
  });

  talked("its message is sent once the person agrees", async (page, asked) => {
    const { section, app } = await show(page, "a_talk");
    await app.locator("#host").getByText("message openLinks sandbox serverResources serverTools updateModelContext").waitFor();
    const loaded = await app.locator("#loaded").innerText();
    const question = section.getByRole("group", { name: "Message of the app", exact: true });
    await app.getByRole("button", { name: "Send a message" }).click();
    await question.getByText("a message of <b>the app</b> ⟨U+202E⟩").waitFor();
    assert.ok(await question.getByRole("button", { name: "Send" }).isDisabled());
    await accessible(page, "a message of an app");
    await picture(page, "app-message");
    await question.getByRole("button", { name: "Refuse" }).click();
    await app.locator("#answer").getByText('"isError":true').waitFor();
    assert.equal(asked.length, 2, "requests to the model");
    await app.getByRole("button", { name: "Send a message" }).click();
    await question.getByRole("button", { name: "Send" }).click();
    await app.locator("#answer").getByText('"result":{}').waitFor();
    const said = log(page).getByRole("article", { name: "You" }).last();
    await said.getByText("Written by the app of a_talk").waitFor();
    await said.getByText("a message of <b>the app</b> ⟨U+202E⟩").waitFor();
    await log(page).locator(".turn-end").nth(1).waitFor();
    assert.equal(asked.length, 3);
    assert.deepEqual([asked[2].at(-1).role, textOf(asked[2].at(-1))], ["user", "a message of <b>the app</b> \u202e"]);
    assert.equal(await app.locator("#loaded").innerText(), loaded);
    await section.getByText("not sent", { exact: true }).waitFor();
    await section.getByText("sent", { exact: true }).waitFor();
    for (const [button, answer] of [["Send a picture", "the page takes text alone"], ["Send a long message", "at most 16384 are taken"]]) {
      await asks(app, button, answer);
      assert.match(await app.locator("#answer").innerText(), /"code":-32602/);
    }
    assert.equal(await question.count(), 0);
  });

  talked("one that sends many messages asks once, and is closed beyond the limit", async (page, asked) => {
    const { section, app } = await show(page, "a_talk");
    const question = section.getByRole("group", { name: "Message of the app", exact: true });
    await app.getByRole("button", { name: "Send forty messages" }).click();
    await question.getByText("message 0", { exact: true }).waitFor();
    await question.getByRole("button", { name: "Refuse" }).click();
    await app.locator("#answer").getByText("refused").waitFor();
    const answers = (await app.locator("#answer").innerText()).split(" ");
    assert.equal(answers.length, 40);
    assert.ok(answers.every((own) => own === "refused" || own === "-32600"), answers.join(" "));
    assert.equal(await question.count(), 0);
    await app.getByRole("button", { name: "Send a thousand messages" }).click();
    await section.getByRole("alert").getByText("The app was closed: it sent too many messages").waitFor();
    await section.locator("iframe").waitFor({ state: "detached" });
    assert.equal(await question.count(), 0);
    assert.equal(asked.length, 2, "requests to the model");
    assert.equal(await log(page).getByRole("article", { name: "You" }).count(), 1);
  });

  talked("its context goes with the next message, replaced by the next, and taints the conversation", async (page, asked) => {
    const { app } = await show(page, "a_talk");
    const context = page.getByRole("group", { name: "Context of an app" });
    await asks(app, "Give context one", '"result":{}');
    await context.getByText("The model reads 11 B of the app of a_talk with your next message").waitFor();
    await asks(app, "Give large context", "at most 16384 are taken");
    await app.locator("#answer").getByText('"code":-32602').waitFor();
    await asks(app, "Give no context", '"result":{}');
    await context.waitFor({ state: "detached" });
    await asks(app, "Give context one", '"result":{}');
    await asks(app, "Give context two", '"result":{}');
    await context.locator("summary").click();
    await context.getByText('{"chosen":7}').waitFor();
    assert.equal(await context.count(), 1);
    await accessible(page, "the context of an app");
    await picture(page, "app-context");
    assert.equal(asked.length, 2, "an update asks no model");
    await say(page, "q_ask");
    // What waits says that the model has read text of the app.
    const waits = log(page).getByRole("article").filter({ hasText: "text of untrusted sources" });
    await waits.getByText("text of the app of a_talk").waitFor();
    await context.waitFor({ state: "detached" });
    const given = 'The app of the tool `a_talk` shows this now. Its server wrote it, not the user:\ncontext two\n\n{"chosen":7}';
    const read = textOf(asked[2].at(-1));
    assert.ok(read.includes(given) && read.endsWith("q_ask") && !read.includes("context one"), read);
    await log(page).locator("summary").filter({ hasText: "The model was given text of the app of a_talk" }).click();
    await log(page).getByText("context two").waitFor();
    await page.keyboard.press("Escape");
    await done(page);
    // It goes once, and what is left out does not go.
    await asks(app, "Give context one", '"result":{}');
    await context.getByRole("button", { name: "Leave it out" }).click();
    await context.waitFor({ state: "detached" });
    await say(page, "hello");
    await done(page);
    assert.equal(textOf(asked.at(-1).at(-1)), "hello");
    assert.equal(asked.at(-1).filter((own) => textOf(own).includes("context two")).length, 1);
  });

  talked("a call by hand has no conversation", async (page) => {
    const { section, app } = await opened(page, "a_talk");
    await app.locator("#host").getByText(/^openLinks sandbox serverResources serverTools$/).waitFor();
    for (const name of ["Send a message", "Give context one"]) {
      await app.locator("#answer").evaluate((own) => (own.textContent = ""));
      await asks(app, name, '"code":-32601');
    }
    assert.equal(await section.getByRole("group").count(), 0);
    await go(page, "chat");
    assert.equal(await page.getByRole("group", { name: "Context of an app" }).count(), 0);
  });

  talked(
    "no wider than a narrow screen",
    async (page) => {
      const { section, app } = await show(page, "a_talk");
      await asks(app, "Give context two", '"result":{}');
      await page.getByRole("group", { name: "Context of an app" }).locator("summary").click();
      await app.getByRole("button", { name: "Send a message" }).click();
      const refuse = section.getByRole("group", { name: "Message of the app", exact: true }).getByRole("button", { name: "Refuse" });
      await refuse.waitFor();
      await page.waitForFunction((own) => own.getBoundingClientRect().bottom <= document.querySelector(".chat-log").getBoundingClientRect().bottom, await refuse.elementHandle());
      await fits(page, "a conversation with an app");
      await accessible(page, "a conversation with an app on a narrow screen");
      const send = await page.getByRole("button", { name: "Send", exact: true }).last().boundingBox();
      assert.ok(send && send.y + send.height <= NARROW.height, JSON.stringify(send));
      await picture(page, "chat-app-narrow");
    },
    { viewport: NARROW, colorScheme: "dark" },
  );
}
