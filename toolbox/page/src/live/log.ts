// Events put together: calls, and the agents that make them.

/** An event as the program writes it: one line of a recording. */
export interface LiveEvent {
  sequence: number;
  time_ms: number;
  type: string;
  principal?: string;
  conversation?: { channel: string; chat_id: string };
  trace_id?: string;
  run?: string;
  parent_call_id?: string;
  line?: number;
  path: string[];
  step: number;
  call_id?: string;
  tool?: string;
  [field: string]: any;
}

export type CallState = "waiting" | "running" | "done" | "failed" | "refused" | "deferred" | "background";

export interface Call {
  /** The number of the call in this log. */
  number: number;
  id: string;
  tool: string;
  state: CallState;
  principal: string;
  conversation: string;
  run: string;
  path: string[];
  step: number;
  parent: string;
  /** The line of the script of the call above, from 1. */
  line: number | null;
  arguments: string | null;
  /** The script that it runs, where its arguments do not hold it. */
  script: string | null;
  began: number;
  /** Milliseconds, as the program measured them. */
  took: number | null;
  code: string | null;
  text: string | null;
  bytes: number;
  repairs: { path: string; what: string }[];
  progress: { done: number; total: number | null; message: string | null } | null;
  /** Decisions, questions and answers, in words. */
  notes: string[];
}

export interface ModelTurn {
  step: number;
  /** The end of the cached beginning, in words; `null` if the request goes on where the one before it ended. */
  prefix: string | null;
  model: string;
  provider: string;
  began: number;
  took: number | null;
  finish: string | null;
  failed: string | null;
  calls: number;
  input: number;
  output: number;
  text: string;
  reasoning: string;
  cost: string | null;
}

/** One agent in a run. */
export interface AgentRun {
  key: string;
  name: string;
  run: string;
  path: string[];
  parentCall: string;
  began: number;
  ended: number | null;
  reason: string | null;
  failed: string | null;
  input: number;
  output: number;
  cost: string | null;
  turns: ModelTurn[];
  /** The `prefix` of the next request. */
  prefix: string | null;
  calls: Call[];
  notes: string[];
}

/** The most events, and the most calls, that are kept. */
const MAX_EVENTS = 20_000;
const MAX_CALLS = 10_000;
const MAX_AGENTS = 1_000;

/** The most characters of arguments and results that are kept; those of the oldest calls are forgotten first. */
const MAX_CHARACTERS = 50_000_000;

/** The most characters of the text of one turn. */
const MAX_TEXT = 200_000;

export class LiveLog {
  events: LiveEvent[] = [];
  calls: Call[] = [];
  agents: AgentRun[] = [];
  /** Events that were lost on the way here, or forgotten. */
  lost = 0;
  /** Counts the changes. */
  version = 0;
  #open = new Map<string, Call>();
  #agents = new Map<string, AgentRun>();
  #number = 0;
  #characters = 0;
  #forgotten = 0;

  add(event: LiveEvent): void {
    this.version += 1;
    if (event.type !== "delta") {
      this.events.push(event);
      if (this.events.length > MAX_EVENTS * 1.1) {
        const gone = this.events.splice(0, this.events.length - MAX_EVENTS);
        this.#forgotten = Math.max(0, this.#forgotten - gone.length);
        this.#characters -= gone.reduce((sum, own) => sum + size(own), 0);
      }
      this.#characters += size(event);
      this.#forget();
    }
    const agent = event.path?.length > 0 ? (event.call_id === undefined ? this.#agent(event) : this.#caller(event)) : null;
    this.#turn(event, agent);
    this.#call(event, agent);
  }

  /** Forgets the oldest texts, so that a page that is open for days stays as it was. */
  #forget(): void {
    for (; this.#characters > MAX_CHARACTERS && this.#forgotten < this.events.length; this.#forgotten++) {
      const event = this.events[this.#forgotten]!;
      this.#characters -= size(event);
      if (event.text !== undefined) {
        event.text = undefined;
      }
      if (event.arguments !== undefined) {
        event.arguments = undefined;
      }
      if (event.script !== undefined) {
        event.script = undefined;
      }
    }
    if (this.#characters > MAX_CHARACTERS * 0.9) {
      for (const call of this.calls.slice(0, Math.floor(this.calls.length / 2))) {
        call.text = call.text === null ? null : call.text.slice(0, 200);
        call.arguments = call.arguments === null ? null : call.arguments.slice(0, 200);
        call.script = null;
      }
    }
  }

  #agent(event: LiveEvent): AgentRun {
    const key = keyOf(event);
    const own = this.#agents.get(key);
    if (own) {
      return own;
    }
    const agent: AgentRun = {
      key,
      name: event.path[event.path.length - 1] ?? "",
      run: event.run ?? "",
      path: event.path,
      parentCall: event.parent_call_id ?? "",
      began: event.time_ms,
      ended: null,
      reason: null,
      failed: null,
      input: 0,
      output: 0,
      cost: null,
      turns: [],
      prefix: null,
      calls: [],
      notes: [],
    };
    this.#agents.set(key, agent);
    this.agents.push(agent);
    if (this.agents.length > MAX_AGENTS) {
      const gone = this.agents.shift()!;
      this.#agents.delete(gone.key);
    }
    return agent;
  }

  /** Returns the agent that made a call; a tool of it may have made the call in turn. */
  #caller(event: LiveEvent): AgentRun | null {
    const own = this.#agents.get(keyOf(event));
    if (own) {
      return own;
    }
    for (let at = this.agents.length - 1; at >= 0; at--) {
      const agent = this.agents[at]!;
      if (agent.run === (event.run ?? "") && agent.path.join("\n") === event.path.join("\n")) {
        return agent;
      }
    }
    return null;
  }

  #turn(event: LiveEvent, agent: AgentRun | null): void {
    if (!agent) {
      return;
    }
    const turn = agent.turns[agent.turns.length - 1];
    const open = turn && turn.took === null ? turn : null;
    switch (event.type) {
      case "prefix_changed":
        agent.prefix = `the prompt changed at byte ${Number(event.at).toLocaleString("en")} (${cause(event.because)}): what was cached ends there`;
        break;
      case "model_started":
        agent.turns.push({
          step: event.step,
          prefix: agent.prefix,
          model: event.model,
          provider: event.provider,
          began: event.time_ms,
          took: null,
          finish: null,
          failed: null,
          calls: 0,
          input: 0,
          output: 0,
          text: "",
          reasoning: "",
          cost: null,
        });
        agent.prefix = null;
        break;
      case "delta":
        if (open && typeof event.text === "string" && open.text.length < MAX_TEXT) {
          open.text += event.text;
        } else if (open && typeof event.reasoning === "string" && open.reasoning.length < MAX_TEXT) {
          open.reasoning += event.reasoning;
        }
        break;
      case "model_finished":
        if (open) {
          open.model = event.model ?? open.model;
          open.took = event.duration_ms;
          open.finish = typeof event.finish === "string" ? event.finish : JSON.stringify(event.finish);
          open.calls = event.calls ?? 0;
          open.input = event.usage?.input_tokens ?? 0;
          open.output = event.usage?.output_tokens ?? 0;
          open.cost = cost(event.cost);
        }
        break;
      case "model_failed":
        if (open) {
          open.took = event.duration_ms;
          open.failed = typeof event.kind === "string" ? event.kind : JSON.stringify(event.kind);
        }
        break;
      case "finished":
      case "failed":
        agent.ended = event.time_ms;
        agent.reason = event.type === "finished" ? event.reason : null;
        agent.failed = event.type === "failed" ? `${event.code}: ${event.message}` : null;
        agent.input = event.usage?.input_tokens ?? 0;
        agent.output = event.usage?.output_tokens ?? 0;
        agent.cost = cost(event.cost);
        break;
      case "handed_over":
        agent.notes.push(`handed over to ${event.to}`);
        break;
      case "blocked":
        agent.notes.push(`blocked: ${event.reason}`);
        break;
      case "repeated":
        agent.notes.push(`${event.tool} was called ${event.times} times in a row`);
        break;
      case "steered":
        agent.notes.push("a message came on the way");
        break;
      case "history_edited":
      case "results_shortened":
      case "messages_removed":
        agent.notes.push(`${event.type.replace("_", " ")}: ${event.before} tokens became ${event.after}`);
        break;
      case "compaction_failed":
        agent.notes.push(`no summary: ${event.message}`);
        break;
    }
  }

  #call(event: LiveEvent, agent: AgentRun | null): void {
    const id = event.call_id;
    if (id === undefined) {
      return;
    }
    const key = `${event.run ?? ""}\n${event.path?.join("\n") ?? ""}\n${event.parent_call_id ?? ""}\n${id}`;
    let call = this.#open.get(key);
    if (!call) {
      if (event.type === "job_completed" || event.type === "tool_progress") {
        return;
      }
      call = {
        number: (this.#number += 1),
        id,
        tool: event.tool ?? event.origin ?? "",
        state: "running",
        principal: event.principal ?? "",
        conversation: event.conversation ? `${event.conversation.channel}/${event.conversation.chat_id}` : "",
        run: event.run ?? "",
        path: event.path ?? [],
        step: event.step,
        parent: event.parent_call_id ?? "",
        line: null,
        arguments: null,
        script: null,
        // A call without a start has its length alone.
        began: event.time_ms - (event.type === "tool_finished" ? (event.duration_ms ?? 0) : 0),
        took: null,
        code: null,
        text: null,
        bytes: 0,
        repairs: [],
        progress: null,
        notes: [],
      };
      this.#open.set(key, call);
      this.calls.push(call);
      agent?.calls.push(call);
      if (this.calls.length > MAX_CALLS * 1.1) {
        this.calls.splice(0, this.calls.length - MAX_CALLS);
      }
    }
    if (Number.isSafeInteger(event.line) && event.line! > 0) {
      call.line = event.line!;
    }
    if (typeof event.arguments === "string") {
      call.arguments = event.arguments;
    } else if (event.arguments !== undefined) {
      call.arguments = JSON.stringify(event.arguments);
    }
    switch (event.type) {
      case "tool_started":
        call.state = "running";
        break;
      case "tool_progress":
        call.progress = { done: event.done, total: event.total ?? null, message: event.message ?? null };
        break;
      case "tool_refused":
        call.state = "refused";
        call.code = event.code;
        break;
      case "approval_requested":
        call.state = "waiting";
        call.notes.push("waits for approval");
        break;
      case "script_started":
        call.script = typeof event.script === "string" ? event.script : null;
        break;
      case "approval_decided":
        call.state = event.decision === "deferred" ? "deferred" : "running";
        call.notes.push(`${event.decision} by ${event.by}${event.detail ? `: ${event.detail}` : ""}`);
        break;
      case "approval_deferred":
        call.state = "deferred";
        call.notes.push("deferred");
        break;
      case "question_asked":
        call.state = "waiting";
        call.notes.push(`asks: ${event.message}`);
        break;
      case "question_answered":
        call.state = "running";
        call.notes.push(`${event.answer}${event.value === undefined ? "" : `: ${JSON.stringify(event.value)}`}`);
        break;
      case "tool_finished":
      case "job_finished":
        call.took = event.duration_ms;
        call.code = event.code ?? call.code;
        call.text = event.text ?? event.preview ?? "";
        call.bytes = event.bytes ?? 0;
        call.repairs = event.repairs ?? [];
        if (event.job && event.type === "tool_finished") {
          call.state = "background";
        } else {
          call.state = call.state === "refused" || call.state === "deferred" ? call.state : event.code ? "failed" : "done";
          this.#open.delete(key);
        }
        break;
    }
  }
}

function size(event: LiveEvent): number {
  return (typeof event.text === "string" ? event.text.length : 0) + (typeof event.arguments === "string" ? event.arguments.length : 0) + (typeof event.script === "string" ? event.script.length : 0);
}

/** Returns the key of an agent: its calls name it in their path, and the call above it as their parent. */
function keyOf(event: LiveEvent): string {
  return `${event.run ?? ""}\n${event.path.join("\n")}\n${event.parent_call_id ?? ""}`;
}

/** Returns the part of a request that changed, in words. */
function cause(because: any): string {
  if (because !== null && typeof because === "object") {
    const [[part, which] = ["", ""]] = Object.entries(because);
    return part === "tool" ? `the tool ${String(which)}` : part === "message" ? `message ${String(which)}` : part;
  }
  return because === "system" ? "the system prompt" : `the ${String(because)}`;
}

/** Returns what something cost in words; money is a decimal text, so that nothing is rounded. */
function cost(value: any): string | null {
  if (typeof value === "string") {
    return `${value} USD`;
  }
  if (value === null || typeof value !== "object") {
    return null;
  }
  const unpriced = Number(value.unpriced_tokens ?? 0);
  const money = typeof value.money === "string" && value.money !== "0" ? `${value.money} USD` : "";
  const rest = unpriced > 0 ? `${unpriced.toLocaleString("en")} tokens without a price` : "";
  return [money, rest].filter(Boolean).join(", ") || null;
}

/** Reads a recording: one event a line. Returns the events, and the number of lines that are none. */
export function recorded(text: string): { events: LiveEvent[]; unread: number } {
  const events: LiveEvent[] = [];
  let unread = 0;
  for (const line of text.split("\n")) {
    if (!line.trim()) {
      continue;
    }
    try {
      const event = JSON.parse(line);
      if (typeof event.sequence !== "number" || typeof event.type !== "string" || typeof event.time_ms !== "number") {
        throw new Error("no event");
      }
      events.push({ ...event, path: Array.isArray(event.path) ? event.path.map(String) : [] });
    } catch {
      unread += 1;
    }
  }
  return { events: events.sort((a, b) => a.sequence - b.sequence), unread };
}
