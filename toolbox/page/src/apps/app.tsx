// The app that a server has for the result of a tool, in a frame of another origin, under a heading that says whose it is.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal, post, stream } from "../api";
import { useRead } from "../reading";
import type { CallResult } from "../result";
import { program } from "../state";
import { useStore } from "../store";
import { Block, Line, visible } from "../text";
import { Bridge, RpcError } from "./bridge";
import type { AppHtml } from "./bridge";

/** The bounds of the height of a frame, in pixels. */
const LOWEST = 60;
const HIGHEST = 640;

/** What an app asked for that is listed. */
const LISTED = 20;

/** The apps that are open beyond which none opens by itself. */
const MOST_OPEN = 4;

interface AppCall {
  at: number;
  what: string;
  end: string;
}

export interface AppProps {
  /** The tool that was called, and its server. */
  tool: string;
  server: string | null;
  /** The name of the call among all of the page. */
  call: string;
  /** The arguments of the call, as JSON text. */
  given: string;
  result: CallResult;
  /** `true` if the call was made while the page was there. */
  isNew: boolean;
  chat?: ChatOfApp;
}

/** The conversation that the call of an app stands in. */
export interface ChatOfApp {
  /** `true` while the model works: nothing stays in its place. */
  busy: boolean;
  /** Sends a message of the app; returns the reason why it is refused. */
  send(text: string): Promise<string>;
  give(text: string): string;
}

/** Returns a result as MCP has it. */
function asMcp(result: CallResult): Record<string, unknown> {
  return {
    content: result.content,
    ...(result.structured !== undefined && { structuredContent: JSON.parse(result.structured) }),
    ...(result.meta && { _meta: result.meta }),
    isError: result.is_error,
  };
}

/** Returns the arguments of a call; a model may have written what is no JSON. */
function argumentsOf(given: string): Record<string, unknown> {
  try {
    return JSON.parse(given);
  } catch {
    return {};
  }
}

/** The calls whose app has opened by itself, as it does once for each. */
const seen = new Set<string>();

/** The calls whose app is open. */
const open = new Set<string>();

const dark = matchMedia("(prefers-color-scheme: dark)");

export function App(props: AppProps) {
  const state = useStore(program);
  const [app, setApp] = useState<AppHtml | null>(null);
  const [phase, setPhase] = useState<"closed" | "loading" | "open" | "closing">(() => {
    const { call, isNew, result } = props;
    const opens = state?.apps && isNew && !seen.has(call) && !result.is_error && !result.is_pending && open.size < MOST_OPEN;
    if (opens) {
      open.add(call);
    }
    return opens ? "loading" : "closed";
  });
  const [fault, setFault] = useState("");
  const [calls, setCalls] = useState<AppCall[]>([]);
  const [begun, setBegun] = useState(false);
  const close = useRef<() => void>(() => {});
  useEffect(() => {
    seen.add(props.call);
    return () => void open.delete(props.call);
  }, []);
  useEffect(() => void (phase === "closed" ? open.delete(props.call) : open.add(props.call)), [phase]);

  useEffect(() => {
    if (phase !== "loading") {
      return;
    }
    let current = true;
    setFault("");
    setCalls([]);
    setBegun(false);
    post<AppHtml>("/api/apps/open", { tool: props.tool }).then(
      (found) => {
        if (current) {
          setApp(found);
          setPhase("open");
        }
      },
      (error) => {
        if (current) {
          setFault(error instanceof Refusal ? error.message : "The program cannot be reached.");
          setPhase("closed");
        }
      },
    );
    return () => void (current = false);
  }, [phase]);

  const ended = (reason: string) => {
    setFault(reason && `The app was closed: ${reason}.`);
    setApp(null);
    setPhase("closed");
  };
  const isOpen = phase === "open" || phase === "closing";
  return (
    <section class="app" aria-label="App">
      <h3>
        App of <Line text={props.server ?? "this program"} max={60} />
      </h3>
      <p class="acts">
        {isOpen ? (
          <button type="button" disabled={phase === "closing"} onClick={() => close.current()}>
            Close the app
          </button>
        ) : (
          <button type="button" disabled={phase === "loading" || !state?.apps} onClick={() => setPhase("loading")}>
            {phase === "loading" ? "Loads" : "Open the app"}
          </button>
        )}{" "}
        <span class="quiet" role="status">
          {begun && isOpen ? "Shows the result. " : ""}
          {state?.apps ? "" : "Apps are shown where the page is opened on this machine."}
        </span>
      </p>
      {fault && (
        <p class="bad" role="alert">
          {visible(fault)}
        </p>
      )}
      {isOpen && app && (
        <>
          <Reach app={app} />
          <Frame
            {...props}
            app={app}
            close={close}
            closing={() => setPhase("closing")}
            begun={() => setBegun(true)}
            ended={ended}
            note={(call) => setCalls((all) => [call, ...all.filter((own) => own.at !== call.at)].slice(0, LISTED))}
          />
        </>
      )}
      {calls.length > 0 && (
        <details class="lines" open>
          <summary>What the app asked for</summary>
          <ul>
            {calls.map((call) => (
              <li key={call.at}>
                <code>
                  <Line text={call.what} max={120} />
                </code>{" "}
                <Line text={call.end} max={300} class="quiet" />
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** What an app may reach, and what it does not get. */
function Reach({ app }: { app: AppHtml }) {
  const granted = [...new Set(Object.values(app.csp).flat())];
  return (
    <>
      {granted.length > 0 && (
        <p class="warn">
          It may reach <Line text={granted.join(", ")} max={1000} />
        </p>
      )}
      {app.refused.length + app.permissions.length > 0 && (
        <p class="quiet">
          It asked for <Line text={[...app.refused, ...app.permissions].join(", ")} max={1000} />, and does not get it
        </p>
      )}
    </>
  );
}

interface FrameProps extends AppProps {
  app: AppHtml;
  close: { current: () => void };
  closing(): void;
  begun(): void;
  ended(reason: string): void;
  note(call: AppCall): void;
}

/** A question of an app to the person. */
interface Asked {
  what: "link" | "message";
  text: string;
  say(agreed: boolean): void;
}

let count = 0;

function Frame(props: FrameProps) {
  const { app, tool } = props;
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(240);
  const [asked, setAsked] = useState<Asked | null>(null);
  const open = useRef<Asked | null>(null);
  open.current = asked;

  // Before the frame loads, and until it is gone.
  useLayoutEffect(() => {
    const own = frame.current!;
    const running = new Set<string>();
    let alive = true;
    let question = false;

    /** Asks the person; `false` if they do not agree, or are asked already. */
    const ask = (what: Asked["what"], text: string): Promise<boolean> =>
      new Promise((done) => {
        if (question || !alive) {
          done(false);
          return;
        }
        question = true;
        const say = (agreed: boolean) => {
          question = false;
          setAsked(null);
          done(agreed);
        };
        setAsked({ what, text, say });
      });

    const { chat } = props;
    const send = async (text: string): Promise<boolean> => {
      const at = ++count;
      const note = (end: string) => alive && props.note({ at, what: `message ${text}`, end });
      if (!(await ask("message", text))) {
        note("not sent");
        return false;
      }
      const why = await chat!.send(text);
      note(why || "sent");
      return why === "";
    };

    const request = async (kind: "tool" | "resource", name: string, given: string): Promise<any> => {
      const id = `page-app-${crypto.randomUUID()}`;
      const at = ++count;
      const what = kind === "tool" ? `${name} ${given}` : name;
      const note = (end: string) => alive && props.note({ at, what, end });
      note("runs");
      running.add(id);
      try {
        let last: any = null;
        await stream("/api/calls", { id, kind, app: tool, tool: name, arguments: given }, (line) => {
          last = line.result ?? last;
        });
        if (!last) {
          throw new RpcError(-32000, "the connection ended before the result");
        }
        note(last.error ?? (last.is_error ? (last.code ?? "failed") : "done"));
        return last;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        note(message);
        throw error instanceof Refusal && error.status === 403 ? new RpcError(-32602, message) : error;
      } finally {
        running.delete(id);
      }
    };

    const context = () => ({
      theme: dark.matches ? "dark" : "light",
      locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      displayMode: "inline",
      availableDisplayModes: ["inline"],
      containerDimensions: { width: own.clientWidth, maxHeight: HIGHEST },
      platform: "web",
      userAgent: "toolbox",
      toolInfo: { tool: app.tool },
    });

    const bridge = new Bridge(own, app, {
      context,
      input: () => argumentsOf(props.given),
      result: () => asMcp(props.result),
      call: async (name, given) => asMcp(await request("tool", name, JSON.stringify(given))),
      read: async (uri) => {
        const found = await request("resource", uri, "{}");
        if (found.error) {
          throw new RpcError(-32000, found.error);
        }
        // The app knows the URIs of its own server, without the prefix that they may have in the box.
        const isWanted = (own: string) => own.startsWith("mcp://") && own.endsWith(`/${uri}`);
        return { contents: found.contents.map((part: any) => ({ ...part, uri: isWanted(String(part.uri)) ? uri : part.uri })) };
      },
      openLink: async (url) => {
        const agreed = await ask("link", url.href);
        if (agreed) {
          window.open(url.href, "_blank", "noopener,noreferrer");
        }
        return agreed;
      },
      ...(chat && { chat: { send, give: (text) => (alive ? chat.give(text) : "the app is closed") } }),
      resize: (wanted) => {
        // What is to be clicked stays where it is.
        if (!question) {
          setHeight(Math.round(Math.min(HIGHEST, Math.max(LOWEST, wanted))));
        }
      },
      begun: props.begun,
      ended: props.ended,
    });

    props.close.current = () => {
      props.closing();
      void bridge.close("closed by the user").then(() => alive && props.ended(""));
    };
    const themed = () => bridge.changed({ theme: dark.matches ? "dark" : "light" });
    dark.addEventListener("change", themed);
    let width = own.clientWidth;
    const sized = new ResizeObserver(() => {
      if (own.clientWidth !== width) {
        width = own.clientWidth;
        bridge.changed({ containerDimensions: context().containerDimensions });
      }
    });
    sized.observe(own);
    return () => {
      alive = false;
      dark.removeEventListener("change", themed);
      sized.disconnect();
      open.current?.say(false);
      running.forEach((id) => void post("/api/cancel", { id }).catch(() => {}));
      endElsewhere(own, bridge);
    };
  }, []);

  return (
    <>
      <iframe
        ref={frame}
        // The address of a frame is good for one load, so the listener above is there first.
        src={app.frame}
        title={`App of ${visible(props.server ?? tool).slice(0, 60)}`}
        sandbox="allow-scripts allow-same-origin allow-forms"
        allow=""
        referrerpolicy="no-referrer"
        style={{ height: `${height}px` }}
      />
      {asked && <Question asked={asked} busy={props.chat?.busy ?? false} />}
    </>
  );
}

/** Lets the app of a frame that leaves the page end by itself, out of sight, where the browser can move frames. */
function endElsewhere(frame: HTMLIFrameElement, bridge: Bridge): void {
  const body = document.body as HTMLElement & { moveBefore?(node: Node, before: Node | null): void };
  const moves = body.moveBefore !== undefined && frame.isConnected;
  if (moves) {
    frame.hidden = true;
    body.moveBefore!(frame, null);
  }
  void bridge.close("its result is no longer shown").finally(() => moves && frame.remove());
}

const QUESTIONS = {
  link: { label: "Link of the app", asks: "The app asks to open this link:", agree: "Open" },
  message: { label: "Message of the app", asks: "The app asks to send this message as yours:", agree: "Send" },
};

/** A question of an app. It cannot be agreed to for a moment, so that no click meets it that was not meant. */
function Question({ asked, busy }: { asked: Asked; busy: boolean }) {
  const { label, asks, agree } = QUESTIONS[asked.what];
  const isRead = useRead(busy ? null : `${asked.what} ${asked.text}`);
  const own = useRef<HTMLDivElement>(null);
  useEffect(() => own.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <div ref={own} class="card" role="group" aria-label={label}>
      <p role="alert">{asks}</p>
      <Block text={asked.text} label={asks} />
      <p class="acts">
        <button type="button" disabled={!isRead} onClick={() => asked.say(true)}>
          {agree}
        </button>{" "}
        <button type="button" onClick={() => asked.say(false)}>
          Refuse
        </button>
        {busy && <span class="quiet">Once the model is done</span>}
      </p>
    </div>
  );
}
