// The app that a server has for the result of a tool, in a frame of another origin, under a heading that says whose it is.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal, post, stream } from "../api";
import { useRead } from "../reading";
import type { CallResult } from "../result";
import { program } from "../state";
import { useStore } from "../store";
import type { Detail } from "../tools";
import { Line, visible } from "../text";
import { Bridge, RpcError } from "./bridge";
import type { AppHtml } from "./bridge";

/** The bounds of the height of a frame, in pixels. */
const LOWEST = 60;
const HIGHEST = 640;

/** The calls of an app that are listed. */
const LISTED = 20;

interface AppCall {
  at: number;
  what: string;
  end: string;
}

export interface AppProps {
  detail: Detail;
  /** The arguments of the call, as JSON text. */
  given: string;
  result: CallResult;
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

/** The results whose app has opened by itself, as it does once for each call. */
const seen = new WeakSet<CallResult>();

const dark = matchMedia("(prefers-color-scheme: dark)");

export function App(props: AppProps) {
  const state = useStore(program);
  const [app, setApp] = useState<AppHtml | null>(null);
  const [phase, setPhase] = useState<"closed" | "loading" | "open" | "closing">(() => {
    const { result } = props;
    return state?.apps && !seen.has(result) && !result.is_error && !result.is_pending ? "loading" : "closed";
  });
  const [fault, setFault] = useState("");
  const [calls, setCalls] = useState<AppCall[]>([]);
  const [begun, setBegun] = useState(false);
  const close = useRef<() => void>(() => {});
  useEffect(() => void seen.add(props.result), []);

  useEffect(() => {
    if (phase !== "loading") {
      return;
    }
    let current = true;
    setFault("");
    setCalls([]);
    setBegun(false);
    post<AppHtml>("/api/apps/open", { tool: props.detail.name }).then(
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
        App of <Line text={props.detail.server ?? "this program"} max={60} />
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

interface AskedLink {
  url: URL;
  say(open: boolean): void;
}

let count = 0;

function Frame(props: FrameProps) {
  const { detail, app } = props;
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(240);
  const [link, setLink] = useState<AskedLink | null>(null);
  const asked = useRef<AskedLink | null>(null);
  asked.current = link;

  // Before the frame loads, and until it is gone.
  useLayoutEffect(() => {
    const own = frame.current!;
    const running = new Set<string>();
    let alive = true;
    let question = false;

    const request = async (kind: "tool" | "resource", name: string, given: string): Promise<any> => {
      const id = `page-app-${crypto.randomUUID()}`;
      const at = ++count;
      const what = kind === "tool" ? `${name} ${given}` : name;
      const note = (end: string) => alive && props.note({ at, what, end });
      note("runs");
      running.add(id);
      try {
        let last: any = null;
        await stream("/api/calls", { id, kind, app: detail.name, tool: name, arguments: given }, (line) => {
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
      toolInfo: { tool: { name: detail.name_at_server ?? detail.name, description: detail.description, inputSchema: JSON.parse(detail.schema) } },
    });

    const bridge = new Bridge(own, app, {
      context,
      input: () => JSON.parse(props.given),
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
      openLink: (url) =>
        new Promise((done) => {
          if (question) {
            done(false);
            return;
          }
          question = true;
          const say = (open: boolean) => {
            question = false;
            setLink(null);
            if (open) {
              window.open(url.href, "_blank", "noopener,noreferrer");
            }
            done(open);
          };
          setLink({ url, say });
        }),
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
      asked.current?.say(false);
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
        title={`App of ${visible(detail.server ?? detail.name).slice(0, 60)}`}
        sandbox="allow-scripts allow-same-origin allow-forms"
        allow=""
        referrerpolicy="no-referrer"
        style={{ height: `${height}px` }}
      />
      {link && <Question link={link} />}
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

/** A link that an app asks to open. It cannot be opened for a moment, so that no click meets it that was not meant. */
function Question({ link }: { link: AskedLink }) {
  const isRead = useRead(link.url.href);
  return (
    <div class="card" role="group" aria-label="Link of the app">
      <p role="alert">The app asks to open this link:</p>
      <p>
        <code>{visible(link.url.href)}</code>
      </p>
      <p class="acts">
        <button type="button" disabled={!isRead} onClick={() => link.say(true)}>
          Open
        </button>{" "}
        <button type="button" onClick={() => link.say(false)}>
          Refuse
        </button>
      </p>
    </div>
  );
}
