// The client of a recorded session, by the official TypeScript SDK.
//
//   INTEROP_HOME=… node recorded.mjs COMMAND …

import assert from "node:assert/strict";

const sdk = (path) => import(`${process.env.INTEROP_HOME}/node_modules/@modelcontextprotocol/sdk/dist/esm/${path}.js`);
const { Client } = await sdk("client/index");
const { StdioClientTransport } = await sdk("client/stdio");

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "recorded", version: "1" }, { capabilities: {} });
const transport = new StdioClientTransport({ command, args, stderr: "ignore" });
await client.connect(transport);
// Progress that comes in one piece with the result is lost in the client: it is read before.
const steps = [];
const handle = transport.onmessage;
transport.onmessage = (message, extra) => {
  if (message.method === "notifications/progress") steps.push(message.params.progress);
  handle(message, extra);
};

const call = async (name, given) => (await client.callTool({ name, arguments: given })).content[0].text;
const { tools } = await client.listTools();
assert.ok(tools.some((tool) => tool.name === "get-sum"), tools);
assert.equal(await call("echo", { message: "héllo" }), "Echo: héllo");
assert.match(await call("get-sum", { a: 2, b: 3 }), /5/);
const slow = { name: "trigger-long-running-operation", arguments: { duration: 1, steps: 2 } };
await client.callTool(slow, undefined, { onprogress: () => {} });
assert.deepEqual(steps, [1, 2]);
const { prompts } = await client.listPrompts();
assert.ok(prompts.some((prompt) => prompt.name === "simple-prompt"), prompts);
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
assert.equal(contents.length, 1);
if (args.includes("replay")) {
  await assert.rejects(call("get-sum", { a: 2, b: 4 }), /at arguments\.b: recorded 3, now 4/);
}
console.log(`${tools.length} tools, progress ${steps}, ${prompts.length} prompts: the TypeScript SDK`);
await client.close();
