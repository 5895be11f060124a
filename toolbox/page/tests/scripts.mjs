// Scripts: their lines, with the calls at them.
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessible, fill, flow, go, tryTool } from "./harness.mjs";
import { NARROW, fits } from "./narrow.mjs";

/** Begins a script in another page, which stays open while it runs. */
async function begin(session, lines, options) {
  const page = await session("try", options);
  await tryTool(page, "run_script");
  await fill(page, { script: lines.join("\n") });
  await page.getByRole("button", { name: "Call", exact: true }).click();
  return page;
}

/** Begins a script, and waits for its end. */
async function made(session, lines, options) {
  const page = await begin(session, lines, options);
  await page.getByRole("region", { name: "Result" }).waitFor();
  return page;
}

const script = (place) => place.getByRole("region", { name: "Script", exact: true });
/** The calls at a line. */
const at = (place, line) => script(place).getByRole("list", { name: `Calls at line ${line}`, exact: true }).getByRole("listitem");
const rows = (page) => page.getByRole("listbox", { name: "Calls" }).getByRole("option");

/** Opens the call of a script in the tab Live, by a word of its text. */
async function inLive(session, word, options) {
  const page = await session("live", options);
  await page.getByRole("searchbox").fill(word);
  await rows(page).filter({ hasText: "run_script" }).first().click();
  await script(page).waitFor();
  return page;
}

/** Decides on a call in the tab Approvals. */
async function decide(session, word, button) {
  const page = await session("approvals");
  const card = page.getByRole("article").filter({ hasText: word });
  await card.getByRole("button", { name: button, exact: true }).click();
  await card.waitFor({ state: "detached" });
}

/** A script with calls side by side, a failure, a loop, and a call that waits for a person. */
const friendly = (to) => [
  "const [sum] = await Promise.all([",
  "  tools.add({ a: 1, b: 2 }),",
  "  tools.fails({ reason: 'no paper' }).catch(() => 0),",
  "]);",
  "for (let n = 0; n < 20; n++) {",
  "  await tools.add({ a: n, b: 1 });",
  "}",
  `const paid = await tools.pay({`,
  `  cents: Math.max(7, 1), to: '${to}',`,
  "});",
  "return `${sum} ${paid}`;",
];

export function register(program, session) {
  flow("scripts: each call is at its line, while the script runs and after", async () => {
    const trying = await begin(session, friendly("Mira"));
    const live = await inLive(session, "Mira");
    for (const page of [trying, live]) {
      await at(page, 8).filter({ hasText: /^waiting pay/ }).waitFor();
      await at(page, 2).filter({ hasText: /^done add .*ms$/ }).waitFor();
      await at(page, 3).filter({ hasText: /^failed fails tool\.failed .*ms$/ }).waitFor();
      await at(page, 6).filter({ hasText: "20 calls: 20 done; the last 4:" }).waitFor();
      assert.equal(await at(page, 6).count(), 5);
      await script(page).getByText("11 lines, 23 calls").waitFor();
      assert.equal(await script(page).locator("ol > li").nth(1).locator("code").first().innerText(), "  tools.add({ a: 1, b: 2 }),");
      assert.equal(await script(page).locator("ol > li.open").count(), 1);
    }
    await decide(session, "Mira", "Approve");
    await trying.getByText("3 paid 7 to Mira").first().waitFor();
    for (const page of [trying, live]) {
      await at(page, 8).filter({ hasText: /^done pay .*s$/ }).waitFor();
      assert.equal(await script(page).locator("ol > li.open").count(), 0);
    }
    await at(live, 3).getByRole("button").click();
    await live.getByRole("heading", { name: "fails", level: 2 }).waitFor();
    await live.getByText("at line 3 of its script").waitFor();
  });

  flow("scripts: a call that runs is seen at its line, and its end", async () => {
    const page = await begin(session, ["// runs long", "await tools.count_slowly({ steps: 1000, pause: 1000 });"]);
    await at(page, 2).filter({ hasText: /^running count_slowly/ }).waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await at(page, 2).filter({ hasText: /^failed count_slowly/ }).waitFor();
  });

  flow("scripts: an approval shows the line of its script, and those around it", async () => {
    const trying = await begin(session, ["// one", "// two", ...friendly("Nora")]);
    const page = await session("approvals");
    const card = page.getByRole("article").filter({ hasText: "Nora" });
    await card.getByText("Line 10 of the script that makes the call:").waitFor();
    const own = script(card).locator("[aria-current=true]");
    assert.equal(await own.innerText().then((text) => text.replace(/\s+/g, " ")), "10 const paid = await tools.pay({");
    const numbers = await script(card).locator("ol > li .num").allInnerTexts();
    assert.deepEqual(numbers, ["7", "8", "9", "10", "11", "12", "13"]);
    await card.getByRole("link", { name: "The call in Live" }).waitFor();
    await decide(session, "Nora", "Deny");
    await trying.getByRole("region", { name: "Result" }).getByText("Failed", { exact: true }).waitFor();
    await at(trying, 10).filter({ hasText: /^failed pay tool\.not_approved/ }).waitFor();
  });

  flow("scripts: a call that no script makes has no line", async () => {
    const page = await session("try");
    await tryTool(page, "pay");
    await fill(page, { cents: 1, to: "Olga" });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const card = (await session("approvals")).getByRole("article").filter({ hasText: "Olga" });
    await card.getByRole("button", { name: "Approve", exact: true }).waitFor();
    assert.equal(await script(card).count(), 0);
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText("paid 1 to Olga").first().waitFor();
    assert.equal(await script(page).count(), 0);
  });

  flow("scripts: hostile source is text, and bounded", async () => {
    const lines = Array.from({ length: 10_000 }, () => "1;");
    lines[0] = "/* \u202e<script>window.hacked=1</script><img src=x onerror=\"window.hacked=2\"> hostile source */";
    lines[1] = `// ${"w".repeat(5000)}`;
    lines[2] = `await tools["add"]({ a: 1, b: 2, /*${"x".repeat(3000)}*/ });`;
    lines[8999] = "await tools['<img src=x onerror=window.hacked=3>']().catch(() => tools.add({ a: 9, b: 9 }));";
    lines[9000] = "throw new Error('</pre><script>window.hacked=4</script>');";
    const trying = await made(session, lines, { viewport: NARROW });
    await trying.getByRole("region", { name: "Result" }).getByText("line 9001").first().waitFor();
    const live = await inLive(session, "hostile source", { viewport: NARROW });
    for (const page of [trying, live]) {
      await at(page, 9000).filter({ hasText: /^refused <img src=x/ }).waitFor();
      await at(page, 9000).filter({ hasText: /^done add/ }).waitFor();
      await at(page, 3).filter({ hasText: /^done add/ }).waitFor();
      await script(page).getByText("⟨U+202E⟩<script>window.hacked=1</script>").waitFor();
      await script(page).getByText("10,000 lines, 3 calls").waitFor();
      await script(page).getByText(/^\d,\d{3} more lines$/).first().waitFor();
      const drawn = await script(page).locator("ol > li").count();
      assert.ok(drawn < 400, `${drawn} lines are drawn`);
      const longest = await script(page).locator("ol code").evaluateAll((all) => Math.max(...all.map((one) => one.textContent.length)));
      assert.ok(longest < 500, `a line of ${longest} characters is drawn`);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      await fits(page, "hostile script");
    }
    await script(live).getByRole("button", { name: "Show more lines" }).click();
    await script(live).locator("ol > li").nth(1000).waitFor();
  });

  flow("scripts: many lines with calls are bounded too", async () => {
    const lines = ["// five hundred lines", ...Array.from({ length: 500 }, (_, n) => `await tools.add({ a: ${n}, b: 1 });\n\n\n\n\n`)];
    const page = await made(session, lines);
    await script(page).getByText("500 calls").waitFor();
    const drawn = await script(page).locator("ol > li").count();
    assert.ok(drawn < 2000, `${drawn} lines are drawn`);
  });

  flow("scripts: a chat shows them at the call", async () => {
    const page = await session("chat");
    await page.getByRole("textbox", { name: "Message" }).fill("script");
    await page.keyboard.press("Enter");
    const own = page.locator("details.call").filter({ hasText: "run_script" }).first();
    await at(own, 1).filter({ hasText: /^done add/ }).waitFor();
    await at(own, 2).filter({ hasText: /^waiting pay/ }).waitFor();
    await decide(session, "Talia", "Approve");
    await page.getByText("That is done.").waitFor();
    await own.evaluate((details) => (details.open = true));
    await at(own, 2).filter({ hasText: /^done pay/ }).waitFor();
  });

  flow("scripts: a recording shows the same, also when it is replayed", async () => {
    await made(session, ["// on record", "await tools.add({ a: 4, b: 4 });", "return 1;"]);
    const page = await inLive(session, "on record");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as JSON lines" }).click()]);
    const path = join(mkdtempSync(join(tmpdir(), "page-")), "script.jsonl");
    await download.saveAs(path);
    await page.getByLabel("Recording", { exact: true }).setInputFiles(path);
    await page.getByText("of the recording script.jsonl").waitFor();
    const shown = async () => {
      await rows(page).filter({ hasText: "run_script" }).first().click();
      await at(page, 2).filter({ hasText: /^done add .*ms$/ }).waitFor();
      await script(page).getByText("3 lines, 1 call").waitFor();
    };
    await shown();
    await page.getByRole("combobox", { name: "Speed" }).selectOption("25");
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("button", { name: "Replay" }).waitFor();
    await shown();
  });

  flow("scripts: a source that is not on record shows the numbers of lines alone", async () => {
    const page = await session("live");
    const event = (sequence, more) => JSON.stringify({ sequence, time_ms: sequence, path: [], step: 0, ...more });
    const inner = { call_id: "k-1", tool: "login", parent_call_id: "k", path: ["kept"] };
    const lines = [
      event(1, { type: "tool_started", call_id: "k", tool: "kept", arguments: '{"n":1}' }),
      event(2, { ...inner, type: "tool_started", line: 12, arguments: '{"password":"***"}' }),
      event(3, { ...inner, type: "tool_finished", line: "x", duration_ms: 2, preview: "ok" }),
      event(4, { ...inner, call_id: "k-2", type: "tool_started", line: -3, arguments: "{}" }),
      event(5, { type: "tool_started", call_id: "s", tool: "run_script", arguments: '{"script":"***"}' }),
    ];
    const file = { name: "x.jsonl", mimeType: "text/plain", buffer: Buffer.from(lines.join("\n")) };
    await page.getByLabel("Recording", { exact: true }).setInputFiles(file);
    await rows(page).filter({ hasText: "kept" }).first().click();
    await at(page, 12).filter({ hasText: /^done login/ }).waitFor();
    assert.deepEqual(await script(page).locator("ol > li > .num").allInnerTexts(), ["12"]);
    await rows(page).filter({ hasText: "run_script" }).click();
    await script(page).locator("code").getByText("***", { exact: true }).waitFor();
  });

  flow("scripts: a kept script is shown as its file", async () => {
    const page = await session("try");
    await tryTool(page, "twice");
    await fill(page, { text: "kept one" });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).waitFor();
    const own = script(page).locator("ol > li").filter({ hasText: "const once = await tools.echo(" });
    await own.getByRole("listitem").filter({ hasText: /^done echo/ }).waitFor();
    await script(page).getByText("Says a text twice").waitFor();
  });

  flow("scripts: axe finds nothing, light and dark, and nothing is wider than a narrow screen", async () => {
    const trying = await begin(session, ["// for all", ...friendly("Pia")]);
    await at(trying, 9).filter({ hasText: /^waiting pay/ }).waitFor();
    for (const colorScheme of ["light", "dark"]) {
      const page = await inLive(session, "for all", { colorScheme, viewport: NARROW });
      await at(page, 9).waitFor();
      await accessible(page, `script in Live ${colorScheme}`);
      await fits(page, "script in Live");
      await go(page, "approvals");
      await page.getByRole("article").filter({ hasText: "Pia" }).waitFor();
      await accessible(page, `script in Approvals ${colorScheme}`);
      await fits(page, "script in Approvals");
    }
    await accessible(trying, "script in Try");
    await decide(session, "Pia", "Approve");
    await trying.getByText("paid 7 to Pia").first().waitFor();
  });
}
