// A call that runs: its progress, what it waits for, and its end.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal, post, stream } from "./api";
import { Entry } from "./approvals";
import type { Settled } from "./approvals";
import { live } from "./live/live";
import type { Call } from "./live/log";
import { Script } from "./live/script";
import { MOST } from "./server-lines";
import type { ServerLine } from "./server-lines";
import { href, waiting } from "./state";
import { useStore } from "./store";
import { Line, number } from "./text";

export interface Progress {
  done: number;
  total: number | null;
  message: string | null;
}

/** An item of a tool that streams, as text. */
export interface Item {
  index: number;
  text: string;
}

/** The items that are shown while a call runs, and the characters of each. */
const ITEMS = 200;
const CHARACTERS = 1000;

/** The end of a call: the last line that the program wrote, or the reason why there is none. */
export interface Ended {
  id: string;
  line: any | null;
  /** What the server printed and logged meanwhile. */
  lines: ServerLine[];
  fault: string;
}

export interface Runner {
  /** The id of the call that runs. */
  running: string | null;
  progress: Progress | null;
  /** The last items that a tool that streams put out. */
  items: Item[];
  /** What the server printed and logged so far. */
  lines: ServerLine[];
  /** Makes a call; `done` gets its end in the step in which it no longer counts as running. */
  run(call: { kind: "tool" | "prompt" | "resource"; tool: string; arguments: string }, done: (ended: Ended) => void): Promise<void>;
  cancel(): void;
  /** `false` once the component is gone. */
  alive(): boolean;
  /** The id of the form that makes the call. */
  form: string;
  callButton: RefObject<HTMLButtonElement | null>;
  cancelButton: RefObject<HTMLButtonElement | null>;
}

/** A menu that is open, which takes Esc itself. */
export const OPEN_MENU = "details.menu[open], [role=menu]";

/**
 * Makes calls of the page, one at a time, by the form of that id. Wherever the focus is, Ctrl+Enter calls and Esc
 * cancels. The focus goes to the button Cancel while a call runs, and back to where it was.
 */
export function useRunner(form: string): Runner {
  const [running, setRunning] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [items, setItems] = useState<Item[]>([]);
  const [lines, setLines] = useState<ServerLine[]>([]);
  const alive = useRef(true);
  const callButton = useRef<HTMLButtonElement>(null);
  const cancelButton = useRef<HTMLButtonElement>(null);
  const before = useRef<Element | null>(null);
  useEffect(() => () => void (alive.current = false), []);

  useLayoutEffect(() => {
    if (running) {
      cancelButton.current?.focus({ preventScroll: true });
    } else if (before.current) {
      // With the button the focus is gone; whoever went elsewhere meanwhile stays there.
      if (document.activeElement === document.body || document.activeElement === null) {
        focusAgain(before.current, callButton.current);
      }
      before.current = null;
    }
  }, [running]);

  const cancel = () => {
    if (running) {
      post("/api/cancel", { id: running }).catch(() => {});
    }
  };

  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.isComposing) {
        return;
      }
      const isCall = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
      const isCancel = event.key === "Escape" && running !== null && !document.activeElement?.closest(OPEN_MENU);
      if (!isCall && !isCancel) {
        return;
      }
      // It is the key of the page alone: a search keeps its text, and no button under the focus is pressed.
      event.preventDefault();
      event.stopPropagation();
      if (isCancel) {
        cancel();
      } else if (running === null && !event.repeat) {
        (document.getElementById(form) as HTMLFormElement | null)?.requestSubmit();
      }
    };
    window.addEventListener("keydown", keys, true);
    return () => window.removeEventListener("keydown", keys, true);
  }, [running, form]);

  return {
    running,
    progress,
    items,
    lines,
    form,
    callButton,
    cancelButton,
    cancel,
    alive: () => alive.current,
    async run(call, done) {
      const id = `page-${crypto.randomUUID()}`;
      const ended: Ended = { id, line: null, lines: [], fault: "" };
      before.current = document.activeElement;
      setRunning(id);
      setProgress(null);
      setLines([]);
      setItems([]);
      let shown: Item[] = [];
      try {
        await stream("/api/calls", { id, ...call }, (line) => {
          if (line.progress && alive.current) {
            setProgress(line.progress);
          }
          if (line.item && alive.current) {
            shown = [...shown, line.item].slice(-ITEMS);
            setItems(shown);
          }
          if (line.lines?.length > 0) {
            ended.lines = [...ended.lines, ...line.lines].slice(-MOST);
            if (alive.current) {
              setLines(ended.lines);
            }
          }
          if (line.result) {
            ended.line = line;
          }
        });
        if (!ended.line) {
          ended.fault = "The connection ended before the result.";
        }
      } catch (error) {
        ended.fault = error instanceof Refusal ? error.message : "The program cannot be reached.";
      }
      if (alive.current) {
        setRunning(null);
        setProgress(null);
        setItems([]);
      }
      done(ended);
    },
  };
}

/** Moves the focus to where it was, or to the button where that is gone. */
function focusAgain(before: Element, button: HTMLButtonElement | null): void {
  for (const element of [before, button]) {
    if (element instanceof HTMLElement && element !== document.body) {
      element.focus({ preventScroll: true });
      if (document.activeElement === element) {
        return;
      }
    }
  }
}

/** The buttons of a call, and what it does while it runs. */
export function CallBar({ runner, label, approval }: { runner: Runner; label: string; approval?: boolean }) {
  return (
    <div class="callbar">
      <button ref={runner.callButton} type="submit" form={runner.form} class="primary" disabled={runner.running !== null}>
        {label}
      </button>
      {runner.running && (
        <button
          ref={runner.cancelButton}
          type="button"
          // A key that is still held from the call cancels nothing.
          onKeyDown={(event) => event.repeat && event.preventDefault()}
          onClick={runner.cancel}
        >
          Cancel
        </button>
      )}
      <div aria-live="polite">
        <Running runner={runner} approval={approval ?? false} />
      </div>
    </div>
  );
}

/** What the call of the page waits for, decided in its place. */
export function Waits({ runner }: { runner: Runner }) {
  const entries = useStore(waiting).filter((entry) => entry.call === runner.running);
  const [settled, settle] = useState<Settled[]>([]);
  const late = settled.at(-1)?.bad ? settled.at(-1) : undefined;
  return (
    <>
      {entries.map((entry, at) => (
        <Entry key={entry.id} entry={entry} place={`${at} ${settled.length}`} settle={(own) => settle((before) => [...before, own])} />
      ))}
      {late && (
        <p class="bad" role="alert">
          <Line text={late.what} max={600} />
        </p>
      )}
    </>
  );
}

/** The script of a call, once the page has heard of it, while it runs and after. */
export function ScriptOfCall({ id, tool, conversation }: { id: string; tool: string; conversation?: string }) {
  const log = useStore(live);
  const isOwn = (call: Call) => call.id === id && call.tool === tool && (conversation === undefined || call.conversation === conversation);
  const call = log.calls.findLast(isOwn);
  return call ? <Script key={call.number} call={call} log={log} /> : null;
}

/** One line about the call that runs. */
function Running({ runner, approval }: { runner: Runner; approval: boolean }) {
  const entries = useStore(waiting).filter((entry) => entry.call !== runner.running);
  const { progress, items } = runner;
  if (!runner.running) {
    return null;
  }
  return (
    <>
    <p class="running">
      {progress ? (
        <>
          <progress value={progress.total ? progress.done : undefined} max={progress.total ?? undefined} aria-label="Progress of the call" />{" "}
          <Line text={progress.message ?? `${progress.done}${progress.total ? ` of ${progress.total}` : ""}`} />
        </>
      ) : approval ? (
        "Runs, or waits for an approval"
      ) : (
        "Runs"
      )}
      {entries.length > 0 && (
        <>
          {". "}
          <a href={href("approvals")}>
            {number(entries.length)} {entries.length > 1 ? "wait" : "waits"} for you in Approvals
          </a>
        </>
      )}
    </p>
    <Items items={items} />
    </>
  );
}

/** The last items that a tool that streams put out. */
export function Items({ items }: { items: Item[] }) {
  if (items.length === 0) {
    return null;
  }
  return (
    <ol class="items" aria-label="Items so far" tabIndex={0}>
      {items.map((item) => (
        <li key={item.index} value={item.index + 1}>
          <Line text={item.text.slice(0, CHARACTERS)} />
        </li>
      ))}
    </ol>
  );
}
