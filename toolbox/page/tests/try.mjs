// The tab *Try*.
import assert from "node:assert/strict";
import { accessible, call, context, fill, flow, go, open, tryTool, written } from "./harness.mjs";
import { startProgram } from "./programs.mjs";

/** The kinds of arguments: a tool, arguments, and a part of the result. */
const KINDS = [
  ["text", "echo", { text: "Grüße, 世界 \"quoted\" \\ and\nlines" }, "Grüße, 世界"],
  ["integers beyond 2^53", "numbers", '{"whole": -5, "large": 18446744073709551615, "any": 0.25, "small": 3}', "18446744073709551615"],
  ["choices", "choices", { agreed: true, urgency: "high" }, '"urgency":"high"'],
  ["an optional value that is there", "choices", { agreed: false, urgency: "low", remark: "" }, '"remark":""'],
  ["an object", "place", { place: { latitude: 52.5, longitude: 13.4, name: "Berlin" } }, "Berlin"],
  ["lists, unions and maps", "order", { items: [{ article: "a", count: 1 }, { article: "b", count: 2, price: 5 }], payment: { kind: "card", digits: 1234 }, notes: { door: "left" } }, '"door":"left"'],
  ["a tuple", "pair", { pair: ["x", 4] }, '["x",4]'],
  ["recursion", "count_folders", { folder: { name: "a", folders: [{ name: "b", folders: [] }, { name: "c", folders: [{ name: "d", folders: [] }] }] } }, "4"],
  ["any JSON", "anything", { value: [1, { a: null }, "b"] }, '[1,{"a":null},"b"]'],
  ["formats", "formats", { day: "2026-11-23", code: "ABC-12", mail: "a@example.com", limit: null }, "2026-11-23"],
];

export function register(program, session) {
  for (const [kind, tool, json, part] of KINDS) {
    flow(`try: ${kind}`, async () => {
      const page = await session("try");
      await tryTool(page, tool);
      await fill(page, json);
      await page.getByText("The gate takes these arguments.").waitFor();
      const result = await call(page);
      await result.getByText("Done").waitFor();
      assert.ok((await result.innerText()).includes(part), await result.innerText());
    });
  }

  flow("try: the form writes the JSON, and the JSON fills the form", async () => {
    const page = await session("try");
    await tryTool(page, "add");
    const form = page.getByRole("form", { name: "Arguments" });
    await form.locator('[data-path="a"] input').last().fill("40");
    await form.locator('[data-path="b"] input').last().fill("2");
    assert.deepEqual(JSON.parse(await written(page)), { a: 40, b: 2 });
    await fill(page, { a: 1, b: 9007199254740993 });
    assert.equal(await form.locator('[data-path="a"] input').last().inputValue(), "1");
    await fill(page, '{"a": 1, "b": 9007199254740993}');
    assert.equal(await form.locator('[data-path="b"] input').last().inputValue(), "9007199254740993");
    const result = await call(page);
    assert.match(await result.innerText(), /9007199254740994/);
  });

  flow("try: faults are at their fields, as the gate words them", async () => {
    const page = await session("try");
    await tryTool(page, "order");
    await fill(page, { items: [{ article: "a", count: 0 }], payment: { kind: "cash" }, wrong: 1 });
    const form = page.getByRole("form", { name: "Arguments" });
    await form.getByText("`items[0].count` must be at least 1, got 0").waitFor();
    const judged = page.locator("#judged");
    await judged.getByText("`wrong` is not an argument").waitFor();
    assert.equal(await form.locator('[data-path="items[0].count"] [aria-invalid="true"]').count(), 1);
  });

  flow("try: what the gate would repair is said before the call", async () => {
    const page = await session("try");
    await tryTool(page, "add");
    await fill(page, { a: "5", b: 1 });
    await page.getByText("The gate would repair").waitFor();
    const result = await call(page);
    await result.getByText("Repaired").waitFor();
  });

  flow("try: JSON that cannot be read names its place", async () => {
    const page = await session("try");
    await tryTool(page, "add");
    await fill(page, '{"a": }');
    await page.getByText(/line 1, column 7/).first().waitFor();
    await page.getByText("the form waits for it").waitFor();
  });

  flow("try: a refused call says why", async () => {
    const page = await session("try");
    await tryTool(page, "add");
    await fill(page, { a: true });
    const result = await call(page);
    await result.getByText("Failed").waitFor();
    assert.match(await result.innerText(), /missing required argument `b`/);
  });

  flow("try: progress is shown, and a call is cancelled by Esc", async () => {
    const page = await session("try");
    await tryTool(page, "count_slowly");
    await fill(page, { steps: 500, pause: 50 });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText(/^step \d+/).waitFor();
    assert.ok(await page.getByRole("progressbar").first().isVisible());
    await page.getByRole("button", { name: "Cancel", exact: true }).press("Escape");
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("Failed").waitFor();
    assert.match(await result.innerText(), /cancelled/);
  });

  flow("try: a call is cancelled by the button", async () => {
    const page = await session("try");
    await tryTool(page, "count_slowly");
    await fill(page, { steps: 500, pause: 50 });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).getByText("cancelled").first().waitFor();
  });

  flow("try: items of a stream are rows that grow, and stay out of the result", async () => {
    const own = await startProgram("own-program", ["serve", "--http", "127.0.0.1:0", "--page"], { environment: { PARTS: "1" } });
    try {
      const page = await open(await context(), own);
      await go(page, "try/ticks");
      const items = page.getByRole("list", { name: "Items so far" });
      const result = page.getByRole("region", { name: "Result" });
      // Before the end, while the tool waits.
      await fill(page, { to: 3, waits: true });
      await page.getByRole("button", { name: "Call", exact: true }).click();
      await items.getByRole("listitem").nth(2).waitFor();
      assert.deepEqual(await items.getByRole("listitem").allInnerTexts(), ["0", "1", "2"]);
      await page.getByRole("button", { name: "Cancel", exact: true }).click();
      await result.getByText("cancelled").first().waitFor();
      assert.equal(await items.count(), 0);
      // The result is what was collected; an error ends it.
      await fill(page, { to: 3 });
      assert.match(await (await call(page)).innerText(), /Done[\s\S]*0[\s\S]*1[\s\S]*2/);
      await fill(page, { to: 2, fails: true });
      assert.match(await (await call(page)).innerText(), /Failed[\s\S]*it broke/);
      // Of many the last ones are shown, each with its number.
      await fill(page, { to: 5000, waits: true });
      await page.getByRole("button", { name: "Call", exact: true }).click();
      await items.getByText("4999", { exact: true }).waitFor();
      const shown = await items.getByRole("listitem").allInnerTexts();
      assert.ok(shown.length < 1000, `${shown.length} rows`);
      assert.equal(await items.getByRole("listitem").last().getAttribute("value"), "5000");
      await accessible(page, "items");
      await page.getByRole("button", { name: "Cancel", exact: true }).click();
    } finally {
      await own.stop();
    }
  });

  flow("try: a page that is closed cancels its call", async () => {
    const page = await session("try");
    await tryTool(page, "count_slowly");
    await fill(page, { steps: 1000, pause: 100 });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText(/^step \d+/).waitFor();
    await page.close();
    const other = await session("live");
    await other.getByRole("searchbox").fill("count_slowly");
    await other.getByRole("option").filter({ hasText: "failed" }).last().waitFor();
  });

  flow("try: a tree, a table and the raw result", async () => {
    const page = await session("try");
    await tryTool(page, "rows");
    await fill(page, { count: 3 });
    const result = await call(page);
    await result.getByRole("button", { name: "Table" }).click();
    assert.equal(await result.getByRole("row").count(), 4);
    await result.getByRole("button", { name: "Tree" }).click();
    await result.getByText("list of 3").waitFor();
    await result.locator("details details summary").first().click();
    await result.getByText('"row 0"').waitFor();
    await result.getByRole("button", { name: "Raw" }).click();
    await result.getByRole("group", { name: "Raw result" }).getByText('"is_error": false').waitFor();
  });

  flow("try: a picture is drawn", async () => {
    const page = await session("try");
    await tryTool(page, "picture");
    const result = await call(page);
    const width = await result.getByRole("img").evaluate(async (image) => (await image.decode(), image.naturalWidth));
    assert.equal(width, 8);
  });

  flow("try: links of the web open elsewhere, others are text", async () => {
    const page = await session("try");
    await tryTool(page, "links");
    const result = await call(page);
    await result.getByRole("button", { name: "Parts" }).click();
    const links = result.getByRole("link");
    assert.equal(await links.count(), 1);
    assert.equal(await links.first().getAttribute("rel"), "noreferrer noopener");
    assert.equal(await links.first().innerText(), "https://example.com/a?b=c");
    assert.match(await result.innerText(), /javascript:alert\(1\)/);
  });

  flow("try: a failure, and a panic, are results", async () => {
    const page = await session("try");
    await tryTool(page, "fails");
    await fill(page, { reason: "the tank is empty" });
    await (await call(page)).getByText("the tank is empty").waitFor();
    await tryTool(page, "panics");
    await (await call(page)).getByText("Failed").waitFor();
  });

  flow("try: a result of 250 kB is shown part by part", async () => {
    const page = await session("try");
    await tryTool(page, "large");
    await fill(page, { bytes: 250_000 });
    const result = await call(page);
    await result.getByText("184,464 more characters").waitFor();
    await result.getByRole("button", { name: "Show more" }).click();
    await result.getByText("more characters").waitFor({ state: "detached" });
  });

  flow("try: 20 000 rows stay usable", async () => {
    const page = await session("try");
    await tryTool(page, "rows");
    await fill(page, { count: 20_000 });
    const result = await call(page);
    await result.getByRole("button", { name: "Table" }).click();
    await result.getByRole("button", { name: /more rows/ }).waitFor();
    await result.getByRole("button", { name: "Tree" }).click();
    await result.getByText("list of 20,000").waitFor();
  });

  flow("try: calls before are repeated", async () => {
    const page = await session("try");
    await tryTool(page, "echo");
    await fill(page, { text: "one" });
    await call(page);
    await fill(page, { text: "two" });
    await call(page);
    const before = page.getByRole("button", { name: "Take these arguments" });
    assert.equal(await before.count(), 2);
    await before.last().click();
    assert.match(await written(page), /one/);
  });

  flow("try: a call is copied as a command, as curl and as a Rust test", async () => {
    const page = await session("try");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await tryTool(page, "echo");
    await fill(page, '{"text": "it\'s \u202e here"}');
    const copied = async (name) => {
      await page.getByRole("button", { name }).click();
      await page.getByText("Copied").last().waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.equal(await copied("As command"), `toolbox call 'echo' '{"text":"it'\\''s \\u202e here"}'`);
    assert.match(await copied("As curl"), /"method":"tools\/call"/);
    assert.match(await copied("As Rust test"), /ToolCall::new\("1", "echo", r#"\{"text":"it's \\u202e here"\}"#\)/);
  });

  flow("try: a secret is typed unseen", async () => {
    const page = await session("try");
    await tryTool(page, "formats");
    const secret = page.getByRole("form", { name: "Arguments" }).locator('[data-path="secret"] input[type="password"]');
    await secret.waitFor({ state: "attached" });
  });

  flow("try: axe finds nothing, light and dark", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await session("try", { colorScheme });
      await tryTool(page, "order");
      await fill(page, { items: [{ article: "a", count: 0 }], payment: { kind: "cash" } });
      await page.getByText("must be at least 1").first().waitFor();
      await accessible(page, `try ${colorScheme}`);
      await tryTool(page, "rows");
      await call(page);
      await accessible(page, `result ${colorScheme}`);
    }
  });
}
