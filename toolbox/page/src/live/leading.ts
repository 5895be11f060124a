// What happened before a call, as far as this page has heard of it.
import type { Waiting } from "../state";
import type { Call, LiveLog } from "./log";

/** The most calls that are shown. */
const MOST = 8;

export interface Leading {
  /** The agents, from the outermost to the one that calls. */
  path: string[];
  step: number;
  /** What the model wrote beside the call. */
  text: string;
  /** The calls before it in the same run or conversation, the oldest first. */
  calls: Call[];
}

export function leading(log: LiveLog, entry: Waiting): Leading {
  const own = log.calls.findLast((call) => call.id === entry.call && call.tool === entry.tool && call.state !== "done");
  const none = { path: [], step: 0, text: "", calls: [] };
  if (!own) {
    return none;
  }
  const agent = log.agents.findLast((agent) => agent.calls.includes(own));
  const isBefore = (call: Call) => call.number < own.number;
  if (agent) {
    const turn = agent.turns.findLast((turn) => turn.step === own.step);
    return { path: own.path, step: own.step, text: turn?.text ?? "", calls: agent.calls.filter(isBefore).slice(-MOST) };
  }
  if (!own.conversation) {
    return none;
  }
  const calls = log.calls.filter((call) => call.conversation === own.conversation && call.principal === own.principal && isBefore(call));
  return { ...none, calls: calls.slice(-MOST) };
}
