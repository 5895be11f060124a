// Sends requests to the example of toolbox-web by the packages of the front ends, which validate each answer.
//
//   node web.mjs http://127.0.0.1:3000

import assert from 'node:assert/strict';
import { HttpAgent } from '@ag-ui/client';
import * as schemas from '@ag-ui/core/schemas';
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls, validateUIMessages } from 'ai';

const url = process.argv[2];
const odd = 'a "quote", \n a line, \u2028 a separator, \u0000 a null, 🎈 and data: x\n\n';
const counts = { 'AG-UI': 0, 'AI SDK': 0, events: 0, chunks: 0, approvals: 0, denials: 0, answers: 0, made: 0 };
const schema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };

// --- AG-UI

/** Runs an agent, and checks each event by the schema of the package; its client checks the order. */
async function run(agent, parameters = {}) {
  counts['AG-UI'] += 1;
  let failed;
  const events = [];
  await agent.runAgent(parameters, {
    onEvent: ({ event }) => {
      schemas.EventSchema.parse(event);
      events.push(event);
    },
    onRunFailed: ({ error }) => { failed = error; },
  });
  assert.equal(failed, undefined);
  counts.events += events.length;
  agent.messages.forEach((message) => schemas.MessageSchema.parse(message));
  return events;
}

const last = (events) => events.at(-1);
const textOf = (events) => events.filter((event) => event.type === 'TEXT_MESSAGE_CONTENT').map((event) => event.delta).join('');
const interrupts = (events) => last(events).outcome.interrupts ?? [];
const say = (agent, content) => agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });

for (const text of ['Hello', odd, 'x'.repeat(200_000), 'weather', 'weather Atlantis', 'Atlantis']) {
  const agent = new HttpAgent({ url: `${url}/ag-ui`, threadId: crypto.randomUUID() });
  for (let turn = 0; turn < 3; turn += 1) {
    say(agent, text);
    const events = await run(agent);
    assert.equal(last(events).outcome.type, 'success');
    if (!/weather|Atlantis/.test(text)) assert.equal(textOf(events), `You said: ${text}`);
    const results = events.filter((event) => event.type === 'TOOL_CALL_RESULT').length;
    assert.equal(results, (text.match(/weather|Atlantis/g) ?? []).length);
  }
}
for (const [approved, expected] of [[true, 'paid 500 cents'], [false, 'too dear']]) {
  for (const words of ['pay', 'weather and pay']) {
    const agent = new HttpAgent({ url: `${url}/ag-ui`, threadId: crypto.randomUUID() });
    say(agent, words);
    const asked = interrupts(await run(agent));
    assert.equal(asked.length, 1);
    const payload = { approved, reason: 'too dear' };
    const events = await run(agent, { resume: [{ interruptId: asked[0].id, status: 'resolved', payload }] });
    assert.match(textOf(events), new RegExp(expected));
    counts[approved ? 'approvals' : 'denials'] += 1;
    say(agent, 'Thanks');
    assert.equal(textOf(await run(agent)), 'You said: Thanks');
  }
}
{
  const agent = new HttpAgent({ url: `${url}/ag-ui`, threadId: crypto.randomUUID() });
  say(agent, 'book and pay');
  const asked = interrupts(await run(agent));
  assert.equal(asked.length, 2);
  const resume = asked.map(({ id, reason }) => ({
    interruptId: id,
    status: 'resolved',
    payload: reason === 'tool_call' ? { approved: true } : 4,
  }));
  assert.match(textOf(await run(agent, { resume })), /a table for 4/);
  counts.answers += 1;
}

for (const [words, error, expected] of [['colour', undefined, 'done'], ['weather and colour', undefined, 'done'], ['colour', 'no such colour', 'no such colour']]) {
  const tools = [{ name: 'set_colour', description: 'Sets the colour.', parameters: schema }];
  const agent = new HttpAgent({ url: `${url}/ag-ui`, threadId: crypto.randomUUID() });
  say(agent, words);
  const events = await run(agent, { tools });
  assert.equal(last(events).outcome.type, 'success');
  const call = agent.messages.flatMap((own) => own.toolCalls ?? []).find((own) => own.function.name === 'set_colour');
  assert.deepEqual(JSON.parse(call.function.arguments), { colour: 'teal' });
  agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: expected, error });
  assert.match(textOf(await run(agent, { tools })), new RegExp(expected));
  const results = agent.messages.filter((own) => own.role === 'tool').map((own) => own.toolCallId);
  assert.equal(new Set(results).size, results.length, 'each call has one result');
  counts.made += 1;
  say(agent, 'Thanks');
  assert.equal(textOf(await run(agent)), 'You said: Thanks');
}

// --- AI SDK

class State {
  status = 'ready';
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (at, message) => { this.messages = this.messages.with(at, structuredClone(message)); };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(tools) {
    const failures = [];
    const transport = new DefaultChatTransport({
      api: `${url}/api/chat`,
      body: { tools },
      fetch: async (...request) => {
        counts['AI SDK'] += 1;
        const answer = await fetch(...request);
        assert.equal(answer.headers.get('x-vercel-ai-ui-message-stream'), 'v1');
        const [own, other] = answer.body.tee();
        new Response(other).text().then((text) => { counts.chunks += text.split('\n\n').length - 2; });
        return new Response(own, answer);
      },
    });
    super({
      state: new State(),
      transport,
      onError: (error) => failures.push(error),
      sendAutomaticallyWhen: tools ? lastAssistantMessageIsCompleteWithToolCalls : lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    this.failures = failures;
  }

  /** Waits for the end of all requests, and validates the messages. */
  async settled() {
    do await new Promise((done) => setTimeout(done, 50)); while (this.status === 'submitted' || this.status === 'streaming');
    assert.deepEqual(this.failures, []);
    await validateUIMessages({ messages: this.messages });
    return this.messages.at(-1).parts;
  }
}

const said = (parts) => parts.filter((part) => part.type === 'text').map((part) => part.text).join('\n');

for (const text of ['Hello', odd, 'x'.repeat(200_000), 'weather', 'weather Atlantis', 'Atlantis']) {
  const chat = new Chat();
  for (let turn = 0; turn < 3; turn += 1) {
    await chat.sendMessage({ text });
    const parts = await chat.settled();
    const tools = parts.filter((part) => part.type === 'dynamic-tool');
    assert.equal(tools.length, (text.match(/weather|Atlantis/g) ?? []).length);
    assert(tools.every((part) => part.state.startsWith('output-')), JSON.stringify(tools));
    if (tools.length === 0) assert.equal(said(parts), `You said: ${text}`);
  }
}
for (const [approved, state, expected] of [[true, 'output-available', 'paid 500 cents'], [false, 'output-denied', 'too dear']]) {
  for (const words of ['pay', 'weather and pay']) {
    const chat = new Chat();
    await chat.sendMessage({ text: words });
    const asks = (await chat.settled()).find((part) => part.state === 'approval-requested');
    await chat.addToolApprovalResponse({ id: asks.approval.id, approved, reason: 'too dear' });
    const parts = await chat.settled();
    assert.equal(parts.find((part) => part.toolName === 'pay').state, state);
    assert.match(said(parts), new RegExp(expected));
    counts[approved ? 'approvals' : 'denials'] += 1;
    await chat.sendMessage({ text: 'Thanks' });
    assert.equal(said(await chat.settled()), 'You said: Thanks');
  }
}
{
  const chat = new Chat();
  await chat.sendMessage({ text: 'book' });
  const question = (await chat.settled()).find((part) => part.type === 'data-question');
  await chat.sendMessage(undefined, { body: { answers: { [question.id]: 4 } } });
  assert.match(said(await chat.settled()), /a table for 4/);
  counts.answers += 1;
}

for (const [words, output, expected] of [['colour', { output: 'done' }, 'done'], ['weather and colour', { output: { is: 'done' } }, 'done'], ['colour', { state: 'output-error', errorText: 'no such colour' }, 'no such colour']]) {
  const chat = new Chat({ set_colour: { description: 'Sets the colour.', inputSchema: schema } });
  await chat.sendMessage({ text: words });
  const call = (await chat.settled()).find((part) => part.toolName === 'set_colour');
  assert.deepEqual([call.state, call.input], ['input-available', { colour: 'teal' }]);
  await chat.addToolOutput({ tool: 'set_colour', toolCallId: call.toolCallId, ...output });
  assert.match(said(await chat.settled()), new RegExp(expected));
  counts.made += 1;
  await chat.sendMessage({ text: 'Thanks' });
  assert.equal(said(await chat.settled()), 'You said: Thanks');
}

console.log(JSON.stringify(counts));
assert(counts['AG-UI'] + counts['AI SDK'] >= 50);
