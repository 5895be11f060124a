// Asks MCP servers over stdio for their tools, and writes each list to a file.
//
// node lists.mjs SERVERS.json FOLDER, with {"mcpServers": {"name": {"command": "..", "args": [..]}}}
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";

const [config, folder] = process.argv.slice(2);
const servers = JSON.parse(readFileSync(config, "utf8")).mcpServers;
mkdirSync(folder, { recursive: true });

async function listed(name, { command, args = [], env = {} }) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  const ended = new Promise((_, fail) => {
    child.on("error", fail);
    child.on("exit", (code) => fail(new Error(`${name} ended with ${code}`)));
    setTimeout(() => fail(new Error(`${name} did not answer within 60 s`)), 60_000).unref();
  });
  // A server may end after its list was read.
  ended.catch(() => {});
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) {
      waiting.get(message.id)?.(message);
    } else if (message.id !== undefined) {
      send({ id: message.id, result: message.method === "roots/list" ? { roots: [] } : {} });
    }
  });
  let last = 0;
  const ask = (method, params) => {
    const id = ++last;
    const answer = new Promise((resolve) => waiting.set(id, resolve));
    send({ id, method, params });
    return Promise.race([answer, ended]);
  };
  try {
    // Some servers list tools only to clients that can do what these need.
    const capabilities = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };
    await ask("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "forms", version: "1" } });
    send({ method: "notifications/initialized" });
    // A server may register tools once it knows the client.
    await ask("ping", {});
    const tools = [];
    let cursor;
    do {
      const { result, error } = await ask("tools/list", cursor ? { cursor } : {});
      if (!result) throw new Error(`${name}: ${JSON.stringify(error)}`);
      tools.push(...result.tools);
      cursor = result.nextCursor;
    } while (cursor);
    return tools;
  } finally {
    child.kill();
  }
}

let count = 0;
for (const [name, server] of Object.entries(servers)) {
  const tools = await listed(name, server);
  count += tools.length;
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ tools }));
}
console.log(`${count} tools of ${Object.keys(servers).length} servers`);
process.exit(0);
