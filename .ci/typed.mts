// A typed client of the server `everything` that `toolbox client --typescript` wrote, over the client of the official
// TypeScript SDK.
//
//   tsc typed.mts && node typed.mjs COMMAND …

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ToolFailed, everything } from "./everything.mjs";

const [command = "", ...args] = process.argv.slice(2);
const client = new Client({ name: "typed", version: "1" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));

const tools = everything(client);
const said: string = await tools.echo({ message: "héllo" });
assert.equal(said, "Echo: héllo");
assert.match(await tools["get-sum"]({ a: 2, b: 3 }), /5/);
const weather = await tools["get-structured-content"]({ location: "New York" });
const degrees: number = weather.temperature;
assert.equal(typeof degrees, "number");
// @ts-expect-error: the compiler refuses it, and so does the server.
await assert.rejects(tools["get-sum"]({ a: "two", b: 3 }), (error: unknown) => error instanceof ToolFailed && error.tool === "get-sum");
console.log(`${Object.keys(tools).length} functions: the TypeScript SDK`);
await client.close();
