// A typed client of the server `everything` that `toolbox client --typescript` wrote, over the client of the official
// TypeScript SDK.
//
//   tsc typed.mts && node typed.mjs COMMAND …

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ToolFailed, everything } from "./everything.mjs";

// Without the types of Node, which a client needs none of.
declare const process: { argv: string[] };
declare const console: { log(text: string): void };

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(`not as it has to be: ${JSON.stringify(what)}`);
}

const [command = "", ...args] = process.argv.slice(2);
const client = new Client({ name: "typed", version: "1" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));

const tools = everything(client);
const said: string = await tools.echo({ message: "héllo" });
check(said === "Echo: héllo", said);
const sum = await tools["get-sum"]({ a: 2, b: 3 });
check(/5/.test(sum), sum);
const weather = await tools["get-structured-content"]({ location: "New York" });
const degrees: number = weather.temperature;
check(typeof degrees === "number", weather);
// The compiler refuses it, and so does the server.
// @ts-expect-error
const refused = await tools["get-sum"]({ a: "two", b: 3 }).catch((error: unknown) => error);
check(refused instanceof ToolFailed && refused.tool === "get-sum", String(refused));
console.log(`${Object.keys(tools).length} functions: the TypeScript SDK`);
await client.close();
