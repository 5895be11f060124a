// Programs that the flows of `serve --page` and `inspect` start, and a small MCP client.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { PATIENCE, owned } from "./harness.mjs";

const PROGRAMS = resolve(process.env.PAGE_PROGRAMS ?? "../../target/debug");

export function program(name) {
  return join(PROGRAMS, name);
}

/** Starts a program that opens a page, and returns it with its link. */
export async function startProgram(name, words, { environment = {}, input = "ignore" } = {}) {
  const env = { ...process.env, ...environment };
  const child = owned(spawn(program(name), words, { stdio: [input, "pipe", "pipe"], env }));
  let text = "";
  const link = await new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`no link in time: ${text}`)), PATIENCE);
    const read = (data) => {
      text += data;
      const found = /http:\/\/[0-9.]+:\d+\/#token=\w+/.exec(text);
      if (found) {
        clearTimeout(timer);
        done(found[0]);
      }
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", (code) => failed(new Error(`ended with ${code}: ${text}`)));
  });
  const ended = new Promise((done) => child.on("exit", done));
  return {
    link,
    url: link.split("/#")[0],
    child,
    async stop() {
      child.kill("SIGINT");
      await ended;
    },
  };
}

/** Makes a request of an MCP server over HTTP as a client of 2026-07-28, which needs no session. */
export async function request(url, method, params, signal) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "flow", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(params.name ? { "mcp-name": params.name } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
    signal: signal ?? AbortSignal.timeout(PATIENCE),
  });
  const text = await response.text();
  const lines = text.startsWith("{") ? [text] : text.split("\n").filter((line) => line.startsWith("data: {")).map((line) => line.slice(6));
  const answer = lines.map((line) => JSON.parse(line)).find((message) => message.id === 1);
  if (!answer) {
    throw new Error(`no answer to ${method}: ${response.status} ${text.slice(0, 300)}`);
  }
  return answer;
}

/**
 * Serves the chat completions of a model. `play` gets the messages of a request, and returns a text, or the calls of
 * the reply as `[name, arguments]`. Returns its address for `--chat`, and the messages of each request.
 */
export async function model(play) {
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { messages } = JSON.parse(body);
    asked.push(messages);
    const reply = play(messages);
    const calls = (reply) => reply.map(([name, given], index) => ({ index, id: `call_${asked.length}_${index}`, type: "function", function: { name, arguments: JSON.stringify(given) } }));
    const delta = typeof reply === "string" ? { content: reply } : { tool_calls: calls(reply) };
    const events = [
      { choices: [{ index: 0, delta }] },
      { choices: [{ index: 0, delta: {}, finish_reason: typeof reply === "string" ? "stop" : "tool_calls" }], usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 } },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + "data: [DONE]\n\n");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { asked, url: `http://127.0.0.1:${server.address().port}/v1#played`, stop: () => (server.closeAllConnections(), server.close()) };
}
