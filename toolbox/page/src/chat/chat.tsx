// A conversation with a model over the tools of the page.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Entry as WaitingEntry } from "../approvals";
import type { Settled } from "../approvals";
import { OPEN_MENU } from "../running";
import { program, waiting } from "../state";
import { useStore } from "../store";
import { Block, Line, bytes, number, visible } from "../text";
import { Drawn, Spent } from "./entries";
import { clear, contexts, goOn, look, send, setContext, stop, talk } from "./store";
import "./chat.css";

/** The entries that are drawn at once. */
const DRAWN = 200;

/** The distance from the end within which the page stays at the end. */
const NEAR = 80;

/** What was typed, kept while another tab is open. */
let draft = "";

export function Chat() {
  const own = useStore(program);
  if (!own?.chat) {
    return <Off />;
  }
  return <On model={own.chat.model} provider={own.chat.provider} />;
}

function Off() {
  return (
    <div class="one">
      <h2>Chat</h2>
      <p>
        This page has no model to talk to. Start its program with <code>--chat openai:gpt-5</code>, <code>--chat anthropic:MODEL</code>,{" "}
        <code>--chat gemini:MODEL</code> or <code>--chat http://127.0.0.1:11434/v1#MODEL</code>, or give the page an agent with <code>Page::chat</code>.
      </p>
    </div>
  );
}

function On({ model, provider }: { model: string; provider: string }) {
  const { born, entries, replayed, gone, running, canGoOn, usage, cost, conversation } = useStore(talk);
  const all = useStore(waiting);
  const [most, show] = useState(DRAWN);
  const [fault, setFault] = useState("");
  const [settled, settle] = useState<Settled[]>([]);
  const log = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const box = useRef<HTMLTextAreaElement>(null);

  useEffect(() => void look(), []);
  useStopKey(running);

  useLayoutEffect(() => {
    if (atEnd.current && log.current) {
      log.current.scrollTop = log.current.scrollHeight;
    }
  });

  const list = [...entries].sort(([a], [b]) => a - b);
  const shown = list.slice(-most);
  const mine = all.filter((entry) => conversation !== "" && entry.conversation === conversation);
  const calls = new Set(shown.flatMap(([, entry]) => (entry.kind === "call" && entry.within.length === 0 ? [entry.id] : [])));
  // A call that is not in the conversation yet has no place: drawn before, it would lose what is typed into it.
  const known = new Set(list.flatMap(([, entry]) => (entry.kind === "call" ? [entry.id] : [])));
  const others = mine.filter((entry) => !calls.has(entry.call) && (known.has(entry.call) || gone > 0));
  // A service may give the id of a call again: what waits is that of the last one.
  const last = new Map(shown.flatMap(([at, entry]) => (entry.kind === "call" && entry.within.length === 0 ? [[entry.id, at] as const] : [])));
  const place = String(settled.length);
  const end = list.at(-1)?.[1];
  const isFailed = end?.kind === "end" && end.reason === "failed";
  const note = (word: Settled) => settle((before) => [word, ...before].slice(0, 20));

  const act = async (order: Promise<string>) => setFault(await order);
  return (
    <div class="chat">
      <header class="chat-head">
        <h2>
          Chat{" "}
          <span class="quiet">
            with <Line text={model} max={80} />
            {provider !== "custom" && (
              <>
                {" of "}
                <Line text={provider} max={40} />
              </>
            )}
          </span>
        </h2>
        {list.length > 0 && (
          <p class="quiet">
            In all <Spent usage={usage} cost={cost} />
          </p>
        )}
      </header>
      <div
        class="chat-log"
        ref={log}
        role="region"
        aria-label="Conversation"
        tabIndex={0}
        onScroll={(event) => {
          const at = event.currentTarget;
          atEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR;
        }}
      >
        {list.length === 0 && <p class="empty">Ask something. The model may call the tools of this page, with the same approvals.</p>}
        {gone > 0 && <p class="quiet">{number(gone)} older entries are not kept.</p>}
        {list.length > most && (
          <button type="button" onClick={() => show(most + DRAWN)}>
            {number(list.length - most)} older entries
          </button>
        )}
        {shown.map(([at, entry]) => (
          <Drawn
            key={`${born} ${at}`}
            at={at}
            name={`${born} ${at}`}
            entry={entry}
            isNew={!replayed.has(at)}
            running={running}
            conversation={conversation}
            waiting={entry.kind === "call" && last.get(entry.id) === at ? mine.filter((own) => own.call === entry.id) : []}
            place={place}
            settle={note}
          />
        ))}
        {others.map((entry, at) => (
          <WaitingEntry key={entry.id} entry={entry} place={`${at} ${place}`} settle={note} />
        ))}
        {settled[0]?.bad && (
          <p class="bad">
            <Line text={settled[0].what} max={600} />
          </p>
        )}
        {canGoOn && (
          <p class="acts">
            <button type="button" onClick={() => act(goOn())}>
              {isFailed ? "Try again" : "Go on"}
            </button>
          </p>
        )}
      </div>
      <p role="status" class="sr">
        {running ? (mine.length > 0 ? "A call waits for you" : "The model works") : isFailed ? `Failed: ${visible(end.fault)}` : end ? "The model is done" : ""}
      </p>
      {fault && (
        <p class="bad" role="alert">
          {visible(fault)}
        </p>
      )}
      <Composer running={running} waits={mine.length > 0} empty={list.length === 0} box={box} act={act} />
    </div>
  );
}

/** Stops the run by Esc, wherever the focus is. */
function useStopKey(running: boolean) {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.key === "Escape" && running && !event.isComposing && !document.activeElement?.closest(OPEN_MENU)) {
        event.preventDefault();
        event.stopPropagation();
        void stop();
      }
    };
    window.addEventListener("keydown", keys, true);
    return () => window.removeEventListener("keydown", keys, true);
  }, [running]);
}

interface ComposerProps {
  running: boolean;
  /** `true` while a call waits for a person. */
  waits: boolean;
  empty: boolean;
  box: { current: HTMLTextAreaElement | null };
  act(order: Promise<string>): Promise<void>;
}

function Composer({ running, waits, empty, box, act }: ComposerProps) {
  const [text, setText] = useState(draft);
  const [busy, setBusy] = useState(false);
  const [clears, setClears] = useState(false);
  draft = text;
  const submit = async () => {
    if (running || busy || text.trim() === "") {
      return;
    }
    setBusy(true);
    const why = await send(text);
    // What was refused stays, to be sent again.
    if (why === "") {
      setText("");
      draft = "";
    }
    setBusy(false);
    await act(Promise.resolve(why));
  };
  return (
    <form
      class="composer"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Contexts />
      <label>
        <span class="sr">Message</span>
        <textarea
          ref={box}
          rows={Math.min(8, Math.max(2, text.split("\n").length))}
          value={text}
          placeholder="Message"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.altKey && !event.isComposing && !event.repeat) {
              event.preventDefault();
              void submit();
            }
          }}
        />
      </label>
      <div class="acts">
        <button type="submit" class="primary" disabled={running || busy}>
          Send
        </button>
        {running && (
          <button type="button" onClick={() => act(stop()).then(() => box.current?.focus())}>
            Stop
          </button>
        )}
        {!empty &&
          (clears ? (
            <>
              <button
                type="button"
                class="danger"
                onClick={() => {
                  setClears(false);
                  void act(clear()).then(() => box.current?.focus());
                }}
              >
                Clear the conversation
              </button>
              <button type="button" onClick={() => setClears(false)}>
                Keep it
              </button>
            </>
          ) : (
            <button type="button" onClick={() => setClears(true)}>
              Clear
            </button>
          ))}
        {running && <span class="quiet running">{waits ? "A call waits for you" : "The model works"}; Esc stops it</span>}
      </div>
    </form>
  );
}

/** What apps give the model to read before the next message. */
function Contexts() {
  const all = useStore(contexts);
  return (
    <div class="contexts">
      {[...all].map(([at, { tool, text }]) => (
        <div key={at} class="context" role="group" aria-label="Context of an app">
          <details>
            <summary>
              The model reads {bytes(new TextEncoder().encode(text).length)} of the app of <Line text={tool} max={60} /> with your next message
            </summary>
            <Block text={text} label="Context of the app" />
          </details>
          <button type="button" onClick={() => setContext(at, { tool, text: "" })}>
            Leave it out
          </button>
        </div>
      ))}
    </div>
  );
}
