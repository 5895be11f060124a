// Calls and questions that wait for a person.
import { useEffect, useState } from "preact/hooks";
import { Refusal, post } from "./api";
import { useCheck } from "./check";
import { focusFirstFault, initial } from "./form/index";
import type { Fault } from "./form/index";
import { parse, write } from "./form/json";
import { Editor, useJsonText } from "./json-text";
import { live } from "./live/live";
import { leading } from "./live/leading";
import { CallingLine } from "./live/script";
import { useRead } from "./reading";
import { href, waiting } from "./state";
import type { Waiting } from "./state";
import { useStore } from "./store";
import { Block, Line, Outside, number, pretty, visible } from "./text";

export interface Settled {
  id: number;
  what: string;
  bad: boolean;
}

/** The last decisions of this page, the newest first. */
const settled: Settled[] = [];

export function Approvals() {
  const entries = useStore(waiting);
  const [, again] = useState({});
  const note = (own: Settled) => {
    settled.unshift(own);
    settled.length = Math.min(settled.length, 20);
    again({});
  };
  return (
    <div class="one">
      <h2>Approvals</h2>
      <Permission />
      <div role="status" aria-live="polite">
        {settled.slice(0, 5).map((own) => (
          <p key={`${own.id} ${own.what}`} class={own.bad ? "bad" : "good"}>
            <Line text={own.what} max={600} />
          </p>
        ))}
      </div>
      {entries.length === 0 && <p class="empty">Nothing waits. Calls of tools that need approval, and questions of tools, appear here.</p>}
      {entries.map((entry, at) => (
        <Entry key={entry.id} entry={entry} place={`${at} ${settled.length}`} settle={note} />
      ))}
    </div>
  );
}

/** Asks the browser to report new entries while another page is in front. */
function Permission() {
  const [state, setState] = useState(() => ("Notification" in window ? Notification.permission : "denied"));
  if (state !== "default") {
    return null;
  }
  return (
    <p>
      <button type="button" onClick={async () => setState(await Notification.requestPermission())}>
        Notify me of new ones
      </button>
    </p>
  );
}

/** An entry. One that is new, or that moved under the pointer, cannot be decided for a moment. */
export function Entry({ entry, place, settle }: { entry: Waiting; place: string; settle(own: Settled): void }) {
  const isRead = useRead(place);
  const [since, setSince] = useState(Math.max(0, Date.now() - entry.since_ms));
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    const timer = setInterval(() => setSince(Math.max(0, Date.now() - entry.since_ms)), 1000);
    return () => clearInterval(timer);
  }, [entry.since_ms]);

  const say = async (word: Record<string, unknown>, what: string) => {
    setBusy(true);
    setFault("");
    let faults: Fault[] = [];
    try {
      await post("/api/decide", { id: entry.id, ...word });
      settle({ id: entry.id, what: `${entry.tool}: ${what}`, bad: false });
    } catch (error) {
      if (error instanceof Refusal && error.status === 422) {
        setFault(error.message);
        faults = error.body?.faults ?? [];
      } else if (error instanceof Refusal && (error.status === 409 || error.status === 410)) {
        settle({ id: entry.id, what: `${entry.tool}: ${error.message}`, bad: true });
      } else {
        setFault(error instanceof Error ? error.message : String(error));
      }
    }
    setBusy(false);
    return faults;
  };

  const hints = entry.annotations ?? {};
  return (
    <article class="card" aria-labelledby={`entry-${entry.id}`}>
      <h3 id={`entry-${entry.id}`}>
        {entry.kind === "approval" ? (
          <>
            May <code><Line text={entry.tool} /></code> run?
          </>
        ) : (
          <>
            <code><Line text={entry.origin} /></code> asks
          </>
        )}{" "}
        <span class="quiet">{number(Math.floor(since / 1000))} s</span>
      </h3>
      <p class="quiet">
        {entry.conversation && (
          <>
            Conversation <Line text={entry.conversation} />.{" "}
          </>
        )}
        {entry.principal && (
          <>
            For <Line text={entry.principal} />.{" "}
          </>
        )}
        {entry.depth > 0 && `Within ${entry.depth} call${entry.depth > 1 ? "s" : ""} above. `}
        <a href={href("live", `call:${entry.call}`)}>The call in Live</a>
      </p>
      {entry.tainted && <Taint sources={entry.taint} />}
      {entry.script && <CallingLine part={entry.script} />}
      <Leading entry={entry} />
      {hints.destructiveHint && <p class="warn">The tool may destroy something.</p>}
      {entry.kind === "approval" ? (
        <Decide entry={entry} busy={busy} held={busy || !isRead} say={say} />
      ) : entry.url !== undefined ? (
        <>
          <Block text={entry.message ?? ""} label="Question" />
          <p>
            It asks to open <Outside href={entry.url} />
          </p>
          <p class="acts">
            <button type="button" class="primary" disabled={busy || !isRead} onClick={() => say({ word: "accept", answer: "true" }, "agreed to open the page")}>
              I open it
            </button>
            <button type="button" disabled={busy || !isRead} onClick={() => say({ word: "decline" }, "declined")}>
              Decline
            </button>
          </p>
        </>
      ) : (
        <Reply entry={entry} busy={busy} held={busy || !isRead} say={say} />
      )}
      {fault && (
        <p class="bad" role="alert">
          {visible(fault)}
        </p>
      )}
    </article>
  );
}

const READ = { result: "a result of", definition: "the definition of", app: "text of the app of", other: "text from outside of tools" };

/** The untrusted sources of what the model has read. */
function Taint({ sources }: { sources: Waiting["taint"] }) {
  return (
    <div class="warn">
      <p>The model has read text of untrusted sources before this call{sources.length > 0 && ":"}</p>
      {sources.length > 0 && (
        <ul>
          {sources.map((source, at) => (
            <li key={at}>
              {READ[source.kind]}{" "}
              {source.tool !== null && (
                <code>
                  <Line text={source.tool} max={120} />
                </code>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What happened before the call in the same run or conversation, as far as this page has heard of it. */
function Leading({ entry }: { entry: Waiting }) {
  const log = useStore(live);
  const led = leading(log, entry);
  if (!led.text && led.calls.length === 0 && led.path.length === 0) {
    return null;
  }
  return (
    <details>
      <summary>
        What led to it{led.calls.length > 0 && `: ${number(led.calls.length)} call${led.calls.length > 1 ? "s" : ""} before`}
      </summary>
      {led.path.length > 0 && (
        <p>
          The agent <Line text={led.path.join(" › ")} max={200} />, step {led.step}
        </p>
      )}
      {led.text && <Block text={led.text} label="Text of the model" />}
      <ul class="history">
        {led.calls.map((call) => (
          <li key={call.number}>
            <a href={href("live", `call:${call.id}`)}>
              <Line text={call.tool} max={80} />
            </a>{" "}
            <span class={`state ${call.state}`}>{call.state}</span>{" "}
            <code>
              <Line text={call.arguments ?? ""} max={160} />
            </code>
            {call.text && (
              <span class="quiet">
                <Line text={call.text} max={160} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

interface SayProps {
  entry: Waiting;
  busy: boolean;
  /** `true` while nothing can be decided. */
  held: boolean;
  /** Returns the faults of a value that was refused. */
  say(word: Record<string, unknown>, what: string): Promise<Fault[]>;
}

/** The form of an entry: its value, its faults from the first change on, and its sending. */
function useEntryForm({ entry, held, say }: SayProps, first: () => string) {
  const json = useJsonText(first);
  const [begun] = useState(json.text);
  const [isTouched, touch] = useState(false);
  if (!isTouched && json.text !== begun) {
    touch(true);
  }
  const [check, setCheck] = useCheck(isTouched ? { entry: entry.id } : null, json.text);
  const send = async (form: HTMLFormElement, word: Record<string, unknown>, what: string) => {
    // A field that holds no JSON, no number or half a date is shown first: its value is an older one.
    if (held || json.syntax || !form.reportValidity()) {
      return;
    }
    const faults = await say(word, what);
    if (faults.length > 0) {
      setCheck({ faults });
      requestAnimationFrame(() => focusFirstFault(form));
    }
  };
  return { json, faults: json.syntax ? [] : (check.faults ?? []), send };
}

function Decide(props: SayProps) {
  const { entry, busy, held, say } = props;
  const [schema] = useState(() => parse(entry.schema ?? "true"));
  const { json, faults, send } = useEntryForm(props, () => pretty(entry.arguments ?? "{}"));
  const { text, syntax, setText } = json;
  const [edits, setEdits] = useState(false);
  const [reason, setReason] = useState("");
  return (
    <>
      {edits ? (
        <form
          id={`edit-${entry.id}`}
          aria-label="Other arguments"
          noValidate
          autocomplete="off"
          onSubmit={(event) => {
            event.preventDefault();
            void send(event.currentTarget, { word: "edit", arguments: text }, "approved with other arguments");
          }}
        >
          <Editor id={`json-${entry.id}`} json={json} schema={schema} faults={faults} disabled={busy} />
        </form>
      ) : (
        <Block text={text} label="Arguments" />
      )}
      <p class={edits ? "acts stick" : "acts"}>
        {edits ? (
          <>
            <button type="submit" form={`edit-${entry.id}`} class="primary" disabled={held || syntax !== ""}>
              Approve with these arguments
            </button>
            <button type="button" disabled={busy} onClick={() => (setEdits(false), setText(pretty(entry.arguments ?? "{}")))}>
              Keep the arguments
            </button>
          </>
        ) : (
          <>
            <button type="button" class="primary" disabled={held} onClick={() => say({ word: "approve" }, "approved")}>
              Approve
            </button>
            <button type="button" disabled={busy} onClick={() => setEdits(true)}>
              Edit
            </button>
          </>
        )}
        <button type="button" disabled={held} onClick={() => say({ word: "defer" }, "deferred")}>
          Defer
        </button>
      </p>
      <form
        class="acts"
        onSubmit={(event) => {
          event.preventDefault();
          if (!held) {
            void say({ word: "deny", reason }, "denied");
          }
        }}
      >
        <label>
          Reason, for the model{" "}
          <input type="text" value={reason} maxLength={2000} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
        <button type="submit" class="danger" disabled={held}>
          Deny
        </button>
      </form>
    </>
  );
}

function Reply(props: SayProps) {
  const { entry, busy, held, say } = props;
  const [schema] = useState(() => parse(entry.schema ?? "true"));
  const { json, faults, send } = useEntryForm(props, () => write(initial(schema) ?? {}, { indent: 2 }));
  const { text, syntax } = json;
  return (
    <form
      aria-label="Answer"
      noValidate
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        void send(event.currentTarget, { word: "accept", answer: text }, "answered");
      }}
    >
      <Block text={entry.message ?? ""} label="Question" />
      <Editor id={`json-${entry.id}`} json={json} schema={schema} faults={faults} disabled={busy} />
      <p class="acts stick">
        <button type="submit" class="primary" disabled={held || syntax !== ""}>
          Answer
        </button>
        <button type="button" disabled={held} onClick={() => say({ word: "decline" }, "declined")}>
          Decline
        </button>
      </p>
    </form>
  );
}
