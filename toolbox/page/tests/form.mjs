// Forms for people: marks, pickers, menus, the switch to JSON, the button Call in sight, and faults while one writes.
import assert from "node:assert/strict";
import { accessible, asJson, call, fill, flow, tryTool, written } from "./harness.mjs";
import { fits } from "./narrow.mjs";

const WIDTHS = [1280, 768, 375];
const at = (width) => ({ viewport: { width, height: 700 } });

/** Fails unless the whole button is on the screen, and nothing is before it. */
async function inSight(page, button, what) {
  const is = await button.evaluate((own) => {
    const { left, right, top, bottom } = own.getBoundingClientRect();
    const onScreen = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    return onScreen && own.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  });
  assert.ok(is, `${what}: the button is in sight`);
}

/** Waits for a fault at the field of that path. */
const fault = (place, path, text) => place.locator(`[data-path="${path}"] .form-faults`).filter({ hasText: text }).first().waitFor();

/** Asks by a tool for a visit, and returns the card of the question. */
async function asked(session, place, width, options = {}) {
  const caller = await session("try");
  await tryTool(caller, "plan_visit");
  await fill(caller, { place });
  await caller.getByRole("button", { name: "Call", exact: true }).click();
  const page = await session("approvals", { ...at(width), ...options });
  const card = page.getByRole("article").filter({ hasText: place });
  await card.waitFor();
  return { caller, page, card, sent: decisions(page) };
}

/** Collects what is decided in a page. */
function decisions(page) {
  const sent = [];
  page.on("request", (request) => request.url().endsWith("/api/decide") && sent.push(request.postDataJSON()));
  return sent;
}

export function register(program, session) {
  for (const width of WIDTHS) {
    flow(`form: at ${width} pixels Call is in sight wherever a long form is scrolled to`, async () => {
      const page = await session("try", at(width));
      await tryTool(page, "many_fields");
      const calls = [];
      page.on("request", (request) => request.url().endsWith("/api/calls") && calls.push(request.url()));
      const button = page.getByRole("button", { name: "Call", exact: true });
      const scroll = (share) => page.locator("#detail").evaluate((own, share) => own.scrollTo(0, share * own.scrollHeight), share);
      for (const share of [0, 0.3, 0.6, 1]) {
        await scroll(share);
        await inSight(page, button, `at ${share}`);
      }
      await fill(page, { field_0: "a", field_199: "b" });
      await page.getByRole("searchbox", { name: /find a member/ }).fill("199");
      await page.locator('[data-path="field_199"] [data-part="input"]').fill("the end");
      await page.getByRole("searchbox", { name: /find a member/ }).press("Enter");
      await page.getByRole("searchbox", { name: /find a member/ }).fill("");
      const result = await call(page);
      await result.getByText("the end").first().waitFor();
      assert.equal(calls.length, 1, "Enter in the search sends nothing");
      for (const share of [0, 0.5, 1]) {
        await scroll(share);
        await inSight(page, button, `with a result, at ${share}`);
      }
    });

    flow(`form: at ${width} pixels Tab goes through a long form, and no field is below the button`, async () => {
      const page = await session("try", at(width));
      await tryTool(page, "many_fields");
      await page.locator('[data-path="field_0"] [data-part="input"]').focus();
      for (const key of [...Array(40).fill("Tab"), ...Array(20).fill("Shift+Tab")]) {
        await page.keyboard.press(key);
        const hidden = await page.evaluate(() => {
          const own = document.activeElement;
          const { left, right, top, bottom } = own.getBoundingClientRect();
          const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return own.contains(there) ? "" : `${own.outerHTML.slice(0, 100)} is below ${there?.outerHTML.slice(0, 100)}`;
        });
        assert.equal(hidden, "");
      }
    });

    flow(`form: at ${width} pixels a question is checked while it is written, by keyboard alone`, async () => {
      const place = `Bern ${width}`;
      const { caller, page, card, sent } = await asked(session, place, width);
      await fits(page, "the question");
      const form = card.getByRole("form", { name: "Answer" });
      assert.equal(await form.locator(".form-faults").count(), 0, "nothing is wrong before it is begun");
      await form.locator('[data-path="guests"] [data-part="input"]').focus();
      await page.keyboard.type("9");
      await fault(form, "guests", "at most 8");
      await fault(form, "day", "missing");
      assert.equal(await form.locator('[data-path="guests"] [aria-invalid="true"]').count(), 1);
      await page.keyboard.press("Backspace");
      await page.keyboard.type("4");
      await form.locator('[data-path="guests"] .form-faults').waitFor({ state: "detached" });
      await form.locator('[data-path="reason"] [data-part="input"]').focus();
      await page.keyboard.type("ab");
      await fault(form, "reason", "at least 3");
      await fits(page, "a question with faults");
      // It is not sent so: the focus goes to what is wrong first.
      const answer = card.getByRole("button", { name: "Answer", exact: true });
      await answer.click({ trial: true });
      await answer.focus();
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.activeElement.closest("[data-path]")?.dataset.path === "day");
      assert.equal(sent.length, 1);
      await page.keyboard.type("02282027");
      await form.locator('[data-path="begins"] [data-part="offset"]').selectOption("-03:30");
      await form.locator('[data-path="begins"] [data-part="input"]').focus();
      await page.keyboard.type("02282027063000PM");
      await form.locator('[data-path="reason"] [data-part="input"]').focus();
      await page.keyboard.press("End");
      await page.keyboard.type("c");
      await form.locator(".form-faults").first().waitFor({ state: "detached" });
      await inSight(page, answer, "Answer");
      await answer.focus();
      await page.keyboard.press("Enter");
      await caller.getByRole("region", { name: "Result" }).getByText('"begins":"2027-02-28T18:30:00-03:30"').first().waitFor();
      assert.deepEqual(JSON.parse(sent.at(-1).answer), { guests: 4, reason: "abc", day: "2027-02-28", begins: "2027-02-28T18:30:00-03:30" });
    });

    flow(`form: at ${width} pixels a form is filled in and called by keyboard alone`, async () => {
      const page = await session("try", at(width));
      await tryTool(page, "formats");
      await page.getByRole("switch", { name: "Edit as JSON" }).focus();
      await page.keyboard.press("Tab");
      const to = async (path, part) => {
        for (let steps = 0; steps < 60; steps += 1) {
          const is = await page.evaluate(([path, part]) => {
            const own = document.activeElement;
            return own.dataset.part === part && own.closest("[data-path]").dataset.path === path;
          }, [path, part]);
          if (is) return;
          await page.keyboard.press("Tab");
        }
        assert.fail(`Tab does not reach ${part} of ${path}`);
      };
      await to("day", "input");
      await page.keyboard.type("01312026");
      await to("at", "input");
      await page.keyboard.type("05012026103000AM");
      await to("at", "offset");
      await page.keyboard.type("+05:4");
      await to("mail", "menu");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Home");
      await page.keyboard.press("Enter");
      await to("code", "input");
      await page.keyboard.type("ABC-1");
      await fault(page, "code", "must match");
      await page.keyboard.type("2");
      await to("limit", "menu");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.type("nu");
      await page.keyboard.press("Space");
      await page.waitForFunction(() => document.activeElement.dataset.part === "menu");
      assert.deepEqual(JSON.parse(await written(page)), { day: "2026-01-31", at: "2026-05-01T10:30:00+05:45", mail: "", code: "ABC-12", limit: null });
      await page.locator('[data-path="mail"] [data-part="menu"]').focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.type("l");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Control+Enter");
      const result = page.getByRole("region", { name: "Result" });
      await result.getByText('"at":"2026-05-01T10:30:00+05:45"').first().waitFor();
      await page.waitForFunction(() => document.activeElement.closest("[data-path]")?.dataset.path === "mail");
    });
  }

  flow("form: other arguments are checked while they are written, and nothing is sent", async () => {
    const caller = await session("try");
    await tryTool(caller, "pay");
    await fill(caller, { cents: 5, to: "Zoe" });
    await caller.getByRole("button", { name: "Call", exact: true }).click();
    const page = await session("approvals");
    const found = page.getByRole("article").filter({ hasText: "Zoe" });
    const card = page.locator(`article[aria-labelledby="${await found.getAttribute("aria-labelledby")}"]`);
    const sent = decisions(page);
    await card.getByRole("button", { name: "Edit" }).click();
    const form = card.getByRole("form", { name: "Other arguments" });
    await form.locator('[data-path="cents"] [data-part="input"]').fill("0");
    await fault(form, "cents", "at least 1");
    await form.locator('[data-path="cents"] [data-part="input"]').fill("x");
    await fault(form, "cents", "cents");
    await (await asJson(card)).fill('{"cents": 6, "to": "Zoe", "more": 1}');
    await card.getByRole("switch", { name: "Edit as JSON" }).uncheck();
    await form.getByText("`more` is not an argument").waitFor();
    await fill(card, { cents: 6, to: "Zoe" });
    await form.locator(".form-faults").first().waitFor({ state: "detached" });
    assert.equal(sent.length, 0);
    await card.getByRole("button", { name: "Approve with these arguments" }).click();
    await caller.getByText("paid 6 to Zoe").first().waitFor();
  });

  flow("form: one switch edits the whole as JSON, by keyboard, and goes back with what was written", async () => {
    const page = await session("try");
    await tryTool(page, "order");
    const whole = page.getByRole("switch", { name: "Edit as JSON" });
    assert.equal(await page.getByRole("textbox", { name: "JSON", exact: true }).count(), 0);
    await whole.focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Tab");
    const box = page.getByRole("textbox", { name: "JSON", exact: true });
    while (!(await box.evaluate((own) => own === document.activeElement))) await page.keyboard.press("Tab");
    assert.equal(await page.locator("#try .form").count(), 0);
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText('{"items": [{"article": "a", "count": 18446744073709551615}], "payment": {"kind": "cash"}, "notes": {"שלום": "ع"}}');
    await page.locator("#judged").getByText("must be at most 100").waitFor();
    assert.equal(await box.getAttribute("aria-invalid"), "true");
    await whole.focus();
    await page.keyboard.press("Space");
    await fault(page, "items[0].count", "must be at most 100");
    assert.equal(await page.locator('[data-path="items[0].count"] [data-part="input"]').inputValue(), "18446744073709551615");
    await page.locator('[data-path="items[0].count"] [data-part="input"]').fill("2");
    assert.deepEqual(JSON.parse(await written(page)), { items: [{ article: "a", count: 2 }], payment: { kind: "cash" }, notes: { שלום: "ع" } });
    // JSON that cannot be read is kept, and said.
    await (await asJson(page)).fill("{");
    await whole.uncheck();
    await page.getByText("the form waits for it").waitFor();
    assert.equal(await written(page), "{");
  });

  flow("form: a question has the switch, and its own menus", async () => {
    const { caller, page, card, sent } = await asked(session, "Chur", 375);
    await fill(card, { day: "2027-01-01", guests: 99, reason: "rest" });
    await fault(card, "guests", "at most 8");
    await card.locator('[data-path="guests"] [data-part="menu"]').click();
    await card.getByRole("menuitemcheckbox", { name: "Write as JSON" }).click();
    await card.locator('[data-path="guests"] [data-part="json"]').fill("3");
    await card.locator('[data-path="begins"] [data-part="menu"]').click();
    await accessible(page, "a menu of a question");
    await card.getByRole("menuitemradio", { name: "Null" }).click();
    await card.locator(".form-faults").first().waitFor({ state: "detached" });
    await card.getByRole("button", { name: "Answer", exact: true }).click();
    await caller.getByRole("region", { name: "Result" }).getByText('"guests":3').first().waitFor();
    assert.equal(JSON.parse(sent.at(-1).answer).begins, null);
  });

  flow("form: text of right to left is filled in, and fits", async () => {
    for (const width of WIDTHS) {
      const page = await session("try", at(width));
      await tryTool(page, "from_the_right");
      await page.locator('[data-path=\'["שם"]\'] [data-part="input"]').fill("משה כהן");
      await page.getByLabel("مدينة", { exact: true }).fill("القاهرة");
      await page.getByLabel("تاريخ", { exact: true }).fill("2026-01-31T08:00");
      await fits(page, "a form from the right");
      const direction = await page.getByLabel("مدينة", { exact: true }).evaluate((own) => getComputedStyle(own).direction);
      assert.equal(direction, "rtl");
      await accessible(page, "a form from the right");
      await (await call(page)).getByText("القاهرة").first().waitFor();
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    for (const width of WIDTHS) {
      flow(`form: axe finds nothing in forms with menus, pickers and faults, ${colorScheme}, at ${width} pixels`, async () => {
        const page = await session("try", { ...at(width), colorScheme });
        for (const tool of ["formats", "order", "many_fields", "count_folders", "anything", "choices"]) {
          await tryTool(page, tool);
          // A form that nobody has touched shows no faults; a call that is refused does.
          await page.getByRole("button", { name: "Call", exact: true }).click();
          await page.locator("#judged").getByText("missing").first().waitFor();
          const menu = page.locator('[data-part="menu"]').last();
          await menu.click();
          await page.getByRole("menu").waitFor();
          await fits(page, `a menu of ${tool} at ${width}`);
          await accessible(page, `${tool} at ${width}`);
          await page.keyboard.press("Escape");
          await asJson(page);
          await accessible(page, `${tool} as JSON at ${width}`);
        }
      });
    }
    flow(`form: axe finds nothing in a question, ${colorScheme}`, async () => {
      const { page, card } = await asked(session, `Thun ${colorScheme}`, 375, { colorScheme });
      await card.locator('[data-path="guests"] [data-part="input"]').fill("0");
      await fault(card, "guests", "at least 1");
      await accessible(page, `a question, ${colorScheme}`);
      await card.getByRole("button", { name: "Decline" }).click();
    });
  }
}
