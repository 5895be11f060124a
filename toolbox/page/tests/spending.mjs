// The tab *Spending*, over a journal.
import assert from "node:assert/strict";
import { done, say } from "./chat.mjs";
import { accessible, context, flow, go, open, picture, start } from "./harness.mjs";
import { NARROW, fits, tabsInSight } from "./narrow.mjs";

const rows = (page) => page.getByRole("group", { name: "Spending by principal" }).locator("tbody tr");

/** Returns the statuses of requests for the spending of a day. */
function statuses(page, times) {
  return page.evaluate((times) => {
    const headers = { "content-type": "application/json", "x-toolbox-page": localStorage.getItem("toolbox-page-key") };
    const ask = async (time_ms) => (await fetch("/api/spending", { method: "POST", headers, body: JSON.stringify({ period: "day", time_ms }) })).status;
    return Promise.all(times.map(ask));
  }, times);
}

/** Runs a flow over a program with a journal in which two have spent. */
function counted(name, run, options) {
  flow(`spending: ${name}`, async () => {
    const own = await start("--journal");
    try {
      await run(await open(await context(options), own));
    } finally {
      await own.stop();
    }
  });
}

export function register(program, session) {
  counted("each principal has its money, by month and day", async (page) => {
    await page.getByRole("navigation", { name: "Tabs" }).getByRole("link", { name: "Spending", exact: true }).click();
    const ada = rows(page).filter({ hasText: "ada" });
    await ada.waitFor();
    assert.deepEqual(await ada.locator("td").allInnerTexts(), ["ada", "0.00145 USD", "1", "0", "1,020"]);
    const [day, month] = await page.evaluate(() => [10, 7].map((end) => new Date().toISOString().slice(0, end)));
    await page.getByRole("status").getByText(`Spent in ${month},`).waitFor();
    // The name of a principal is text.
    await rows(page).getByText('<img src=x onerror="window.hacked=1">⟨U+202E⟩').waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await go(page, "chat");
    await say(page, "good morning");
    await done(page);
    await go(page, "spending");
    await rows(page).filter({ hasText: "no principal" }).waitFor();
    assert.equal(await rows(page).count(), 3);
    // The last time that there is, one after it, and what are none.
    assert.deepEqual(await statuses(page, [0, 253_402_300_799_999, 253_402_300_800_000, 2 ** 53, -1, "now"]), [200, 200, 400, 400, 422, 422]);
    await page.getByRole("button", { name: "Day", exact: true }).click();
    await page.getByRole("status").getByText(`Spent in ${day},`).waitFor();
    assert.equal(await rows(page).count(), 3);
    await page.getByRole("button", { name: "Earlier" }).click();
    const before = await page.evaluate(() => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10));
    await page.getByRole("status").getByText(`Nothing was spent in ${before},`).waitFor();
    assert.equal(await rows(page).count(), 0);
    await page.getByRole("button", { name: "Later" }).click();
    await rows(page).first().waitFor();
    await page.getByRole("button", { name: "Month", exact: true }).click();
    for (let at = 0; at < 12; at += 1) {
      await page.getByRole("button", { name: "Earlier" }).click();
    }
    await page.getByRole("status").getByText(`Nothing was spent in ${Number(month.slice(0, 4)) - 1}${month.slice(4)},`).waitFor();
  });

  for (const colorScheme of ["light", "dark"]) {
    counted(
      `nothing is wider than the screen, and axe finds nothing, ${colorScheme}`,
      async (page) => {
        await go(page, "spending");
        await rows(page).first().waitFor();
        await fits(page, "spending");
        await tabsInSight(page);
        await accessible(page, `spending, ${colorScheme}`);
        await picture(page, `spending-${colorScheme}`);
      },
      { colorScheme, viewport: NARROW },
    );
  }

  flow("spending: without a journal there is no such tab", async () => {
    const page = await session("live");
    assert.equal(await page.getByRole("navigation", { name: "Tabs" }).getByRole("link", { name: "Spending" }).count(), 0);
    assert.deepEqual(await statuses(page, [0]), [404]);
  });
}
