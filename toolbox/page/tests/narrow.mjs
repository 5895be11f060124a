// Narrow screens: nothing is wider than the screen, and what waits is in sight.
import assert from "node:assert/strict";
import { accessible, call, fill, flow, go, tab, tryTool } from "./harness.mjs";

export const NARROW = { width: 375, height: 700 };
const WIDE = `wide_${"w".repeat(55)}`;
const BELOW = Array.from({ length: 14 }).reduce((below) => ({ below }), {});
const ARGUMENTS = { below: BELOW, union: "u".repeat(300), items: [{ at: "2026-01-31T12:00:00Z" }, { ["i".repeat(90)]: "i" }], map: { ["k".repeat(90)]: "v" } };

/** Returns what reaches beyond the screen: all that does not scroll within a box of its own. */
export function wider(page) {
  return page.evaluate(() => {
    const screen = document.documentElement.clientWidth;
    const pages = new Set([document.documentElement, document.body, ...document.querySelectorAll("#page, main, .split, .side, .main, .one, .live, article, form, .form, .callbar")]);
    const found = [];
    const name = (own) => `${own.tagName.toLowerCase()}.${own.className} ${JSON.stringify(own.textContent.slice(0, 40))}`;
    for (const own of document.querySelectorAll("body *")) {
      if (!own.checkVisibility() || own.closest(".sr, .skip, svg")) continue;
      if (pages.has(own) && own.scrollWidth > own.clientWidth + 1 && own.clientWidth > 0) found.push(`${name(own)} scrolls: ${own.scrollWidth} in ${own.clientWidth}`);
      const { left, right, width } = own.getBoundingClientRect();
      if (width < 2 || (right <= screen + 1 && left >= -1)) continue;
      let box = own.parentElement;
      while (box && (pages.has(box) || getComputedStyle(box).overflowX === "visible")) box = box.parentElement;
      if (!box) found.push(`${name(own)} from ${Math.round(left)} to ${Math.round(right)} of ${screen}`);
    }
    if (document.documentElement.scrollWidth > screen) found.push(`the page scrolls: ${document.documentElement.scrollWidth}`);
    return found.slice(0, 8);
  });
}

/** Fails where something is wider than the screen. */
export async function fits(page, what) {
  assert.deepEqual(await wider(page), [], what);
}

/** Fails unless all tabs are in sight, and their row does not scroll. */
export async function tabsInSight(page) {
  const tabs = page.getByRole("navigation", { name: "Tabs" });
  const scrolled = await tabs.evaluate((own) => [own, own.firstElementChild].some((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1));
  assert.ok(!scrolled, "the row of tabs scrolls");
  const screen = page.viewportSize();
  for (const link of await tabs.getByRole("link").all()) {
    const { x, y, width, height } = await link.boundingBox();
    assert.ok(x >= 0 && y >= 0 && x + width <= screen.width && y + height <= screen.height, `${await link.innerText()} at ${x}, ${y}`);
  }
}

export function register(program, session) {
  for (const width of [375, 320, 768, 1280]) {
    flow(`narrow: at ${width} pixels tools and their forms are no wider than the screen`, async () => {
      const page = await session("tools", { viewport: { width, height: 700 } });
      await page.getByRole("listbox", { name: "Tools" }).waitFor();
      await fits(page, "the list");
      for (const tool of [WIDE, "order", "long", "names"]) {
        await go(page, `tools/${tool}`);
        await page.getByText("As each provider gets it").waitFor();
        await fits(page, `the definition of ${tool}`);
        await tryTool(page, tool);
        await fits(page, `the form of ${tool}`);
      }
      await tab(page, "Tools");
      await page.getByRole("searchbox").fill("d".repeat(300));
      await page.getByRole("status").filter({ hasText: "of" }).first().waitFor();
      await go(page, `tools/${WIDE}`);
      await page.getByText("As each provider gets it").waitFor();
      await fits(page, "a tool that was found");
    });

    flow(`narrow: at ${width} pixels results are no wider than the screen`, async () => {
      const page = await session("try", { viewport: { width, height: 700 } });
      await tryTool(page, WIDE);
      await fill(page, ARGUMENTS);
      const result = await call(page);
      await result.getByText("Done").waitFor();
      for (const view of ["Text", "Tree", "Table", "Parts", "Raw"]) {
        await result.getByRole("button", { name: view, exact: true }).click();
        for (let level = 0; view === "Tree" && level < 45; level += 1) {
          const closed = result.locator("details:not([open]) > summary");
          if ((await closed.count()) === 0) break;
          await closed.last().click();
        }
        await fits(page, `the result as ${view}`);
      }
      // What is wider scrolls within its box, by keyboard too.
      await result.getByRole("button", { name: "Table", exact: true }).click();
      const table = result.getByRole("group", { name: "Table of the result" });
      assert.ok(await table.evaluate((own) => own.scrollWidth > own.clientWidth && own.tabIndex === 0));
      await tryTool(page, "picture");
      const png = await page.evaluate(() => {
        const canvas = Object.assign(document.createElement("canvas"), { width: 4000, height: 20 });
        canvas.getContext("2d").fillRect(0, 0, 4000, 20);
        return canvas.toDataURL("image/png").split(",")[1];
      });
      await page.route("**/api/calls", async (route) => {
        const answer = await (await route.fetch()).text();
        const line = JSON.parse(answer.trim().split("\n").at(-1));
        line.result.content = [{ type: "image", mimeType: "image/png", data: png }, { type: "audio", mimeType: "audio/wav", data: "UklGRg==" }];
        await route.fulfill({ body: `${JSON.stringify(line)}\n`, contentType: "application/x-ndjson" });
      });
      await (await call(page)).getByRole("img").waitFor();
      await fits(page, "a wide picture");
    });

    flow(`narrow: at ${width} pixels Live and Approvals are no wider than the screen, and what waits is in sight`, async () => {
      const page = await session("try", { viewport: { width, height: 700 } });
      const other = await session("try");
      await tryTool(other, "pay");
      await fill(other, { cents: 77, to: "w".repeat(900) });
      await other.getByRole("button", { name: "Call", exact: true }).click();
      const asking = await session("try");
      await tryTool(asking, "book");
      await fill(asking, { restaurant: "r".repeat(300) });
      await asking.getByRole("button", { name: "Call", exact: true }).click();
      const link = page.getByRole("navigation", { name: "Tabs" }).getByRole("link", { name: /^Approvals [1-9]\d* waiting$/ });
      await link.waitFor();
      await tabsInSight(page);
      await tab(page, "Live");
      await page.getByRole("option").filter({ hasText: "pay" }).last().waitFor();
      await fits(page, "Live");
      await page.getByRole("option").filter({ hasText: "pay" }).last().click();
      await page.getByRole("region", { name: "Call", exact: true }).getByText("www").first().waitFor();
      await fits(page, "a call in Live");
      await page.getByRole("button", { name: "Agents" }).click();
      await fits(page, "Agents");
      await link.click();
      const card = page.getByRole("article").filter({ hasText: "wwww" });
      const own = page.locator(`article[aria-labelledby="${await card.getAttribute("aria-labelledby")}"]`);
      await page.getByRole("article").filter({ hasText: "rrrr" }).waitFor();
      await tabsInSight(page);
      await fits(page, "Approvals");
      await own.getByRole("button", { name: "Edit" }).click();
      await own.getByRole("form", { name: "Other arguments" }).waitFor();
      await fits(page, "an entry that is edited");
      await page.getByText("Session", { exact: true }).click();
      await page.getByRole("button", { name: "Link for another browser" }).click();
      await page.getByRole("textbox", { name: "Link for another browser" }).waitFor();
      await fits(page, "the menu of the session");
      await own.getByRole("button", { name: "Deny" }).click();
      await page.getByRole("article").filter({ hasText: "rrrr" }).getByRole("button", { name: "Decline" }).click();
    });
  }

  for (const colorScheme of ["light", "dark"]) {
    for (const width of [375, 768, 1280]) {
      flow(`narrow: axe finds nothing at ${width} pixels, ${colorScheme}`, async () => {
        const page = await session("try", { viewport: { width, height: 700 }, colorScheme });
        await tryTool(page, WIDE);
        await fill(page, ARGUMENTS);
        await accessible(page, `the form, ${width}`);
        const result = await call(page);
        await result.getByRole("button", { name: "Table", exact: true }).click();
        await accessible(page, `a table, ${width}`);
        await result.getByRole("button", { name: "Tree", exact: true }).click();
        await accessible(page, `a tree, ${width}`);
        for (const name of ["live", "approvals", "tools"]) {
          await go(page, name);
          await accessible(page, `${name}, ${width}`);
        }
      });
    }
  }
}
