// MCP Apps: the HTML of servers in frames of another origin, friendly and hostile.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessible, call, context, fill, flow, go, open, picture, tryTool } from "./harness.mjs";
import { NARROW, fits } from "./narrow.mjs";
import { program, startProgram } from "./programs.mjs";

const CONFIG = {
  settings: { blacklist: ["a_forbidden"] },
  mcp: { a: { command: [program("apps")] }, b: { command: [program("apps")] }, q: { command: [program("asking")] } },
};

/** Runs something over a page with two servers that have apps, and one that asks. */
export async function overApps(run, options, words = []) {
  const folder = mkdtempSync(join(tmpdir(), "page-apps-"));
  const file = join(folder, "toolbox.json");
  writeFileSync(file, JSON.stringify(CONFIG));
  const environment = { OPENCODE_TOOLBOX_CONFIG: file, HOME: folder, XDG_CONFIG_HOME: "", CODEX_HOME: "" };
  const own = await startProgram("toolbox-program", ["page", ...words], { environment });
  try {
    await run(await open(await context(options), own), own);
  } finally {
    await own.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function shown(name, run, options) {
  flow(`apps: ${name}`, () => overApps(run, options));
}

/** Calls a tool, and returns the section with its app, and the document of the app. */
export async function opened(page, tool, given = "{}") {
  await tryTool(page, tool);
  await fill(page, given);
  await call(page);
  const section = page.getByRole("region", { name: "App", exact: true });
  await section.waitFor();
  return { section, app: section.frameLocator("iframe").frameLocator("iframe") };
}

/** Returns what the server of a name has been called with, as it says itself. */
export async function callsOf(page, server) {
  await tryTool(page, `${server}_calls`);
  const result = await call(page);
  return (await result.getByLabel("Text of the result").or(result.getByText("No text.")).textContent()).trim();
}

/** Listens for whatever reaches it: requests, sockets and datagrams. */
async function listener() {
  const reached = [];
  const server = createServer((request, response) => {
    reached.push(request.url);
    response.writeHead(200, { "access-control-allow-origin": "*" }).end("reached");
  });
  server.on("upgrade", (request, socket) => {
    reached.push(request.url);
    socket.destroy();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { reached, url: `http://127.0.0.1:${server.address().port}`, stop: () => server.closeAllConnections() ?? server.close() };
}

/** Makes the request for an app as the page does, and returns the answer. */
async function asked(page, tool) {
  // Once its server is there.
  await tryTool(page, tool);
  return page.evaluate(async (tool) => {
    const headers = { "content-type": "application/json", "x-toolbox-page": localStorage.getItem("toolbox-page-key") };
    const response = await fetch("/api/apps/open", { method: "POST", headers, body: JSON.stringify({ tool }) });
    return { status: response.status, body: await response.json() };
  }, tool);
}

export function register() {
  for (const colorScheme of ["light", "dark"]) {
    shown(
      `a friendly one gets its input and result, and calls, reads and resizes (${colorScheme})`,
      async (page) => {
        const { section, app } = await opened(page, "a_show", '{"of": "me"}');
        await app.locator("#context").getByText(`2026-01-26 ${colorScheme} en-US inline show`).waitFor();
        await app.locator("#input").getByText('{"of":"me"}').waitFor();
        // The input comes before the result, and nothing before the app is initialized.
        const order = "answer ui/notifications/tool-input ui/notifications/tool-result";
        await app.locator("#result").getByText(`text of show; show; show; ${order}`).waitFor();
        // The raw result stays.
        await page.getByRole("region", { name: "Result" }).getByText("text of show").first().waitFor();
        const frame = section.locator("iframe");
        const places = page.frames().map((own) => new URL(own.url() === "about:srcdoc" ? "about:srcdoc" : own.url()).origin);
        assert.equal(places.length, 3);
        assert.notEqual(places[0], places[1]);
        assert.equal(places[2], "null");

        await app.getByRole("button", { name: "Ask for more" }).click();
        await app.locator("#answer").getByText("more of it").waitFor();
        await section.getByRole("listitem").filter({ hasText: /more .*done/ }).waitFor();
        await app.getByRole("button", { name: "Read" }).click();
        await app.locator("#answer").getByText('"uri":"facts://today"').getByText("a fact").waitFor();
        await app.getByRole("button", { name: "Full screen" }).click();
        await app.locator("#answer").getByText('"mode":"inline"').waitFor();

        const height = (wanted) => page.waitForFunction((wanted) => document.querySelector(".app iframe").offsetHeight === wanted, wanted);
        await app.getByRole("button", { name: "Grow" }).click();
        await height(640);
        await fits(page, "a grown app");
        await app.getByRole("button", { name: "Shrink" }).click();
        await height(60);
        await app.getByRole("button", { name: "Grow" }).click();
        await height(640);
        assert.equal(await frame.getAttribute("sandbox"), "allow-scripts allow-same-origin allow-forms");
        await accessible(page, `an app, ${colorScheme}`);
        await picture(page, `app-${colorScheme}`);
        const other = colorScheme === "light" ? "dark" : "light";
        await page.emulateMedia({ colorScheme: other });
        await app.locator("#context").getByText(`changed to ${other}`).waitFor();
      },
      { colorScheme, locale: "en-US" },
    );
  }

  shown("a link is opened once the person agrees", async (page) => {
    const { section, app } = await opened(page, "a_show");
    const question = section.getByRole("group", { name: "Link of the app" });
    await app.getByRole("button", { name: "Open a link" }).click();
    await question.getByText("http://127.0.0.1:9/opened").waitFor();
    // It cannot be agreed to before it can be read, and what is to be clicked does not move.
    assert.ok(await question.getByRole("button", { name: "Open" }).isDisabled());
    const before = await section.locator("iframe").evaluate((own) => own.offsetHeight);
    await app.getByRole("button", { name: "Grow" }).click();
    await app.locator("#answer").getByText("grown").waitFor();
    assert.equal(await section.locator("iframe").evaluate((own) => own.offsetHeight), before);
    await accessible(page, "a question of an app");
    await question.getByRole("button", { name: "Refuse" }).click();
    await app.locator("#answer").getByText("Link opening denied by user").waitFor();
    assert.equal(page.context().pages().length, 1);
    await app.getByRole("button", { name: "Open a link" }).click();
    const window = page.context().waitForEvent("page");
    await question.getByRole("button", { name: "Open" }).click();
    assert.equal(await (await window).evaluate(() => window.opener), null);
    await app.locator("#answer").getByText('"result":{}').waitFor();
    assert.equal(await question.count(), 0);
  });

  shown("it ends by itself before it is closed, and is opened again", async (page) => {
    const { section, app } = await opened(page, "a_show", '{"of": "me"}');
    await app.locator("#result").getByText("text of show").waitFor();
    await section.getByRole("button", { name: "Close the app" }).click();
    await section.locator("iframe").waitFor({ state: "detached" });
    await section.getByRole("button", { name: "Open the app" }).click();
    await app.locator("#result").getByText("text of show").waitFor();
    // Also where the page goes elsewhere; it is loaded once a call, and not when one comes back.
    await go(page, "tools/a_show");
    await page.waitForFunction(() => document.querySelectorAll("iframe").length === 0);
    await tryTool(page, "a_show");
    await page.getByRole("button", { name: "Open the app" }).waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    assert.equal(await callsOf(page, "a"), "show ended ended");
  });

  shown("no wider than a narrow screen", async (page) => {
    const { app } = await opened(page, "a_show");
    await app.locator("#result").getByText("text of show").waitFor();
    await fits(page, "an app");
    await app.getByRole("button", { name: "Open a link" }).click();
    await page.getByRole("group", { name: "Link of the app" }).waitFor();
    await fits(page, "a question of an app");
    await accessible(page, "an app on a narrow screen");
  }, { viewport: NARROW });

  shown("a hostile one reaches nothing", async (page) => {
    const outside = await listener();
    try {
      const windows = [];
      page.context().on("page", (other) => windows.push(other.url()));
      const address = await page.evaluate(() => location.origin);
      const { section, app } = await opened(page, "a_attack", JSON.stringify({ of: `${outside.url} ${address}` }));
      await app.locator("#done").getByText("all tried").waitFor();
      const log = await app.locator("#log li").allTextContents();
      assert.deepEqual(log.filter((row) => row.includes("reached")), []);
      assert.ok(log.length >= 38, `${log.length} attempts`);
      assert.ok(log.some((row) => row === 'a call that it may make: "more of it"'), log.join("\n"));
      assert.deepEqual(outside.reached, [], "requests to elsewhere");
      assert.deepEqual(windows, []);
      assert.equal(await page.evaluate(() => location.origin), address);
      assert.match(page.url(), /#\/try\/a_attack$/);
      assert.equal(await page.getByText("FORGED").count(), 0);
      // The frame is the one that was loaded, and all is as before.
      await section.getByRole("button", { name: "Close the app" }).waitFor();
      assert.equal(await callsOf(page, "a"), "attack more more");
      assert.equal(await callsOf(page, "b"), "No text.");
    } finally {
      outside.stop();
    }
  });

  const left = "it left the document that its server sent";
  for (const [tool, why] of [["flood", "it sent too many messages"], ["leave", left], ["submit", left]]) {
    shown(`one that does not keep to the rules is closed: ${tool}`, async (page) => {
      const { section } = await opened(page, `a_${tool}`);
      await section.getByRole("alert").filter({ hasText: `The app was closed: ${why}` }).waitFor();
      await section.locator("iframe").waitFor({ state: "detached" });
      assert.equal(page.frames().length, 1);
      // The page works on.
      assert.equal(await callsOf(page, "a"), tool);
    });
  }

  shown("one that never rests does not stop the page", async (page) => {
    const { section } = await opened(page, "a_spin");
    await section.locator("iframe").waitFor();
    const ticks = await page.evaluate(
      () =>
        new Promise((done) => {
          let ticks = 0;
          const timer = setInterval(() => (ticks += 1), 20);
          setTimeout(() => (clearInterval(timer), done(ticks)), 1500);
        }),
    );
    assert.ok(ticks > 5, `${ticks} ticks`);
    await section.getByRole("button", { name: "Close the app" }).click();
    await section.locator("iframe").waitFor({ state: "detached" });
  });

  shown("what is no app is said, and the old key and bytes are read", async (page) => {
    for (const [tool, why] of [["large", "at most 5242880 are shown"], ["text_type", "not of the type"]]) {
      const { section } = await opened(page, `a_${tool}`);
      await section.getByRole("alert").filter({ hasText: why }).waitFor();
      assert.equal(await section.locator("iframe").count(), 0);
    }
    const { app } = await opened(page, "a_old_key");
    await app.getByText("of bytes").waitFor();
    // A tool without an app has no such section.
    await tryTool(page, "a_calls");
    await call(page);
    assert.equal(await page.getByRole("region", { name: "App", exact: true }).count(), 0);
    assert.equal((await asked(page, "a_calls")).status, 422);
  });

  shown("the policy of a frame is what its server declares, and no more", async (page, own) => {
    const policies = [];
    for (const tool of ["a_show", "b_declares"]) {
      const { status, body } = await asked(page, tool);
      assert.equal(status, 200);
      const other = new URL(body.frame);
      assert.equal(other.hostname, "127.0.0.1");
      assert.notEqual(other.origin, own.url);
      const answer = await fetch(body.frame);
      policies.push(answer.headers.get("content-security-policy").split("; "));
      assert.match(answer.headers.get("permissions-policy"), /camera=\(\), microphone=\(\), geolocation=\(\)/);
      assert.equal(answer.headers.get("set-cookie"), null);
      // An address is good for one load.
      assert.equal((await fetch(body.frame)).status, 404);
    }
    const [plain, declared] = policies;
    const last = ["form-action 'none'", `frame-ancestors ${own.url}`];
    assert.deepEqual(plain, [
      "default-src 'none'",
      "script-src 'self' 'unsafe-inline'",
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "font-src 'self'",
      "media-src 'self' data:",
      "connect-src 'none'",
      "frame-src 'none'",
      "object-src 'none'",
      "base-uri 'self'",
      ...last,
    ]);
    const cdn = "https://cdn.example.com";
    assert.deepEqual(declared, [
      "default-src 'none'",
      `script-src 'self' 'unsafe-inline' ${cdn}`,
      `style-src 'self' 'unsafe-inline' ${cdn}`,
      `img-src 'self' data: ${cdn}`,
      `font-src 'self' ${cdn}`,
      `media-src 'self' data: ${cdn}`,
      "connect-src https://api.example.com wss://*.example.com:8443",
      "frame-src https://player.example.com",
      "object-src 'none'",
      "base-uri https://base.example.com",
      ...last,
    ]);
    const { section } = await opened(page, "b_declares");
    await section.getByText("It may reach https://api.example.com, wss://*.example.com:8443").waitFor();
    const refused = await section.getByText("It asked for").innerText();
    for (const one of ["http://127.0.0.1:80", "https://localhost", "https://a.example; script-src *", "'unsafe-eval'", "camera", "clipboardWrite"]) {
      assert.ok(refused.includes(one), `${one} in ${refused}`);
    }
    await fits(page, "an app that declares much");
  });

  shown("the page lets in frames of one origin, and servers are told of apps", async (page, own) => {
    const answer = await fetch(own.url);
    assert.match(answer.headers.get("content-security-policy"), /; frame-src http:\/\/127\.0\.0\.1:\d+$/);
    const frame = new URL((await asked(page, "a_show")).body.frame);
    // The listener of frames has nothing of the page.
    for (const path of ["/", "/api/state", "/page.js", "/app/x"]) {
      assert.equal((await fetch(frame.origin + path)).status, 404, path);
    }
    const refused = await fetch(`${own.url}/api/state`, { headers: { origin: frame.origin } });
    assert.equal(refused.status, 403);
    await tryTool(page, "a_declared");
    await (await call(page)).getByText('{"mimeTypes":["text/html;profile=mcp-app"]}').first().waitFor();
  });
}

