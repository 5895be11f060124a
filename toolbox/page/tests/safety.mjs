// Hostile servers, pages and links.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { accessible, call, context, fill, flow, open, start, tryTool } from "./harness.mjs";

/** Makes a request as a program would, with headers of its own choice. */
function raw(program, { method = "GET", path = "/", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port: program.port, method, path, headers }, (answer) => {
      let text = "";
      answer.on("data", (data) => (text += data));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Returns the two halves of the session of a page. */
async function halves(page, program) {
  const cookies = await page.context().cookies(program.url);
  const cookie = cookies.find((own) => own.name.startsWith("toolbox-page"));
  return { cookie, key: await page.evaluate(() => localStorage.getItem("toolbox-page-key")) };
}

export function register(program, session) {
  const harmful = ["markup", "terminal", "direction", "drawing", "html_picture", "broken_kind", "deep", "names", "recursive", "long"];
  for (const tool of harmful) {
    flow(`safety: the harmful tool ${tool} is inert`, async () => {
      const page = await session(`tools/${tool}`);
      await page.getByRole("heading", { name: tool, level: 2 }).waitFor();
      await page.getByText("As each provider gets it").waitFor();
      await tryTool(page, tool);
      if (tool === "names") {
        await fill(page, '{"constructor": "x", "__proto__": "y"}');
      } else if (tool === "recursive") {
        await fill(page, '{"below": {"below": {}}}');
      }
      const result = await call(page);
      for (const view of ["Parts", "Tree", "Raw", "Text"]) {
        const button = result.getByRole("button", { name: view });
        if (await button.count()) {
          await button.click();
        }
      }
      const text = await result.innerText();
      assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(text), "nothing hidden");
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.locator("#page svg, #page script, #page iframe, #page [onerror]").count(), 0);
      if (tool === "drawing" || tool === "html_picture" || tool === "broken_kind") {
        assert.equal(await result.getByRole("img").count(), 0);
      }
    });
  }

  flow("safety: a link is used once", async () => {
    const own = await start();
    const first = await context();
    await open(first, own);
    const second = await context();
    const page = await second.newPage();
    await page.goto(own.link);
    await page.getByRole("alert").filter({ hasText: "this link was used before" }).waitFor();
    assert.equal((await second.cookies()).length, 0);
    await first.close();
    await second.close();
    await own.stop();
  });

  flow("safety: the token leaves the address at once", async () => {
    const page = await session("tools");
    assert.equal(await page.evaluate(() => location.href.includes("token")), false);
    assert.equal(await page.evaluate(() => document.cookie), "");
  });

  flow("safety: the cookie is HttpOnly, SameSite=Strict, and ends", async () => {
    const page = await session("tools");
    const { cookie } = await halves(page, program);
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    assert.ok(cookie.expires > Date.now() / 1000 && cookie.expires <= Date.now() / 1000 + 12 * 3600 + 5);
  });

  flow("safety: half a session is none", async () => {
    const page = await session("tools");
    const { cookie, key } = await halves(page, program);
    const host = `127.0.0.1:${program.port}`;
    const both = { host, cookie: `${cookie.name}=${cookie.value}`, "x-toolbox-page": key };
    assert.equal((await raw(program, { path: "/api/state", headers: both })).status, 200);
    assert.equal((await raw(program, { path: "/api/state", headers: { host, cookie: both.cookie } })).status, 401);
    assert.equal((await raw(program, { path: "/api/state", headers: { host, "x-toolbox-page": key } })).status, 401);
    assert.equal((await raw(program, { path: "/api/state", headers: { ...both, "x-toolbox-page": "x" } })).status, 401);
  });

  flow("safety: a request under another name is refused (DNS rebinding)", async () => {
    const page = await session("tools");
    const { cookie, key } = await halves(page, program);
    const headers = { cookie: `${cookie.name}=${cookie.value}`, "x-toolbox-page": key };
    for (const host of ["evil.example", `evil.example:${program.port}`, "127.0.0.1.evil.example", "0x7f000001"]) {
      assert.equal((await raw(program, { path: "/", headers: { host } })).status, 403, host);
      assert.equal((await raw(program, { path: "/api/state", headers: { ...headers, host } })).status, 403, host);
    }
  });

  flow("safety: another origin cannot decide, not even one of another port of this host", async () => {
    const evil = createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end("<h1>evil</h1>"));
    await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
    try {
      const victim = await session("tools");
      const { key } = await halves(victim, program);
      const page = await victim.context().newPage();
      await page.goto(`http://127.0.0.1:${evil.address().port}/`);
      const outcome = await page.evaluate(
        async ([url, key]) => {
          const tries = [];
          for (const headers of [{ "content-type": "text/plain" }, { "content-type": "application/json", "x-toolbox-page": key }]) {
            try {
              const response = await fetch(`${url}/api/decide`, { method: "POST", credentials: "include", headers, body: '{"id":1,"word":"approve"}' });
              tries.push(response.status);
            } catch {
              tries.push("blocked");
            }
          }
          return tries;
        },
        [program.url, key],
      );
      assert.deepEqual(outcome, ["blocked", "blocked"]);
    } finally {
      evil.close();
    }
    const headers = { host: `127.0.0.1:${program.port}`, "content-type": "application/json" };
    for (const origin of ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"]) {
      const answer = await raw(program, { method: "POST", path: "/api/decide", headers: { ...headers, origin }, body: "{}" });
      assert.equal(answer.status, 403, origin);
    }
    assert.equal((await raw(program, { method: "POST", path: "/api/decide", headers, body: "{}" })).status, 403);
  });

  flow("safety: no other page can frame it", async () => {
    const evil = createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end(`<iframe src="${program.url}/"></iframe>`));
    await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
    try {
      const own = await context();
      const page = await own.newPage();
      await page.goto(`http://127.0.0.1:${evil.address().port}/`);
      const frame = page.frames()[1];
      assert.equal(await frame.locator("#page").count(), 0);
      await own.close();
    } finally {
      evil.close();
    }
  });

  flow("safety: every response has the policy", async () => {
    const host = `127.0.0.1:${program.port}`;
    for (const path of ["/", "/page.js", "/page.css", "/api/state", "/nothing"]) {
      const { headers } = await raw(program, { path, headers: { host, "accept-encoding": "gzip" } });
      assert.match(headers["content-security-policy"] ?? "", /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/, path);
      assert.ok(!/unsafe/.test(headers["content-security-policy"]));
      assert.equal(headers["x-frame-options"], "DENY");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.equal(headers["referrer-policy"], "no-referrer");
    }
  });

  flow("safety: the policy stops an inline script and innerHTML", async () => {
    const page = await session("tools");
    const stopped = await page.evaluate(() => {
      try {
        document.createElement("div").innerHTML = "<img src=x onerror=window.hacked=1>";
        return false;
      } catch (error) {
        return error instanceof TypeError;
      }
    });
    assert.equal(stopped, true);
    page.context().faults.length = 0;
  });

  flow("safety: nothing is changed by GET", async () => {
    const page = await session("tools");
    const { cookie, key } = await halves(page, program);
    const headers = { host: `127.0.0.1:${program.port}`, cookie: `${cookie.name}=${cookie.value}`, "x-toolbox-page": key };
    for (const path of ["/api/calls", "/api/decide", "/api/cancel", "/api/link", "/api/leave", "/api/approve", "/api/reconnect", "/api/session"]) {
      assert.equal((await raw(program, { path, headers })).status, 405, path);
    }
  });

  flow("safety: a body beyond the limit is refused", async () => {
    const page = await session("tools");
    const status = await page.evaluate(async () => {
      const headers = { "content-type": "application/json", "x-toolbox-page": localStorage.getItem("toolbox-page-key") };
      const large = (await fetch("/api/cancel", { method: "POST", headers, body: JSON.stringify({ id: "x".repeat(100_000) }) })).status;
      const larger = (await fetch("/api/check", { method: "POST", headers, body: JSON.stringify({ tool: "echo", arguments: "x".repeat(5 << 20) }) })).status;
      return [large, larger];
    });
    assert.deepEqual(status, [413, 413]);
  });

  flow("safety: too many requests are slowed down", async () => {
    const page = await session("tools");
    const statuses = await page.evaluate(async () => {
      const headers = { "x-toolbox-page": localStorage.getItem("toolbox-page-key") };
      const all = await Promise.all(Array.from({ length: 600 }, () => fetch("/api/waiting", { headers }).then((own) => own.status)));
      return [...new Set(all)].sort();
    });
    assert.deepEqual(statuses, [200, 429]);
  });

  flow("safety: tokens cannot be guessed quickly", async () => {
    const own = await start();
    const headers = { host: `127.0.0.1:${own.port}`, origin: own.url, "content-type": "application/json" };
    const statuses = [];
    for (let at = 0; at < 8; at++) {
      statuses.push((await raw(own, { method: "POST", path: "/api/session", headers, body: `{"token":"guess${at}"}` })).status);
    }
    assert.deepEqual(statuses.slice(0, 5), [403, 403, 403, 403, 403]);
    assert.ok(statuses.includes(429));
    await own.stop();
  });

  flow("safety: a session that is idle ends, and the page says so", async () => {
    const own = await start("--idle-ms", "700");
    const browser = await context();
    const page = await open(browser, own);
    await page.getByText("The session has ended").waitFor();
    await browser.close();
    await own.stop();
  });

  flow("safety: a session is ended by hand", async () => {
    const page = await session("tools");
    const { cookie, key } = await halves(page, program);
    await page.getByText("Session", { exact: true }).click();
    await page.getByRole("button", { name: "End the session" }).click();
    await page.getByText("Open the link that the program printed").waitFor();
    const headers = { host: `127.0.0.1:${program.port}`, cookie: `${cookie.name}=${cookie.value}`, "x-toolbox-page": key };
    assert.equal((await raw(program, { path: "/api/state", headers })).status, 401);
  });

  flow("safety: a link for another browser opens it once", async () => {
    const page = await session("tools");
    await page.getByText("Session", { exact: true }).click();
    await page.getByRole("button", { name: "Link for another browser" }).click();
    const link = await page.getByRole("textbox", { name: "Link for another browser" }).inputValue();
    const own = await context();
    await open(own, { link });
    await own.close();
  });

  flow("safety: with a token, it is typed in, and a wrong one is refused", async () => {
    const own = await start("--token", "correct-horse");
    const browser = await context();
    const page = await browser.newPage();
    await page.goto(own.url);
    const token = page.getByLabel("Link or token");
    await token.fill("wrong-horse");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("alert").waitFor();
    await accessible(page, "the closed page");
    await token.fill("correct-horse");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("navigation", { name: "Tabs" }).waitFor();
    await browser.close();
    await own.stop();
  });

  flow("safety: no page made a fault of its script or its policy", async () => {
    const page = await session("tools");
    await page.getByRole("listbox", { name: "Tools" }).waitFor();
    assert.deepEqual(page.context().faults, []);
  });

  flow("many: 10 000 tools stay quick", async () => {
    const own = await start("--tools", "10000");
    const browser = await context();
    const page = await open(browser, own);
    const list = page.getByRole("listbox", { name: "Tools" });
    await page.getByText(/of 10,0\d\d tools/).waitFor();
    assert.ok((await list.getByRole("option").count()) < 60);
    const times = [];
    for (const words of ["export an invoice of system 77", "merge branch", "archive"]) {
      const from = Date.now();
      await page.getByRole("searchbox").fill(words);
      await list.getByRole("option").filter({ hasText: "score" }).first().waitFor();
      times.push(Date.now() - from);
      await page.getByRole("searchbox").fill("");
      await list.getByRole("option").filter({ hasText: "tokens" }).first().waitFor();
    }
    console.log(`        searches among 10 000 tools: ${times.join(", ")} ms, the pause while typing included`);
    await list.focus();
    await page.keyboard.press("End");
    await page.getByRole("heading", { name: "system156", exact: false, level: 2 }).waitFor();
    await browser.close();
    await own.stop();
  });
}
