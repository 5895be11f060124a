// The tab *Servers*: a configuration file changed in the browser.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessible, another, context, flow, go, open, picture } from "./harness.mjs";
import { program, startProgram } from "./programs.mjs";

/** Runs a flow over a file, which may be missing. */
function configured(name, text, run) {
  flow(`servers: ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "page-servers-"));
    const file = join(folder, "toolbox.jsonc");
    if (text !== null) {
      writeFileSync(file, text);
    }
    const environment = { OPENCODE_TOOLBOX_CONFIG: file, HOME: folder, XDG_CONFIG_HOME: "", CODEX_HOME: "" };
    const own = await startProgram("toolbox-program", ["page"], { environment });
    try {
      const page = await open(await context(), own);
      await go(page, "servers");
      await page.getByRole("heading", { name: "Servers", level: 2 }).waitFor();
      await run(page, { read: () => readFileSync(file, "utf8"), write: (text) => writeFileSync(file, text), folder, file });
    } finally {
      await own.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

const SERVER = JSON.stringify(program("misbehaving"));
const FILE = `{
  // The servers of the office.
  "mcp": {
    "good": { "command": [${SERVER}, "list", "few", "only", "echo,env"] }, // works
    "far": {
      "url": "http://127.0.0.1:9/mcp", // nobody listens
      "headers": { "Authorization": "Bearer SECRET-1", "X-Other": "SECRET-2" },
      "retries": 0,
      "enabled": false,
    },
    "<img src=x onerror=alert(1)>\\"": { "command": ["x"] },
    "broken": { "command": ["no-such-program"], "retries": 0 },
  },
}
`;

/** Returns the card of a server, opened. */
export async function card(page, name) {
  const own = page.locator("li.card").filter({ has: page.locator("summary b", { hasText: name }) });
  await own.waitFor();
  const isOpen = await own.locator("details").first().evaluate((details) => details.open);
  if (!isOpen) {
    await own.locator("summary").first().click();
  }
  return own;
}

export function register() {
  configured("the list is closed, and what is troubled comes first", FILE, async (page) => {
    await page.locator("li.card").filter({ hasText: "failed" }).waitFor();
    await page.locator("li.card").filter({ hasText: "ready" }).waitFor();
    const texts = await page.locator("li.card summary b").allInnerTexts();
    assert.deepEqual(texts, ['<img src=x onerror=alert(1)>"', "broken", "good", "far"]);
    assert.equal(await page.locator("li.card details[open]").count(), 0);
    await page.getByRole("navigation", { name: "Tabs" }).getByText("to look at").waitFor({ state: "attached" });
    const own = await card(page, "<img");
    await own.getByText("holds something else than letters").waitFor();
    await own.getByText("toolbox.jsonc:11:").waitFor();
  });

  configured("a server gets another name, and keeps its entry and its comments", FILE, async (page, own) => {
    const good = await card(page, "good");
    await good.getByText("2 tools").waitFor();
    await good.getByRole("button", { name: "Rename" }).click();
    const form = good.getByRole("form", { name: "Other name" });
    await form.getByLabel("Name").fill("FAR");
    await form.getByRole("button", { name: "Rename it" }).click();
    await good.getByText("there is a server `far` already").waitFor();
    await good.getByRole("button", { name: "Rename" }).click();
    await form.getByLabel("Name").fill("better");
    await form.getByRole("button", { name: "Rename it" }).click();
    const better = await card(page, "better");
    await better.getByText("ready").waitFor();
    assert.equal(own.read(), FILE.replace('"good"', '"better"'));
    await page.getByText("its tools have other names now").waitFor();
    assert.equal(await page.locator("li.card summary b", { hasText: "good" }).count(), 0);
  });

  configured("a server is added, disconnected, connected and removed, and comments stay", FILE, async (page, own) => {
    await page.getByRole("button", { name: "Add a server" }).click();
    const form = page.getByRole("form", { name: "New server" });
    await form.getByLabel("Name", { exact: true }).fill("fresh");
    await form.getByLabel("Program", { exact: true }).fill(program("misbehaving"));
    await form.getByLabel("Arguments, one a line").fill("list\nfew\nonly\necho");
    await form.getByRole("button", { name: "Add a variable" }).click();
    await form.getByLabel("Name of variable 1").fill("__proto__");
    await form.getByLabel("Value of variable 1").fill("SECRET-3");
    await form.getByLabel("Protocol").selectOption("2025-06-18");
    await form.getByRole("button", { name: "Add", exact: true }).click();
    const fresh = await card(page, "fresh");
    await fresh.locator("summary").filter({ hasText: "ready" }).waitFor();
    assert.match(own.read(), /"protocol": "2025-06-18"/);
    assert.match(own.read(), /"__proto__": "SECRET-3"/);
    await fresh.getByRole("button", { name: "Disconnect" }).click();
    await fresh.locator("summary").filter({ hasText: "switched off" }).waitFor();
    assert.match(own.read(), /"fresh": \{[^}]*\}[^}]*"enabled": false/);
    await fresh.getByRole("button", { name: "Connect", exact: true }).click();
    await fresh.locator("summary").filter({ hasText: "ready" }).waitFor();
    await fresh.getByRole("button", { name: "Remove", exact: true }).click();
    await fresh.getByRole("button", { name: "Keep it" }).click();
    await fresh.getByRole("button", { name: "Remove", exact: true }).click();
    await fresh.getByRole("button", { name: "Remove it from the file" }).click();
    await fresh.waitFor({ state: "detached" });
    assert.equal(own.read(), FILE);
  });

  configured("values of headers are never shown, and a new one is written over the old one", FILE, async (page, own) => {
    const bodies = [];
    page.on("response", async (response) => bodies.push(await response.text().catch(() => "")));
    const far = await card(page, "far");
    await far.getByText("Authorization, X-Other").waitFor();
    await far.getByRole("button", { name: "Change" }).click();
    const value = far.getByLabel("New value of Authorization");
    assert.equal(await value.inputValue(), "");
    assert.equal(await value.getAttribute("type"), "password");
    await value.fill("Bearer SECRET-4");
    await far.getByRole("button", { name: "Remove X-Other" }).click();
    await far.getByRole("button", { name: "Save" }).click();
    await far.getByRole("form").waitFor({ state: "detached" });
    const before = '"headers": { "Authorization": "Bearer SECRET-1", "X-Other": "SECRET-2" }';
    assert.equal(own.read(), FILE.replace(before, '"headers": { "Authorization": "Bearer SECRET-4" }'));
    await page.reload();
    await (await card(page, "far")).getByText("Authorization").waitFor();
    assert.ok(bodies.some((body) => body.includes('"Authorization"')), "the file was asked for");
    assert.ok(!bodies.some((body) => body.includes("SECRET")), "no secret comes to the browser");
    assert.ok(!(await page.content()).includes("SECRET"));
  });

  configured("a fault of the result is refused with its place, and what was typed stays", FILE, async (page, own) => {
    const far = await card(page, "far");
    await far.getByRole("button", { name: "Change" }).click();
    await far.getByLabel(/^URL/).fill("ftp://example.com/");
    await far.getByLabel("Longest call, such as 30s").fill("soon");
    await far.getByRole("button", { name: "Save" }).click();
    const alert = far.getByRole("alert");
    await alert.getByText("the file would have faults; nothing was written").waitFor();
    await alert.getByText(/toolbox\.jsonc:6:14\n\s+\|\n6 \|\s+"url": "ftp:/).waitFor();
    await alert.getByText("must be a time").waitFor();
    assert.equal(own.read(), FILE);
    await far.getByLabel(/^URL/).fill("http://127.0.0.1:9/mcp");
    await far.getByLabel("Longest call, such as 30s").fill("30s");
    await far.getByRole("button", { name: "Save" }).click();
    await far.getByRole("form").waitFor({ state: "detached" });
    assert.match(own.read(), /"timeout": "30s"/);
  });

  configured("what another page or an editor changed is not written over", FILE, async (page, own) => {
    const other = await open(await context(), { link: await another(page) });
    await go(other, "servers");
    const far = await card(page, "far");
    await far.getByRole("button", { name: "Change" }).click();
    await far.getByLabel("Longest call, such as 30s").fill("30s");
    const there = await card(other, "far");
    await there.getByRole("button", { name: "Remove", exact: true }).click();
    const editor = FILE.replace("office", "palace");
    own.write(editor);
    await far.getByRole("button", { name: "Save" }).click();
    await far.getByText("has changed since it was shown").waitFor();
    assert.equal(own.read(), editor);
    // The page shows the file as it is now, and the change is made to that.
    await far.getByRole("button", { name: "Save" }).click();
    await far.getByRole("form").waitFor({ state: "detached" });
    const changed = own.read();
    assert.match(changed, /palace[\s\S]*"timeout": "30s"/);
    // The other page follows without a click.
    own.write(changed.replace('"far"', '"near"'));
    await other.locator("li.card summary b", { hasText: "near" }).waitFor();
    await page.locator("li.card summary b", { hasText: "near" }).waitFor();
  });

  configured("tools are switched off and on by the rules of the file", FILE, async (page, own) => {
    const good = await card(page, "good");
    await good.getByText("Tools: 2 on").click();
    await good.getByLabel("good_env").uncheck();
    await good.getByText("Tools: 1 on, 1 off").waitFor();
    assert.match(own.read(), /"blacklist": \[\s*"good_env"\s*\]/);
    await good.getByLabel("good_env").check();
    await good.getByText("Tools: 2 on").waitFor();
    own.write(own.read().replace(/"blacklist": \[\s*\]/, '"blacklist": ["good_e*"]'));
    await good.getByText("Tools: 0 on, 2 off").waitFor();
    await good.getByLabel("good_echo").click();
    await good.getByText("the rule `good_e*` of `blacklist` forbids more than this tool").waitFor();
    assert.equal(await good.getByLabel("good_echo").isChecked(), false);
  });

  configured("servers of other programs are looked at, and taken over on a click", FILE, async (page, own) => {
    mkdirSync(join(own.folder, ".cursor"));
    const host = join(own.folder, ".cursor", "mcp.json");
    const server = { command: "no-such-cal", args: ["--key", "word"], env: { KEY: "SECRET-6" } };
    const write = () => writeFileSync(host, JSON.stringify({ mcpServers: { cal: server } }));
    write();
    await page.getByText("Servers of other programs").click();
    await page.getByRole("button", { name: "Look for them" }).click();
    await page.getByText("no-such-cal --key *** KEY=***").waitFor();
    assert.equal(own.read(), FILE);
    server.command = "no-such-evil";
    write();
    await page.getByRole("button", { name: "Add 1 server to the file" }).click();
    await page.getByText("have changed since they were shown").waitFor();
    assert.equal(own.read(), FILE);
    await page.getByRole("button", { name: "Look for them" }).click();
    await page.getByText("no-such-evil").first().waitFor();
    await page.getByRole("button", { name: "Add 1 server to the file" }).click();
    await page.getByText("Written; the file before is").waitFor();
    assert.match(own.read(), /"cal"/);
    await card(page, "cal");
    assert.ok(!(await page.content()).includes("SECRET"));
  });

  configured("a missing file is said, and made by the first server", null, async (page, own) => {
    await page.getByText("which is not there yet").waitFor();
    await page.getByRole("button", { name: "Add a server" }).click();
    const form = page.getByRole("form", { name: "New server" });
    await form.getByLabel("Name", { exact: true }).fill("web");
    await form.getByLabel("at a URL").check();
    await form.getByLabel("URL", { exact: true }).fill("http://127.0.0.1:9/mcp");
    await form.getByRole("button", { name: "Add", exact: true }).click();
    await card(page, "web");
    assert.match(own.read(), /"url": "http:\/\/127\.0\.0\.1:9\/mcp"/);
    chmodSync(own.file, 0o444);
    await page.getByText("is read-only").waitFor();
    assert.equal(await page.getByRole("button", { name: "Add a server" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Remove", exact: true }).count(), 0);
  });

  flow("servers: one that is inspected has no file", async () => {
    const own = await startProgram("toolbox-program", ["inspect", program("offering")]);
    try {
      const page = await open(await context(), own);
      await go(page, "servers");
      const only = page.locator("li.card");
      await only.locator("summary").filter({ hasText: "ready" }).click();
      await only.getByRole("button", { name: "Reconnect" }).waitFor();
      for (const name of ["Add a server", "Remove", "Change", "Disconnect"]) {
        assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
      }
    } finally {
      await own.stop();
    }
  });

  configured("axe finds nothing serious, light and dark, wide and narrow", FILE, async (page) => {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 768, 375]) {
        const own = await open(await context({ colorScheme, viewport: { width, height: 800 } }), { link: await another(page) });
        await go(own, "servers");
        await own.getByRole("button", { name: "Add a server" }).click();
        const form = own.getByRole("form", { name: "New server" });
        await form.getByRole("button", { name: "Add a variable" }).click();
        await own.getByText("Servers of other programs").click();
        await (await card(own, "far")).getByRole("button", { name: "Change" }).click();
        await card(own, "<img");
        await (await card(own, "good")).getByText("Tools: 2 on").click();
        await accessible(own, `Servers, ${colorScheme}, ${width}`);
        await picture(own, `servers-${colorScheme}-${width}`);
        const wide = await own.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${wide} of ${width}`);
      }
    }
  });
}
