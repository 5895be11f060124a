// Prompts, resources and completion of the example `conformance`, used by the official TypeScript SDK.
//
//   INTEROP_HOME=… node sdk_offers.mjs URL | COMMAND …

import assert from "node:assert/strict";

const sdk = (path) => import(`${process.env.INTEROP_HOME}/node_modules/@modelcontextprotocol/sdk/dist/esm/${path}.js`);
const { Client } = await sdk("client/index");
const { StdioClientTransport } = await sdk("client/stdio");
const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp");
const { ElicitRequestSchema } = await sdk("types");

const [target, ...args] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args });
const client = new Client({ name: "offers", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
  action: "accept",
  content: Object.fromEntries(Object.keys(params.requestedSchema.properties).map((name) => [name, "of the user"])),
}));
await client.connect(transport);

const prompt = async (name, given = {}) => (await client.getPrompt({ name, arguments: given })).messages;
const read = async (uri) => (await client.readResource({ uri })).contents;

const { prompts } = await client.listPrompts();
const listed = prompts.find((one) => one.name === "test_prompt_with_arguments");
assert.deepEqual(listed.arguments.map((one) => [one.name, one.required]), [["arg1", true], ["arg2", true]]);
assert.deepEqual(await prompt("test_simple_prompt"), [
  { role: "user", content: { type: "text", text: "This is a simple prompt for testing." } },
]);
const [filled] = await prompt("test_prompt_with_arguments", { arg1: "a", arg2: "ü" });
assert.equal(filled.content.text, "Prompt with arguments: arg1='a', arg2='ü'");
const [embedded] = await prompt("test_prompt_with_embedded_resource", { resourceUri: "test://x" });
assert.equal(embedded.content.resource.uri, "test://x");
const [image] = await prompt("test_prompt_with_image");
assert.ok(Buffer.from(image.content.data, "base64").toString("latin1").startsWith("\x89PNG"));
const [asked] = await prompt("test_input_required_result_prompt");
assert.equal(asked.content.text, "Context: of the user");
await assert.rejects(prompt("test_prompt_with_arguments", { arg1: "a" }), /arg2/);
await assert.rejects(prompt("no_such_prompt"), /no_such_prompt/);

const { resources } = await client.listResources();
const uris = resources.map((one) => one.uri);
assert.ok(uris.includes("test://static-text") && uris.includes("test://static-binary"), String(uris));
const [text] = await read("test://static-text");
assert.deepEqual([text.mimeType, text.text], ["text/plain", "This is the content of the static text resource."]);
const [picture] = await read("test://static-binary");
assert.ok(Buffer.from(picture.blob, "base64").toString("latin1").startsWith("\x89PNG"));
const { resourceTemplates } = await client.listResourceTemplates();
assert.deepEqual(resourceTemplates.map((one) => one.uriTemplate), ["test://template/{id}/data"]);
assert.match((await read("test://template/7/data"))[0].text, /Data for ID: 7/);
await assert.rejects(read("test://nothing"), /test:\/\/nothing/);
const { completion } = await client.complete({
  ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
  argument: { name: "arg1", value: "par" },
});
assert.deepEqual(completion.values, ["paris", "park", "party"]);
await client.subscribeResource({ uri: "test://watched-resource" });
await client.unsubscribeResource({ uri: "test://watched-resource" });

await client.close();
console.log("ok");
