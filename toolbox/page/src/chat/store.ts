// The conversation of this tab of the browser, as the program has it.
import { Refusal, post } from "../api";
import { Store } from "../store";
import type { CallResult } from "../result";
import type { Item, Progress } from "../running";

export interface CallEntry {
  kind: "call";
  id: string;
  tool: string;
  /** The agents below that of the page in which the call was made. */
  within: string[];
  state: string;
  arguments: string | null;
  progress: Progress | null;
  items: Item[];
  notes: string[];
  result: CallResult | null;
}

export interface TextEntry {
  kind: "user" | "context" | "text" | "reasoning";
  text: string;
  /** The tool whose app wrote it. */
  app?: string | null;
  /** The bytes that are not kept. */
  omitted: number;
}

export interface Cost {
  usd: string;
  unpriced_tokens: number;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
}

export interface EndEntry {
  kind: "end";
  reason: string;
  fault: string;
  usage: Usage;
  cost: Cost;
  took_ms: number;
}

export type Entry = CallEntry | TextEntry | EndEntry | { kind: "note"; text: string };

export interface Talk {
  /** The number of the conversation among all of the program. */
  born: number;
  /** The name of the conversation among those of all sessions; empty before its first message. */
  conversation: string;
  /** By their numbers, in order. */
  entries: Map<number, Entry>;
  /** The numbers of the calls that had ended before this page was loaded. */
  replayed: Set<number>;
  /** The number of entries that the program no longer has. */
  gone: number;
  running: boolean;
  canGoOn: boolean;
  usage: Usage;
  cost: Cost;
}

interface Changes {
  born: number;
  version: number;
  whole: boolean;
  gone: number;
  running: boolean;
  can_go_on: boolean;
  usage: Usage;
  cost: Cost;
  conversation?: string;
  entries: ({ at: number; bytes: number } & ({ item: Entry } | { more: string; omitted: number }))[];
}

function empty(): Talk {
  return {
    born: 0,
    conversation: "",
    entries: new Map(),
    replayed: new Set(),
    gone: 0,
    running: false,
    canGoOn: false,
    usage: { input_tokens: 0, output_tokens: 0 },
    cost: { usd: "0", unpriced_tokens: 0 },
  };
}

export const talk = new Store<Talk>(empty());

/** What this tab has seen: the program sends what changed since. */
let seen = { born: 0, version: 0, at: null as number | null, bytes: 0 };

const KEY = "toolbox-page-chat";

/** The pause between two looks while the model works, and after one that failed. */
const PAUSE_MS = 80;
const FAILED_MS = 1000;

/** The time for a page that is loaded anew to get the conversation of the one before. */
const HANDOVER_MS = 1000;

/** The id of the conversation. A tab that is a copy of another gets one of its own. */
const own: Promise<string> = (async () => {
  const kept = sessionStorage.getItem(KEY);
  if (kept && (await isMine(kept))) {
    return kept;
  }
  const id = crypto.randomUUID();
  sessionStorage.setItem(KEY, id);
  void isMine(id);
  return id;
})();

/** Takes a conversation for as long as the tab is open; `false` if another tab has it. */
async function isMine(id: string): Promise<boolean> {
  if (!navigator.locks) {
    return true;
  }
  const until = Date.now() + HANDOVER_MS;
  for (;;) {
    const taken = await new Promise<boolean>((resolve) => {
      void navigator.locks.request(`${KEY}-${id}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        return lock === null ? undefined : new Promise<void>(() => {});
      });
    });
    if (taken || Date.now() > until) {
      return taken;
    }
    await pause(50);
  }
}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time));
}

function take(changes: Changes): void {
  const now = talk.value;
  // A page that has given no order yet was loaded anew.
  const isReplay = changes.whole && orders === 0;
  const entries = changes.whole ? new Map<number, Entry>() : now.entries;
  for (const change of changes.entries) {
    const before = entries.get(change.at);
    if ("item" in change) {
      entries.set(change.at, change.item);
    } else if (before && "text" in before) {
      entries.set(change.at, { ...before, text: before.text + change.more, omitted: change.omitted } as Entry);
    }
    const entry = entries.get(change.at);
    if (entry?.kind === "text" || entry?.kind === "reasoning") {
      seen = { ...seen, at: change.at, bytes: change.bytes };
    }
  }
  for (const at of [...entries.keys()].filter((at) => at < changes.gone)) {
    entries.delete(at);
  }
  seen = { ...seen, born: changes.born, version: changes.version };
  if (changes.whole && changes.entries.length === 0) {
    seen = { ...seen, at: null, bytes: 0 };
  }
  talk.set({
    born: changes.born,
    conversation: changes.conversation ?? "",
    entries,
    replayed: isReplay ? new Set([...entries].filter(([, entry]) => entry.kind === "call" && entry.result).map(([at]) => at)) : now.replayed,
    gone: changes.gone,
    running: changes.running,
    canGoOn: changes.can_go_on,
    usage: changes.usage,
    cost: changes.cost,
  });
}

/** What an app gives the model to read before the next message. */
export interface AppContext {
  tool: string;
  text: string;
}

/** The contexts of apps, by the numbers of their calls. */
export const contexts = new Store<Map<number, AppContext>>(new Map());

/** The most contexts that go with one message. */
const MOST_CONTEXTS = 8;

/** Replaces the context of an app; an empty one is taken out. Returns the reason why it is refused. */
export function setContext(at: number, context: AppContext): string {
  const all = new Map(contexts.value);
  all.delete(at);
  if (context.text !== "") {
    if (all.size >= MOST_CONTEXTS) {
      return `at most ${MOST_CONTEXTS} apps give a context`;
    }
    all.set(at, context);
  }
  contexts.set(all);
  return "";
}

let looks = false;
/** Counts the orders of this tab: an answer to a look before one is late. */
let orders = 0;

/** Looks at the conversation, and on while the model works. */
export async function look(): Promise<void> {
  if (looks) {
    return;
  }
  looks = true;
  try {
    for (;;) {
      const order = orders;
      let wait = PAUSE_MS;
      try {
        const changes = await post<Changes>("/api/chat/show", { chat: await own, ...seen });
        if (order === orders) {
          take(changes);
        }
      } catch (error) {
        if (error instanceof Refusal && (error.status === 401 || error.status === 404)) {
          return;
        }
        wait = FAILED_MS;
      }
      if (!talk.value.running && order === orders && wait === PAUSE_MS) {
        return;
      }
      await pause(wait);
    }
  } finally {
    looks = false;
  }
}

/** Gives an order; returns the reason why it is refused. */
async function give(path: string, more: Record<string, unknown> = {}): Promise<string> {
  try {
    await post(path, { chat: await own, ...more });
    orders += 1;
    void look();
    return "";
  } catch (error) {
    void look();
    return error instanceof Refusal ? error.message : "The program cannot be reached.";
  }
}

/** Sends a message, which the app of a tool may have written, with the contexts of apps. */
export async function send(text: string, app: string | null = null): Promise<string> {
  const sent = contexts.value;
  const why = await give("/api/chat/send", { text, app, contexts: [...sent.values()] });
  if (why === "") {
    // Those that were replaced meanwhile go with the next message.
    contexts.set(new Map([...contexts.value].filter(([at, own]) => sent.get(at) !== own)));
  }
  return why;
}

export function goOn(): Promise<string> {
  return give("/api/chat/go_on");
}

export function stop(): Promise<string> {
  return give("/api/chat/stop");
}

export function clear(): Promise<string> {
  contexts.set(new Map());
  return give("/api/chat/clear");
}
