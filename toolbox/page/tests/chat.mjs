// The tab *Chat*.
import assert from "node:assert/strict";
import { accessible, flow, go, picture } from "./harness.mjs";

/** The number of turns that a page had before what was said last. */
const turns = new WeakMap();

/** Says something in a page that is at the tab. */
export async function say(page, text) {
  turns.set(page, await log(page).locator(".turn-end").count());
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.keyboard.press("Enter");
}

export function log(page) {
  return page.getByRole("region", { name: "Conversation" });
}

/** Waits until the model is done with what was said last. */
export async function done(page) {
  await log(page).locator(".turn-end").nth(turns.get(page)).waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
}

/** Returns the last call of the conversation, opened. */
export async function lastCall(page, tool) {
  const own = log(page).locator("details.call").filter({ hasText: tool }).last();
  await own.waitFor();
  if (!(await own.evaluate((details) => details.open))) {
    await own.locator(":scope > summary").click();
  }
  return own;
}

export function register(program, session) {
  flow("chat: a conversation goes on, and a reload shows it", async () => {
    const page = await session("chat");
    await page.getByRole("heading", { name: "Chat with scripted-talker" }).waitFor();
    await say(page, "good morning");
    await log(page).getByText("You said good morning; messages of yours: 1.").waitFor();
    await done(page);
    await log(page).getByText(/Answered\. 1,000 \+ 20 tokens, 0\.0\d+ USD/).waitFor();
    await say(page, "and again");
    await log(page).getByText("messages of yours: 2.").waitFor();
    await done(page);
    await page.getByText(/In all 2,000 \+ 40 tokens/).waitFor();
    assert.equal(await log(page).locator("em").last().innerText(), "and again");
    await page.reload();
    await log(page).getByText("messages of yours: 2.").waitFor();
    assert.equal(await log(page).getByRole("article", { name: "You" }).count(), 2);
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await page.getByRole("button", { name: "Keep it" }).click();
    assert.equal(await log(page).getByRole("article").count(), 4);
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await page.getByRole("button", { name: "Clear the conversation" }).click();
    await log(page).getByText("Ask something.").waitFor();
    await say(page, "new");
    await log(page).getByText("messages of yours: 1.").waitFor();
  });

  flow("chat: a reload while the model works loses nothing", async () => {
    const page = await session("chat");
    await say(page, "endless");
    await log(page).getByText(/and so on and so on/).waitFor();
    await page.reload();
    await log(page).getByText(/and so on and so on/).waitFor();
    const length = (await log(page).innerText()).length;
    await page.waitForFunction((length) => document.querySelector(".chat-log").innerText.length > length, length + 20);
    await page.keyboard.press("Escape");
    await done(page);
    await log(page).getByText("Stopped.").waitFor();
    await say(page, "hello");
    await log(page).getByText("messages of yours: 2.").waitFor();
  });

  flow("chat: the button Stop stops, and Go on goes on", async () => {
    const page = await session("chat");
    await say(page, "endless");
    await log(page).getByText(/and so on and so on/).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await done(page);
    await page.getByRole("button", { name: "Go on" }).click();
    turns.set(page, 1);
    await page.getByRole("button", { name: "Stop" }).click();
    await done(page);
    assert.equal(await log(page).getByRole("article", { name: "You" }).count(), 1);
  });

  flow("chat: a call waits in its place, and in Approvals", async () => {
    const page = await session("chat");
    await say(page, "pay 500 Ada");
    const own = log(page).getByRole("article").filter({ hasText: "May pay run?" });
    await own.waitFor();
    await page.getByRole("navigation", { name: "Tabs" }).getByText("waiting").waitFor({ state: "attached" });
    await own.getByRole("button", { name: "Edit" }).click();
    const form = own.getByRole("form", { name: "Other arguments" });
    await form.locator('[data-path="cents"] input').last().fill("0");
    await own.getByRole("button", { name: "Approve with these arguments" }).click();
    await form.getByText("`cents` must be at least 1").waitFor();
    await form.locator('[data-path="cents"] input').last().fill("70");
    await own.getByRole("button", { name: "Approve with these arguments" }).click();
    await done(page);
    const call = await lastCall(page, "pay");
    await call.getByText("paid 70 to Ada").first().waitFor();
    await log(page).getByText("That is done.").waitFor();

    await say(page, "pay 600 Bob");
    await log(page).getByLabel("Reason, for the model").fill("not this month");
    await log(page).getByRole("button", { name: "Deny" }).click();
    await done(page);
    await (await lastCall(page, "pay")).getByText("not this month").first().waitFor();

    await say(page, "pay 700 Cleo");
    await log(page).getByText("May pay run?").waitFor();
    await go(page, "approvals");
    await page.getByRole("article").filter({ hasText: "Cleo" }).getByRole("button", { name: "Approve", exact: true }).click();
    await go(page, "chat");
    await done(page);
    await (await lastCall(page, "pay")).getByText("paid 700 to Cleo").first().waitFor();
  });

  flow("chat: a reason that is typed stays when the conversation is slower than what waits", async () => {
    const page = await session("chat");
    await say(page, "good morning");
    await done(page);
    await page.route("**/api/chat/show", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await route.continue();
    });
    await say(page, "pay 600 Bob");
    await log(page).getByLabel("Reason, for the model").fill("not this month");
    await log(page).locator("details.call").filter({ hasText: "May pay run?" }).waitFor();
    assert.equal(await log(page).getByLabel("Reason, for the model").inputValue(), "not this month");
    await log(page).getByRole("button", { name: "Deny" }).click();
    await done(page);
    await (await lastCall(page, "pay")).getByText("not this month").first().waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  flow("chat: a question of a tool is answered in its place", async () => {
    const page = await session("chat");
    await say(page, "book Krone");
    const own = log(page).getByRole("article").filter({ hasText: "A table at Krone" });
    await own.getByRole("button", { name: "Decline" }).click();
    await done(page);
    await (await lastCall(page, "book")).getByText("does not want to answer").first().waitFor();
  });

  flow("chat: a picture, an unknown tool, garbage and an agent below are shown", async () => {
    const page = await session("chat");
    await say(page, "picture");
    await done(page);
    await (await lastCall(page, "picture")).getByRole("img", { name: "Picture of the result, image/png" }).waitFor();
    await say(page, "unknown");
    await done(page);
    await (await lastCall(page, "no_such_tool")).getByText("Failed").waitFor();
    await say(page, "garbage");
    await done(page);
    await (await lastCall(page, "add")).getByText("refused").first().waitFor();
    await say(page, "editor");
    await done(page);
    await log(page).getByText(/by editor › clerk/).first().waitFor();
  });

  flow("chat: a fault has its reason, and is tried again", async () => {
    const page = await session("chat");
    await say(page, "hello");
    await done(page);
    await say(page, "flaky");
    await log(page).getByText("429, slow down").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await log(page).getByText("messages of yours: 2.").waitFor();
    // The text is there before the turn has ended, and nothing is sent until then.
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
    await say(page, "key");
    await log(page).getByText(/the key was refused\. The program that serves this page has the key/).waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    assert.equal(await log(page).getByRole("article", { name: "You" }).count(), 3);
  });

  flow("chat: what cannot be sent stays in the box", async () => {
    const page = await session("chat");
    await page.route("**/api/chat/send", (route) => route.abort());
    await say(page, "hello");
    await page.getByRole("alert").getByText("The program cannot be reached.").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "hello");
    await page.unroute("**/api/chat/send");
    await go(page, "tools");
    await go(page, "chat");
    assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "hello");
    await page.getByRole("button", { name: "Send" }).click();
    await log(page).getByText("messages of yours: 1.").waitFor();
  });

  flow("chat: HTML and scripts of a model are text", async () => {
    const page = await session("chat");
    await say(page, "hostile");
    await done(page);
    await log(page).getByText("<script>window.hacked = 1</script>").waitFor();
    await log(page).getByText("⟨U+202E⟩turned").waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await log(page).locator("script, img, a[href^=javascript]").count(), 0);
    await say(page, "<b>mine</b>");
    await log(page).getByRole("article", { name: "You" }).getByText("<b>mine</b>").waitFor();
  });

  flow("chat: a long text is drawn in part, and there as a whole", async () => {
    const page = await session("chat");
    await say(page, "long");
    await done(page);
    await log(page).getByText("The whole as text").waitFor();
  });

  flow("chat: two tabs of one browser do not mix, nor does a copy of one", async () => {
    const page = await session("chat");
    await say(page, "first");
    await done(page);
    const other = await page.context().newPage();
    await other.goto(`${program.url}/#/chat`);
    await log(other).getByText("Ask something.").waitFor();
    await say(other, "second");
    await log(other).getByText("You said second; messages of yours: 1.").waitFor();
    assert.equal(await log(page).getByText("second").count(), 0);
    // As a tab that is duplicated.
    const kept = await page.evaluate(() => sessionStorage.getItem("toolbox-page-chat"));
    await other.evaluate((kept) => sessionStorage.setItem("toolbox-page-chat", kept), kept);
    await other.reload();
    await log(other).getByText("Ask something.").waitFor();
    await other.waitForFunction((kept) => sessionStorage.getItem("toolbox-page-chat") !== kept, kept);
    await say(other, "third");
    await log(other).getByText("You said third; messages of yours: 1.").waitFor();
    assert.equal(await log(page).getByText("third").count(), 0);
  });

  flow("chat: without a model the tab says how to switch it on", async () => {
    const page = await session("tools");
    await page.route("**/api/state", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), chat: null } });
    });
    await page.reload();
    await go(page, "chat");
    await page.getByText("This page has no model to talk to.").waitFor();
    await page.getByText("--chat openai:gpt-5").waitFor();
    await accessible(page, "chat, off");
  });

  flow("chat: by keys alone", async () => {
    const page = await session("chat");
    const box = page.getByRole("textbox", { name: "Message" });
    await box.focus();
    await page.keyboard.type("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    assert.equal(await box.inputValue(), "one\ntwo");
    turns.set(page, 0);
    await page.keyboard.press("Enter");
    await done(page);
    await log(page).getByText(/You said \*?one\s+two/).waitFor();
    assert.ok(await box.evaluate((box) => box === document.activeElement));
    await page.keyboard.type("pay 5 Eve");
    turns.set(page, 1);
    await page.keyboard.press("Enter");
    const approve = log(page).getByRole("button", { name: "Approve", exact: true });
    await approve.click({ trial: true });
    for (let at = 0; at < 30 && !(await approve.evaluate((own) => own === document.activeElement)); at += 1) {
      await page.keyboard.press("Shift+Tab");
    }
    await page.keyboard.press("Enter");
    await done(page);
    await (await lastCall(page, "pay")).getByText("paid 5 to Eve").first().waitFor();
  });

  for (const [width, colorScheme] of [[1280, "light"], [768, "dark"], [375, "light"], [375, "dark"]]) {
    flow(`chat: nothing is wider than the screen, and axe finds nothing, ${colorScheme}, at ${width} pixels`, async () => {
      const page = await session("chat", { colorScheme, viewport: { width, height: 800 } });
      await accessible(page, `chat, empty, ${width} ${colorScheme}`);
      await say(page, `${"a long word ".repeat(20)}${"x".repeat(200)}`);
      await done(page);
      await say(page, "picture");
      await done(page);
      await lastCall(page, "picture");
      await say(page, "key");
      await page.getByRole("button", { name: "Try again" }).waitFor();
      await say(page, `pay 900 ${colorScheme}${width}`);
      await log(page).getByText("May pay run?").waitFor();
      await accessible(page, `chat ${width} ${colorScheme}`);
      await picture(page, `chat-${width}-${colorScheme}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${wide} pixels wider than ${width}`);
      const composer = await page.getByRole("button", { name: "Send" }).boundingBox();
      assert.ok(composer && composer.y + composer.height <= 800, JSON.stringify(composer));
      await page.keyboard.press("Escape");
      await done(page);
    });
  }
}
