// The keyboard: calls, cancellations, and the choice of one of several.
import assert from "node:assert/strict";
import { asJson, fill, flow, go, tryTool } from "./harness.mjs";

/** Returns what has the focus: its path in the form, its name, or its kind. */
function focused(page) {
  return page.evaluate(() => {
    const own = document.activeElement;
    return own.closest("[data-path]")?.dataset.path || own.getAttribute("aria-label") || own.id || own.textContent.trim() || own.tagName;
  });
}

async function focusIs(page, expected) {
  await page.waitForFunction((expected) => {
    const own = document.activeElement;
    const names = [own.closest("[data-path]")?.dataset.path, own.getAttribute("aria-label"), own.id, own.textContent.trim(), own.tagName];
    return names.includes(expected);
  }, expected).catch(async () => assert.equal(await focused(page), expected));
}

const focus = (page, selector) => page.locator(selector).first().focus();
const cancelled = async (page) => {
  await page.getByRole("region", { name: "Result" }).getByText("cancelled").first().waitFor();
  // One call, and one end.
  await page.getByRole("button", { name: "Cancel", exact: true }).waitFor({ state: "detached" });
};

/** Begins a call that lasts until it is cancelled, by the keyboard. */
async function begin(page, from = '[data-path="steps"] [data-part="input"]') {
  await tryTool(page, "count_slowly");
  await fill(page, { steps: 1000, pause: 50 });
  await focus(page, from);
  await page.keyboard.press("Control+Enter");
  await focusIs(page, "Cancel");
  await page.getByText(/^step \d+/).waitFor();
}

/** Places of the tab that are no part of the form. */
const PLACES = {
  "the search": '.side input[type="search"]',
  "a filter": ".side select",
  "a checkbox": '.side input[type="checkbox"]',
  "the list": '[role="listbox"]',
  "a tab": 'nav a[href="#/live"]',
  "a menu that is closed": "details.menu summary",
  "the detail": "#detail",
  "a link": 'a[href="#/tools/count_slowly"]',
};

export function register(program, session) {
  flow("keys: Esc cancels wherever the focus is, and the focus stays there", async () => {
    const page = await session("try");
    for (const [what, selector] of Object.entries(PLACES)) {
      await begin(page);
      await focus(page, selector);
      await page.keyboard.press("Escape");
      await cancelled(page).catch((error) => assert.fail(`${what}: ${error}`));
      const stays = await page.evaluate((selector) => document.activeElement === document.querySelector(selector), selector);
      assert.ok(stays, `the focus stays at ${what}`);
    }
  });

  flow("keys: Esc cancels with the focus nowhere, and in the JSON editor", async () => {
    const page = await session("try");
    await begin(page);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Escape");
    await cancelled(page);
    await focusIs(page, "steps");
    await asJson(page);
    await page.getByRole("textbox", { name: "JSON", exact: true }).focus();
    await page.keyboard.press("Control+Enter");
    await focusIs(page, "Cancel");
    await page.getByRole("textbox", { name: "JSON", exact: true }).focus();
    await page.keyboard.press("Escape");
    await cancelled(page);
    await focusIs(page, "json");
  });

  flow("keys: Esc in the search cancels, and the search stays; then it clears the search", async () => {
    const page = await session("try");
    await begin(page);
    const search = page.locator('.side input[type="search"]');
    await search.fill("count slowly");
    await page.keyboard.press("Escape");
    await cancelled(page);
    assert.equal(await search.inputValue(), "count slowly");
    await page.keyboard.press("Escape");
    assert.equal(await search.inputValue(), "");
  });

  flow("keys: Esc closes the menu that has the focus, and cancels when it is closed", async () => {
    const page = await session("try");
    await begin(page);
    await focus(page, "details.menu summary");
    await page.keyboard.press("ArrowDown");
    await focusIs(page, "Link for another browser");
    await page.keyboard.press("Escape");
    await focusIs(page, "Session");
    assert.ok(await page.getByRole("button", { name: "Cancel", exact: true }).isVisible());
    await page.keyboard.press("Escape");
    await cancelled(page);
  });

  flow("keys: the focus comes back to where the call was made, however it ends", async () => {
    const page = await session("try");
    await tryTool(page, "add");
    await fill(page, { a: 1, b: 2 });
    for (const path of ["a", "b"]) {
      await focus(page, `[data-path="${path}"] [data-part="input"]`);
      await page.keyboard.press("Control+Enter");
      await page.getByRole("region", { name: "Result" }).getByText("Done").waitFor();
      await focusIs(page, path);
    }
    // A call that is refused, by the button.
    await fill(page, { a: 1 });
    await page.getByRole("button", { name: "Call", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Result" }).getByText("Failed").waitFor();
    await focusIs(page, "Call");
    // One whose connection ends.
    await fill(page, { a: 1, b: 2 });
    await page.route("**/api/calls", (route) => route.abort());
    await focus(page, '[data-path="b"] [data-part="input"]');
    await page.keyboard.press("Control+Enter");
    await page.getByText("The program cannot be reached.").waitFor();
    await focusIs(page, "b");
  });

  flow("keys: whoever goes elsewhere while a call runs stays there", async () => {
    const page = await session("try");
    await tryTool(page, "count_slowly");
    await fill(page, { steps: 20, pause: 20 });
    await focus(page, '[data-path="steps"] [data-part="input"]');
    await page.keyboard.press("Control+Enter");
    await focusIs(page, "Cancel");
    await focus(page, '.side input[type="search"]');
    await page.getByRole("region", { name: "Result" }).getByText("Done").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  });

  flow("keys: a key that is held makes one call, and does not cancel it", async () => {
    const page = await session("try");
    await tryTool(page, "count_slowly");
    await fill(page, { steps: 20, pause: 20 });
    const calls = [];
    page.on("request", (request) => request.url().endsWith("/api/calls") && calls.push(request.url()));
    await page.getByRole("button", { name: "Call", exact: true }).focus();
    await page.keyboard.down("Enter");
    await focusIs(page, "Cancel");
    for (let at = 0; at < 5; at += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.getByRole("region", { name: "Result" }).getByText("Done").waitFor();
    assert.equal(calls.length, 1);
  });

  flow("keys: Ctrl+Enter and Cmd+Enter call from anywhere on the tab", async () => {
    const page = await session("try");
    await tryTool(page, "echo");
    await fill(page, { text: "from anywhere" });
    let count = 0;
    const called = async (what) => {
      count += 1;
      const before = page.getByRole("button", { name: "Take these arguments" });
      await page.waitForFunction((count) => document.querySelectorAll(".history li").length === count, count).catch(() => assert.fail(`no call from ${what}`));
      assert.equal(await before.count(), count);
      await page.getByRole("button", { name: "Cancel", exact: true }).waitFor({ state: "detached" });
    };
    for (const [what, selector] of Object.entries(PLACES)) {
      await focus(page, selector.replace("count_slowly", "echo"));
      await page.keyboard.press(count % 2 ? "Meta+Enter" : "Control+Enter");
      await called(what);
      assert.ok(page.url().endsWith("#/try/echo"), `${what} leads nowhere else`);
    }
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Control+Enter");
    await called("nowhere");
    await asJson(page);
    await page.getByRole("textbox", { name: "JSON", exact: true }).focus();
    await page.keyboard.press("Control+Enter");
    await called("the JSON editor");
  });

  flow("keys: Ctrl+Enter sends no number that is none", async () => {
    const page = await session("try");
    await tryTool(page, "add");
    await fill(page, { a: 1, b: 2 });
    await page.locator('[data-path="b"] [data-part="input"]').fill("2x");
    await focus(page, '[role="listbox"]');
    await page.keyboard.press("Control+Enter");
    await focusIs(page, "b");
    assert.equal(await page.getByRole("region", { name: "Result" }).count(), 0);
  });

  flow("keys: the list of tools by arrows, Home, End and the beginning of a name", async () => {
    const page = await session("try");
    await page.getByRole("listbox", { name: "Tools" }).focus();
    const chosen = () => page.evaluate(() => document.querySelector('[role="option"][aria-selected="true"] .name')?.firstChild.textContent);
    const is = async (key, name) => {
      await page.keyboard.press(key);
      await page.waitForFunction((name) => location.hash === `#/try/${name}`, name).catch(async () => assert.fail(`${key} leads to ${await chosen()}, not ${name}`));
      await page.waitForFunction(() => document.activeElement.getAttribute("role") === "listbox");
    };
    await is("ArrowDown", "echo");
    await is("ArrowDown", "add");
    await is("ArrowUp", "echo");
    await is("p", "place");
    await is("p", "pair");
    await is("Home", "echo");
    await page.keyboard.type("count_s");
    await page.waitForFunction(() => location.hash === "#/try/count_slowly");
    await page.keyboard.press("End");
    await page.waitForFunction(() => {
      const own = document.querySelector('[role="option"][aria-selected="true"]');
      return own !== null && own.getAttribute("aria-posinset") === own.getAttribute("aria-setsize");
    });
    // A key of the browser is none of the list.
    const at = page.url();
    await page.keyboard.press("Alt+ArrowUp");
    assert.equal(page.url(), at);
  });

  flow("keys: tabs by arrows, Home and End", async () => {
    const page = await session("tools");
    await focus(page, 'nav a[href="#/tools"]');
    for (const [key, tab] of [["ArrowRight", "try"], ["ArrowRight", "chat"], ["ArrowRight", "live"], ["ArrowRight", "approvals"], ["ArrowRight", "tools"], ["ArrowLeft", "approvals"], ["Home", "tools"], ["End", "approvals"]]) {
      await page.keyboard.press(key);
      await page.locator(`nav a[href="#/${tab}"][aria-current="page"]`).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("href")), `#/${tab}`);
    }
  });

  flow("keys: choices by arrows, and Tab reaches the one that is chosen", async () => {
    const page = await session("try");
    await tryTool(page, "rows");
    await fill(page, { count: 3 });
    await focus(page, '[data-path="count"] [data-part="input"]');
    await page.keyboard.press("Control+Enter");
    const views = page.getByRole("region", { name: "Result" }).getByRole("toolbar", { name: "View" });
    await views.waitFor();
    await views.getByRole("button", { name: "Text" }).focus();
    for (const [key, name] of [["ArrowRight", "Tree"], ["ArrowDown", "Table"], ["End", "Raw"], ["ArrowRight", "Text"], ["ArrowLeft", "Raw"], ["Home", "Text"]]) {
      await page.keyboard.press(key);
      await views.getByRole("button", { name, pressed: true }).waitFor();
      assert.equal(await focused(page), name);
    }
    assert.equal(await views.locator('[tabindex="0"]').count(), 1);
  });

  flow("keys: the menu of the session by arrows, Home, End and the beginning of a name", async () => {
    const page = await session("tools");
    await focus(page, "details.menu summary");
    for (const [key, name] of [["ArrowUp", "End the session"], ["ArrowDown", "Link for another browser"], ["End", "End the session"], ["Home", "Link for another browser"], ["e", "End the session"]]) {
      await page.keyboard.press(key);
      await focusIs(page, name);
    }
    await page.keyboard.press("Escape");
    await focusIs(page, "Session");
    assert.equal(await page.locator("details.menu[open]").count(), 0);
    // Whoever leaves it closes it.
    await page.keyboard.press("ArrowDown");
    await focus(page, "nav a");
    await page.locator("details.menu[open]").waitFor({ state: "detached" });
    await go(page, "tools");
  });
}
