// The server of `inspectors.mjs`: sixty tools, of which a few are what its tasks are about. No package is needed.
import { createInterface } from "node:readline";

const text = (description) => ({ type: "string", description });
const object = (properties, required) => ({ type: "object", properties, required });
const address = object({ street: text("Street and number."), city: text("City.") }, ["street", "city"]);
const item = object({ sku: text("Stock keeping unit."), quantity: { type: "integer", minimum: 1 } }, ["sku", "quantity"]);
const order = object(
  {
    customer: object({ name: text("Name."), address }, ["name", "address"]),
    items: { type: "array", items: item },
    priority: { type: "string", enum: ["low", "normal", "high"], default: "normal" },
  },
  ["customer", "items"],
);

const LARGE = 5 * 1024 * 1024;
const said = (text) => ({ content: [{ type: "text", text }] });
/** How to end the calls that wait, by their ids. */
const waiting = new Map();
let questions = 0;

const tools = {
  place_order: { description: "Places an order.", schema: order, run: (own) => said(`${own.items.length} items for ${own.customer.address.city}`) },
  read_report: {
    description: "Returns the report of a year, 5 MB.",
    schema: object({}, []),
    run: () => said("A line of the report, as long as a line is.\n".repeat(LARGE / 44) + "the end"),
  },
  rebuild_index: {
    description: "Rebuilds the index, which takes minutes.",
    schema: object({}, []),
    run: (_, id) => new Promise((_, stop) => waiting.set(id, stop)),
  },
  close_account: {
    description: "Closes an account, once the person says so.",
    schema: object({ account: text("Account.") }, ["account"]),
    async run({ account }) {
      const requestedSchema = object({ sure: { type: "boolean", title: "Sure" } }, ["sure"]);
      const answer = await ask({ mode: "form", message: `Close account ${account}?`, requestedSchema });
      return said(answer.action === "accept" && answer.content.sure ? "closed" : "left open");
    },
  },
};
for (let number = 0; number < 56; number += 1) {
  const schema = object({ id: text("Id.") }, ["id"]);
  tools[`list_part_${number}`] = { description: `Lists the parts of shelf ${number}.`, schema, run: () => said("none") };
}

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const asked = new Map();
const ask = (params) =>
  new Promise((resolve) => {
    const id = `question-${(questions += 1)}`;
    asked.set(id, resolve);
    send({ id, method: "elicitation/create", params });
  });

async function answer({ method, params, id }) {
  switch (method) {
    case "initialize":
      return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "inspected", version: "1.0.0" } };
    case "ping":
      return {};
    case "tools/list":
      return { tools: Object.entries(tools).map(([name, own]) => ({ name, description: own.description, inputSchema: own.schema })) };
    case "tools/call":
      return tools[params.name].run(params.arguments ?? {}, id);
    default:
      throw { code: -32601, message: `no method ${method}` };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === "notifications/cancelled") {
    waiting.get(message.params.requestId)?.({ code: -32800, message: "cancelled" });
    process.stderr.write("a call was cancelled\n");
  } else if (message.method === undefined) {
    asked.get(message.id)?.(message.result ?? { action: "cancel" });
  } else if (message.id !== undefined) {
    const { id } = message;
    answer(message).then((result) => send({ id, result }), (error) => send({ id, error }));
  }
}
