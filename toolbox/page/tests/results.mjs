// Results: large ones by parts, Markdown, and what a server prints beside its call.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { accessible, call, context, fill, flow, open, picture, tryTool } from "./harness.mjs";
import { program, startProgram } from "./programs.mjs";

/** Runs a flow over a server that prints, logs and answers at length. */
function printing(name, run, options) {
  flow(`results: ${name}`, async () => {
    const server = [program("misbehaving"), "list", "few", "only", "large,logs"];
    const own = await startProgram("toolbox-program", ["inspect", "--env", "SECRET=word-of-secrets", ...server]);
    try {
      await run(await open(await context(options), own), own);
    } finally {
      await own.stop();
    }
  });
}

const MARKDOWN = `# Title of *it*

A **bold**, an _italic_, a ~~gone~~ and \`code <b>\` word, snake_case_word, 2 * 3 * 4.
Second line with [a page](https://example.com/a?b=1 "title") and <https://example.com/auto>.

- one
- two
  - nested
- three

3. third
4. fourth

> quoted
> > twice

\`\`\`js
const a = "<script>alert(1)</script>";
\`\`\`

| a | b |
|---|:-:|
| 1 | \`2\` |

---
\\*no emphasis\\*
`;

/** Markdown that is to do nothing, with what it is to show. */
const HOSTILE = [
  ["<img src=x onerror=alert(1)><script>alert(1)</script>", "<img src=x onerror=alert(1)>"],
  ["[click](javascript:alert(1))", "javascript:alert(1"],
  ["[click](data:text/html,<script>alert(1)</script>)", "data:text/html"],
  ["[click]( JaVaScRiPt:alert(1) )", "JaVaScRiPt:"],
  ["[https://good.example](https://evil.example/)", "https://evil.example/"],
  ["a\u202eb\u0000 **c\u200bd**", "⟨U+202E⟩"],
  ["[a](https://user:pass@evil.example/\u202egpj.exe)", "evil.example"],
  ["> ".repeat(20_000) + "deep", "deep"],
  [Array.from({ length: 600 }, (_, at) => " ".repeat(at * 2) + "- item").join("\n"), "item"],
  ["*a ".repeat(15_000), "*a *a"],
  ["[".repeat(50_000), "[[[["],
  ["`".repeat(3) + "a".repeat(100) + " `b ``c ```d ".repeat(3000), "aaa"],
  ["- ".repeat(20_000), ""],
  ["|".repeat(20_000) + "\n" + "|-".repeat(20_000), ""],
  ["a" + " ".repeat(45_000) + "x", "x"],
  ["# " + "#".repeat(45_000) + "x", "x"],
  ["_".repeat(45_001), ""],
  ["**__~~".repeat(8_000), "**"],
];

export function register(_program, session) {
  printing("one of 7 MB comes in parts, and is saved whole", async (page) => {
    const sizes = [];
    page.on("response", async (response) => sizes.push([new URL(response.url()).pathname, (await response.body().catch(() => "")).length]));
    await tryTool(page, "large");
    await fill(page, { lines: 200_000 });
    const result = await call(page);
    await result.getByText(/^Part 1 of 1\d\d, 7\.\d MB in all$/).waitFor();
    await result.getByRole("group", { name: "Part 1 of the result" }).filter({ hasText: "line 0 é𝄞" }).waitFor();
    await result.getByRole("button", { name: "Next", exact: true }).click();
    await result.getByRole("group", { name: "Part 2 of the result" }).waitFor();
    await result.getByRole("button", { name: "Last", exact: true }).click();
    await result.getByText("line 199999 é𝄞 of a large result").waitFor();
    assert.equal(await result.getByRole("button", { name: "Next", exact: true }).isDisabled(), true);
    const length = await page.evaluate(() => document.body.innerText.length);
    assert.ok(length < 200_000, `${length} characters are drawn`);
    const largest = sizes.filter(([path]) => path !== "/page.js").sort((one, other) => other[1] - one[1])[0];
    assert.ok(largest[1] < 300_000, `${largest}`);
    const [saved] = await Promise.all([page.waitForEvent("download"), result.getByRole("button", { name: "Download the whole" }).click()]);
    const text = readFileSync(await saved.path(), "utf8");
    assert.equal(text, Array.from({ length: 200_000 }, (_, at) => `line ${at} é𝄞 of a large result\n`).join(""));
    for (const view of ["Text", "Raw", "Markdown", "Whole"]) {
      await result.getByRole("toolbar", { name: "View" }).getByRole("button", { name: view, exact: true }).click();
    }
    await accessible(page, "a large result");
  });

  printing("what a server prints and logs stands beside its call, while it runs and after it", async (page) => {
    await tryTool(page, "logs");
    await fill(page, { millis: 2000 });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const lines = page.getByRole("group", { name: "Lines of the server" });
    await lines.getByText("reading <b>red</b> with $SECRET").waitFor();
    assert.equal(await page.getByRole("region", { name: "Result" }).count(), 0, "the call runs");
    await page.getByRole("region", { name: "Result" }).getByText("Done").waitFor();
    assert.match(await lines.innerText(), /stderr\s+reading[\s\S]*last/);
    assert.match(await lines.innerText(), /warning\s+disk\s+slow, key \$SECRET/);
    assert.match(await lines.innerText(), /\{"free":7\}/);
    assert.equal(await lines.getByRole("listitem").count(), 5);
    await accessible(page, "lines of a server");
    // Those of a call are of that call.
    await tryTool(page, "large");
    await fill(page, { lines: 2 });
    await call(page);
    assert.equal(await lines.count(), 0);
  });

  flow("results: Markdown is drawn beside its text", async () => {
    for (const [colorScheme, width] of [
      ["light", 1280],
      ["dark", 768],
      ["light", 375],
    ]) {
      const page = await session("try", { colorScheme, viewport: { width, height: 800 } });
      await tryTool(page, "echo");
      await fill(page, { text: MARKDOWN });
      const result = await call(page);
      await result.getByRole("button", { name: "Markdown", exact: true }).click();
      const drawn = result.getByRole("group", { name: "Markdown of the result" });
      await result.getByRole("group", { name: "Text of the result" }).waitFor();
      await drawn.getByRole("heading", { name: "Title of it" }).waitFor();
      const texts = async (tag) => drawn.locator(tag).allInnerTexts();
      assert.deepEqual(await texts("strong"), ["bold"]);
      assert.deepEqual(await texts("em"), ["it", "italic"]);
      assert.deepEqual(await texts("s"), ["gone"]);
      assert.deepEqual(await texts("p code"), ["code <b>"]);
      assert.deepEqual(await texts("ul ul li"), ["nested"]);
      assert.equal(await drawn.locator("ul").first().locator(":scope > li").count(), 3);
      assert.equal(await drawn.locator("ol").getAttribute("start"), "3");
      assert.equal(await drawn.locator("blockquote blockquote").count(), 1);
      assert.deepEqual(await texts("pre"), ['const a = "<script>alert(1)</script>";']);
      assert.deepEqual(await texts("td"), ["1", "2"]);
      assert.equal(await drawn.locator("hr").count(), 1);
      const links = await drawn.locator("a").evaluateAll((all) => all.map((own) => [own.getAttribute("href"), own.innerText, own.rel]));
      const rel = "noreferrer noopener";
      assert.deepEqual(links, [
        ["https://example.com/a?b=1", "https://example.com/a?b=1", rel],
        ["https://example.com/auto", "https://example.com/auto", rel],
      ]);
      assert.match(await drawn.innerText(), /snake_case_word, 2 \* 3 \* 4\.[\s\S]*\*no emphasis\*/);
      await accessible(page, `Markdown, ${colorScheme}, ${width}`);
      await picture(page, `markdown-${width}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    }
  });

  flow("results: hostile Markdown runs nothing, loads nothing and stops nothing", async () => {
    const heard = [];
    const server = createServer((request, response) => (heard.push(request.url), response.end()));
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const address = `http://127.0.0.1:${server.address().port}`;
    try {
      const page = await session("try");
      const dialogs = [];
      page.on("dialog", (dialog) => (dialogs.push(dialog.message()), dialog.dismiss()));
      await tryTool(page, "echo");
      const pictures = [`![a](${address}/1)`, `[![a](${address}/2)](${address}/3)`, `<img src="${address}/4">`, `[a]: ${address}/5`, `![](${address}/6 "x")`];
      for (const [text, shown] of [...HOSTILE, ...pictures.map((text) => [text, address])]) {
        await fill(page, { text });
        const result = await call(page);
        await result.getByRole("button", { name: "Markdown", exact: true }).click();
        const drawn = result.getByRole("group", { name: "Markdown of the result" });
        const content = await drawn.evaluate((own) => own.textContent);
        assert.ok(content.includes(shown), `${text.slice(0, 80)}: ${content.slice(0, 200)}`);
        assert.equal(await drawn.locator("img, script, iframe, style, object, svg, form, input").count(), 0, text.slice(0, 80));
        const schemes = await drawn.locator("a").evaluateAll((all) => all.map((own) => own.protocol));
        assert.ok(
          schemes.every((scheme) => scheme === "http:" || scheme === "https:"),
          `${text.slice(0, 80)}: ${schemes}`,
        );
      }
      assert.deepEqual([heard, dialogs], [[], []]);
    } finally {
      server.close();
    }
  });
}
