// The state of the program, as this page knows it.
import { Store } from "./store";

export interface ToolSummary {
  name: string;
  title: string | null;
  /** The names that it had before. */
  replaces: string[];
  /** What to use instead; empty if nothing says that, null if it is not deprecated. */
  deprecated: string | null;
  server: string | null;
  tags: string[];
  description: string;
  tokens: number;
  read_only: boolean | null;
  destructive: boolean | null;
  approval: boolean;
  deferred: boolean;
  permitted: boolean;
  lints: number;
}

export interface Withheld {
  name: string;
  reason: string;
  detail: string;
  definition: string | null;
}

export interface ServerStatus {
  name: string;
  target: string[];
  state: string;
  protocol_version: string | null;
  server_name: string | null;
  server_version: string | null;
  capabilities: any;
  instructions: string | null;
  tools: number;
  prompts: string[];
  resources: string[];
  withheld: Withheld[];
  /** Of all that it lists: an approval names what was shown. */
  digest: string | null;
  notices: string[];
  error: string | null;
  wants_sign_in: boolean;
  /** What is waited for, until it has answered. */
  startup: { waited_seconds: number; limit_seconds: number; last_line: string | null } | null;
}

/** A line of a script, with the lines around it. */
export interface ScriptPart {
  line: number;
  /** The number of the first of the lines. */
  first: number;
  lines: string[];
}

export interface Waiting {
  id: number;
  kind: "approval" | "question";
  call: string;
  tool: string;
  principal: string;
  conversation: string | null;
  depth: number;
  /** The line of the script that makes the call, if one does. */
  script: ScriptPart | null;
  tainted: boolean;
  /** The untrusted sources of what the model has read. */
  taint: { kind: "result" | "definition" | "app" | "other"; tool: string | null }[];
  since_ms: number;
  arguments?: string;
  schema?: string;
  description?: string;
  annotations?: Record<string, boolean>;
  message?: string;
  origin?: string;
  url?: string;
}

export interface OfferCounts {
  prompts: number;
  resources: number;
  generations: number[];
}

export interface ProgramState {
  title: string;
  version: string;
  boot: string;
  generation: number;
  tools: number;
  servers: ServerStatus[];
  /** Changes with the file that the servers are configured in; `null` if there is none. */
  config_file: string | null;
  offers: OfferCounts;
  /** The number of messages of servers so far; `null` if none are shown. */
  frames: number | null;
  /** The model of the tab Chat; `null` if there is none. */
  chat: { model: string; provider: string; agent: string } | null;
  /** `true` if there is a journal of what principals spend. */
  spending: boolean;
  lock_file: boolean;
  mcp_url: string | null;
  /** `true` where apps are shown. */
  apps: boolean;
}

export interface Session {
  state: "starting" | "closed" | "open";
  /** The reason why there is no session. */
  why: string;
}

export const session = new Store<Session>({ state: "starting", why: "" });
export const connection = new Store<"open" | "lost" | "ended">("lost");
export const program = new Store<ProgramState | null>(null);
export const tools = new Store<ToolSummary[]>([]);
export const waiting = new Store<Waiting[]>([]);

/** The part of the address behind `#/`: a tab, and what is open in it. */
export const route = new Store<string[]>(parts());

function parts(): string[] {
  const hash = location.hash.startsWith("#/") ? location.hash.slice(2) : "tools";
  return hash.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

window.addEventListener("hashchange", () => route.set(parts()));

export function go(...to: string[]): void {
  location.hash = "#/" + to.map(encodeURIComponent).join("/");
}

export function href(...to: string[]): string {
  return "#/" + to.map(encodeURIComponent).join("/");
}
