// Runs the flows: node tests/run.mjs [WORD …], of which a name has to hold one; or each Nth: node tests/run.mjs --every N
import { another, context, go, keep, open, run, start } from "./harness.mjs";
import * as apps from "./apps.mjs";
import * as approvals from "./approvals.mjs";
import * as chat from "./chat.mjs";
import * as chatApps from "./chat-apps.mjs";
import * as form from "./form.mjs";
import * as keys from "./keys.mjs";
import * as live from "./live.mjs";
import * as narrow from "./narrow.mjs";
import * as safety from "./safety.mjs";
import * as inspect from "./inspect.mjs";
import * as scripts from "./scripts.mjs";
import * as spending from "./spending.mjs";
import * as serve from "./serve.mjs";
import * as results from "./results.mjs";
import * as servers from "./servers.mjs";
import * as tools from "./tools.mjs";
import * as trying from "./try.mjs";

const program = await start("--hostile");
const first = await context();
await open(first, program);
keep();

/** Opens a page in a session of its own, at a tab. A page of an earlier flow has no part in it. */
async function session(at, options) {
  const [page] = first.pages();
  const link = await another(page);
  const own = await context(options);
  const next = await open(own, { link });
  await go(next, at);
  return next;
}

for (const part of [tools, trying, form, keys, narrow, approvals, chat, live, scripts, safety, serve, servers, results, inspect, apps, chatApps, spending]) {
  part.register(program, session);
}
await run();
