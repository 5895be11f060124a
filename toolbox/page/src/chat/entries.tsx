// The entries of a conversation: messages, texts of the model, calls, ends of turns.
import { useState } from "preact/hooks";
import { App } from "../apps/app";
import { Entry as WaitingEntry } from "../approvals";
import type { Settled } from "../approvals";
import { DRAWN, Markdown } from "../markdown";
import { Result } from "../result";
import { Items, ScriptOfCall } from "../running";
import { href } from "../state";
import type { Waiting } from "../state";
import { Block, Line, bytes, milliseconds, number, pretty, visible } from "../text";
import { send, setContext } from "./store";
import type { CallEntry, Cost, EndEntry, Entry, TextEntry, Usage } from "./store";

interface Decides {
  /** The number of the entry, and its name among those of all conversations. */
  at: number;
  name: string;
  /** `false` for a call that had ended before the page was loaded. */
  isNew: boolean;
  /** `true` while the model works. */
  running: boolean;
  /** The conversation, as events name it. */
  conversation: string;
  /** What waits for a person in this conversation. */
  waiting: Waiting[];
  /** Changes with each decision: what waits has moved then. */
  place: string;
  settle(own: Settled): void;
}

export function Drawn({ entry, ...decides }: { entry: Entry } & Decides) {
  switch (entry.kind) {
    case "user":
    case "context":
    case "text":
    case "reasoning":
      return <Text entry={entry} />;
    case "call":
      return <Call entry={entry} {...decides} />;
    case "end":
      return <End entry={entry} />;
    case "note":
      return (
        <p class="quiet">
          <Line text={entry.text} max={2000} />
        </p>
      );
  }
}

function Text({ entry }: { entry: TextEntry }) {
  const { kind, text, omitted } = entry;
  if (text === "") {
    return null;
  }
  if (kind === "reasoning") {
    return (
      <details class="reasoning">
        <summary class="quiet">Reasoning</summary>
        <Block text={text} label="Reasoning of the model" />
        <Omitted count={omitted} />
      </details>
    );
  }
  if (kind === "context") {
    return (
      <details class="reasoning">
        <summary class="quiet">
          The model was given text of the app of <Line text={entry.app} max={120} />
        </summary>
        <Block text={text} label="Context of the app" />
      </details>
    );
  }
  const isUser = kind === "user";
  return (
    <article class={isUser ? "said user" : "said"} aria-label={isUser ? "You" : "The model"}>
      {entry.app && (
        <p class="quiet">
          Written by the app of <Line text={entry.app} max={120} />
        </p>
      )}
      {isUser ? <p class="plain">{visible(text)}</p> : <Markdown text={text} label="Text of the model" />}
      {!isUser && text.length > DRAWN && (
        <details>
          <summary>The whole as text</summary>
          <Block text={text} label="Whole text of the model" />
        </details>
      )}
      <Omitted count={omitted} />
    </article>
  );
}

function Omitted({ count }: { count: number }) {
  return count > 0 ? <p class="warn">{bytes(count)} more are not shown.</p> : null;
}

/** The states in which a call is shown open, unless somebody closes it. */
const OPEN = ["running", "waiting", "failed", "refused"];

/** A call, and below it its app: a frame that is taken out and put in again would load anew. */
function Call({ at, name, isNew, running, ...props }: { entry: CallEntry } & Decides) {
  const { arguments: given, result } = props.entry;
  const app = result?.app;
  return (
    <>
      <CallCard {...props} />
      {app && (
        <App
          {...app}
          call={name}
          given={result.edited ?? given ?? "{}"}
          result={result}
          isNew={isNew}
          chat={{ busy: running, send: (text) => send(text, app.tool), give: (text) => setContext(at, { tool: app.tool, text }) }}
        />
      )}
    </>
  );
}

function CallCard({ entry, conversation, waiting, place, settle }: { entry: CallEntry } & Omit<Decides, "at" | "name" | "isNew" | "running">) {
  const [chosen, choose] = useState<boolean | null>(null);
  const open = waiting.length > 0 || (chosen ?? OPEN.includes(entry.state));
  const { progress } = entry;
  return (
    <details class="card call" open={open} onToggle={(event) => event.currentTarget.open !== open && choose(event.currentTarget.open)}>
      <summary>
        <b>
          <Line text={entry.tool} max={120} />
        </b>{" "}
        <span class={`state ${entry.state}`}>{entry.state}</span>{" "}
        <span class="quiet">
          {entry.within.length > 0 && (
            <>
              by <Line text={entry.within.join(" › ")} max={120} />{" "}
            </>
          )}
          {entry.result && milliseconds(entry.result.took_ms)}
        </span>
      </summary>
      {open && (
        <>
          {entry.notes.map((note, at) => (
            <p key={at}>
              <Line text={note} max={2000} />
            </p>
          ))}
          {entry.arguments === null ? (
            entry.state === "refused" && <p class="quiet">Its arguments are not shown: no tool says which of them are secret.</p>
          ) : (
            waiting.length === 0 && <Block text={pretty(entry.arguments)} label="Arguments" />
          )}
          <ScriptOfCall id={entry.id} tool={entry.tool} conversation={conversation} />
          {progress && (
            <p class="running">
              <progress value={progress.total ? progress.done : undefined} max={progress.total ?? undefined} aria-label="Progress of the call" />{" "}
              <Line text={progress.message ?? `${progress.done}${progress.total ? ` of ${progress.total}` : ""}`} />
            </p>
          )}
          {!entry.result && <Items items={entry.items} />}
          {waiting.map((own, at) => (
            <WaitingEntry key={own.id} entry={own} place={`${at} ${place}`} settle={settle} />
          ))}
          {entry.result && <Result result={entry.result} />}
          {waiting.length === 0 && (
            <p class="acts">
              <a href={href("live", `call:${entry.id}`)}>The call in Live</a>
              <a href={href("try", entry.tool)}>Try it</a>
            </p>
          )}
        </>
      )}
    </details>
  );
}

const REASONS: Record<string, string> = {
  answered: "Answered",
  cancelled: "Stopped",
  timed_out: "The time of the run was up",
  max_iterations: "Stopped: the model was asked as often as it may be",
  length: "The answer was cut off by the model's limit of tokens",
  refused: "The model, or its service, refused to answer",
  budget: "Stopped: the calls or tokens of the run are spent",
  cost: "Stopped: the money of the run is spent",
  repeated: "Stopped: the model made the same call again and again",
  no_answer: "The model gave no answer",
  context_full: "Stopped: the conversation is too long for the model. Clear begins a new one",
  input_blocked: "A guard blocked the message",
  output_blocked: "A guard blocked the answer",
  answer_needed: "Stopped: a call asks something that nobody answered",
};

function End({ entry }: { entry: EndEntry }) {
  const isGood = entry.reason === "answered";
  return (
    <div class="turn-end">
      {entry.fault && (
        <p class="bad">
          <Line text={entry.fault} max={2000} />
        </p>
      )}
      <p class="quiet">
        {entry.reason !== "failed" && <span class={isGood ? "" : "warn"}>{REASONS[entry.reason] ?? entry.reason.replace(/_/g, " ")}. </span>}
        {entry.usage.input_tokens + entry.usage.output_tokens > 0 && (
          <>
            <Spent usage={entry.usage} cost={entry.cost} />,{" "}
          </>
        )}
        {milliseconds(entry.took_ms)}
      </p>
    </div>
  );
}

/** Tokens and money. */
export function Spent({ usage, cost }: { usage: Usage; cost: Cost }) {
  const tokens = usage.input_tokens + usage.output_tokens;
  const priced = tokens > 0 && cost.unpriced_tokens < tokens;
  return (
    <>
      {number(usage.input_tokens)} + {number(usage.output_tokens)} tokens
      {priced && `, ${cost.usd} USD`}
      {priced && cost.unpriced_tokens > 0 && ` without ${number(cost.unpriced_tokens)} tokens that have no price`}
      {!priced && tokens > 0 && ", no price known"}
    </>
  );
}
