// Draws each tab, light and dark, wide and narrow, to be looked at; those of docs/page.md among them:
// PAGE_PICTURES=folder node tests/pictures.mjs
import { another, call, context, fill, go, open, picture, start, tryTool } from "./harness.mjs";

const program = await start("--hostile");
let link = program.link;
for (const colorScheme of ["light", "dark"]) {
  const own = await context({ colorScheme, viewport: { width: 1280, height: 800 } });
  const page = await open(own, { link });
  const at = async (where) => {
    await go(page, where);
    await page.waitForTimeout(400);
  };
  await picture(page, `tools-${colorScheme}`);
  await page.getByRole("searchbox").fill("pays an amount to a customer");
  await page.getByRole("option").filter({ hasText: "score" }).first().click();
  await page.getByText("As each provider gets it").waitFor();
  await picture(page, `search-${colorScheme}`);
  await page.getByRole("searchbox").fill("");
  await tryTool(page, "order");
  await fill(page, '{\n  "items": [{ "article": "bread", "count": 0 }],\n  "payment": { "kind": "card", "digits": 1234 }\n}');
  await page.locator("#judged").getByText("must be at least 1").waitFor();
  await picture(page, `try-${colorScheme}`);
  await tryTool(page, "rows");
  await call(page);
  await page.getByRole("button", { name: "Table" }).click();
  await picture(page, `result-${colorScheme}`);
  await tryTool(page, "editor");
  await fill(page, { task: "Write about sums" });
  await call(page);
  await tryTool(page, "add");
  await fill(page, { a: true, b: 1 });
  await call(page);
  if (colorScheme === "light") {
    await tryTool(page, "invoices");
    await fill(page, { times: 2 });
    await call(page);
  }
  await at("live");
  await page.getByRole("option").filter({ hasText: "clerk" }).first().click();
  await page.getByRole("heading", { name: /Around it/ }).waitFor();
  await picture(page, `live-${colorScheme}`);
  await page.getByRole("button", { name: "Agents" }).click();
  await picture(page, `agents-${colorScheme}`);
  await at("approvals");
  await page.getByRole("button", { name: "Edit" }).first().click();
  await picture(page, `approvals-${colorScheme}`);
  await page.setViewportSize({ width: 320, height: 640 });
  for (const tab of ["approvals", "live", "tools", "try/order"]) {
    await at(tab);
    await picture(page, `${tab.split("/")[0]}-narrow-${colorScheme}`);
  }
  link = await another(page);
  await own.close();
}
await program.stop();
process.exit(0);
