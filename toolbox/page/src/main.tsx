// The page: a session, the tabs, and what keeps them up to date.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refusal, follow, forgetKey, get, hasKey, openSession, post } from "./api";
import { Approvals } from "./approvals";
import { Chat } from "./chat/chat";
import { Live, live } from "./live/live";
import { Prompts } from "./offers/prompts";
import { Resources } from "./offers/resources";
import { TypeAhead, moveFocus } from "./keys";
import { loadOffers, updated } from "./offers/store";
import { forgetFrames, framesCame } from "./protocol/frames";
import { Protocol } from "./protocol/protocol";
import { loadFile } from "./servers/file";
import { Servers, useTroubled } from "./servers/servers";
import { Tools } from "./tools";
import { connection, go, href, program, route, session, tools, waiting } from "./state";
import type { ProgramState, ToolSummary, Waiting } from "./state";
import { useStore } from "./store";
import { Spending } from "./spending";
import { Line, visible } from "./text";
import "./style.css";

const TABS: [string, string][] = [
  ["tools", "Tools"],
  ["try", "Try"],
  ["chat", "Chat"],
  ["servers", "Servers"],
  ["prompts", "Prompts"],
  ["resources", "Resources"],
  ["live", "Live"],
  ["approvals", "Approvals"],
  ["spending", "Spending"],
  ["protocol", "Protocol"],
];

/** Returns `true` for a tab that has something to show. */
function isUsed(tab: string, own: ProgramState | null): boolean {
  const inspects = own?.frames != null;
  switch (tab) {
    case "prompts":
      return inspects || (own?.offers.prompts ?? 0) > 0;
    case "resources":
      return inspects || (own?.offers.resources ?? 0) > 0;
    case "servers":
      return own?.config_file != null || (own?.servers.length ?? 0) > 0;
    case "protocol":
      return inspects;
    case "spending":
      return own?.spending ?? false;
    default:
      return true;
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Opens a session by the token in the address, or goes on with the one there is. */
async function start(): Promise<void> {
  const token = /^#token=([0-9a-zA-Z_-]+)$/.exec(location.hash)?.[1];
  if (token) {
    // The token is used up by the next line, and need not stay in the history.
    history.replaceState(null, "", "#/tools");
    route.set(["tools"]);
    try {
      await openSession(token);
    } catch (error) {
      session.set({ state: "closed", why: message(error) });
      return;
    }
  }
  await resume();
}

async function resume(): Promise<void> {
  if (!hasKey()) {
    session.set({ state: "closed", why: "" });
    return;
  }
  try {
    await load();
    session.set({ state: "open", why: "" });
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) {
      session.set({ state: "closed", why: "The session has ended." });
    } else {
      session.set({ state: "closed", why: message(error) });
    }
  }
}

async function load(): Promise<void> {
  const [state, list] = await Promise.all([get<ProgramState>("/api/state"), get<{ tools: ToolSummary[] }>("/api/tools"), loadOffers()]);
  program.set(state);
  tools.set(list.tools);
}

/** The entries that the person was told of, which a stream that begins anew sends again. */
let known = new Set<number>();

/** Takes a change of what waits, and tells the person of what is new. */
function hear(change: { whole?: boolean; added: Waiting[]; gone: number[]; count: number }): void {
  const gone = new Set(change.gone);
  const kept = change.whole ? [] : waiting.value.filter((entry) => !gone.has(entry.id));
  const entries = [...kept, ...change.added];
  const fresh = change.added.filter((entry) => !known.has(entry.id));
  if (!change.whole) {
    known = new Set(entries.map((entry) => entry.id));
  }
  waiting.set(entries);
  const title = program.value?.title ?? "toolbox";
  document.title = change.count > 0 ? `(${change.count}) ${title}` : title;
  if (document.hidden && "Notification" in window && Notification.permission === "granted") {
    for (const entry of fresh.slice(0, 3)) {
      const text = entry.kind === "approval" ? `May ${entry.tool} run?` : `${entry.origin} asks`;
      new Notification(title, { body: visible(text).slice(0, 200), tag: `waiting-${entry.id}` });
    }
  }
}

function listen(): () => void {
  let generation = program.value?.generation ?? -1;
  let boot = program.value?.boot ?? "";
  let counts = JSON.stringify(program.value?.offers);
  return follow({
    event(name, data) {
      if (name === "event") {
        live.value.add(data);
        live.touch();
      } else if (name === "lost") {
        live.value.lost += data.events;
        live.touch();
      } else if (name === "frames") {
        framesCame(data.count);
      } else if (name === "updated") {
        updated(data.uri);
      } else if (name === "waiting") {
        hear(data);
      } else if (name === "state") {
        if (program.value) {
          program.set({ ...program.value, servers: data.servers, config_file: data.config_file, offers: data.offers });
        }
        const listed = JSON.stringify(data.offers);
        if (listed !== counts) {
          counts = listed;
          loadOffers().catch(() => {});
        }
        if (data.boot !== boot) {
          forgetFrames();
        }
        if (data.generation !== generation || data.boot !== boot) {
          ({ generation, boot } = data);
          load().catch(() => {});
        }
      } else if (name === "ended") {
        connection.set("ended");
      }
    },
    state(state) {
      connection.set(state);
    },
  });
}

function Page() {
  const { state } = useStore(session);
  return state === "open" ? <Open /> : state === "closed" ? <Closed /> : <p class="empty">Loading</p>;
}

function Open() {
  const [tab = "tools"] = useStore(route);
  const own = useStore(program);
  const entries = useStore(waiting);
  const link = useStore(connection);
  const troubled = useTroubled();
  const stamp = own?.config_file ?? null;
  useEffect(listen, []);
  useEffect(() => {
    if (stamp !== null) {
      void loadFile();
    }
  }, [stamp]);

  useEffect(() => {
    // Somebody who looks at the page uses it.
    const timer = setInterval(() => {
      if (!document.hidden) {
        get("/api/waiting").catch(() => {});
      }
    }, 120_000);
    return () => clearInterval(timer);
  }, []);

  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <h1>
          <Line text={own?.title} max={40} />
        </h1>
        <nav aria-label="Tabs">
          <ul onKeyDown={(event) => moveFocus(event, [...event.currentTarget.querySelectorAll("a")], "horizontal")?.click()}>
            {TABS.filter(([name]) => isUsed(name, own)).map(([name, label]) => (
              <li key={name}>
                <a href={href(name)} aria-current={tab === name ? "page" : undefined}>
                  {label}
                  {name === "approvals" && entries.length > 0 && (
                    <>
                      {" "}
                      <span class="badge">
                        {entries.length}
                        <span class="sr"> waiting</span>
                      </span>
                    </>
                  )}
                  {name === "servers" && troubled > 0 && (
                    <>
                      {" "}
                      <span class="badge">
                        {troubled}
                        <span class="sr"> to look at</span>
                      </span>
                    </>
                  )}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Menu />
      </header>
      <div role="status" class="banner-place">
        {link === "lost" && <p class="banner">Connecting to the program …</p>}
        {link === "ended" && (
          <p class="banner">The session has ended. Open a new link of the program in this browser; this page then goes on.</p>
        )}
      </div>
      <main id="content" tabIndex={-1}>
        <Content tab={tab} />
      </main>
    </>
  );
}

function Content({ tab }: { tab: string }) {
  switch (tab) {
    case "prompts":
      return <Prompts />;
    case "resources":
      return <Resources />;
    case "live":
      return <Live />;
    case "approvals":
      return <Approvals />;
    case "protocol":
      return <Protocol />;
    case "chat":
      return <Chat />;
    case "spending":
      return <Spending />;
    case "servers":
      return <Servers />;
    default:
      return <Tools mode={tab === "try" ? "try" : "tools"} />;
  }
}

function Menu() {
  const [link, setLink] = useState("");
  const [fault, setFault] = useState("");
  const [typed] = useState(() => new TypeAhead());
  return (
    <details
      class="menu"
      onKeyDown={(event) => menuKeys(event, event.currentTarget, typed)}
      onFocusOut={(event) => {
        if (event.relatedTarget instanceof Node && !event.currentTarget.contains(event.relatedTarget)) {
          event.currentTarget.open = false;
        }
      }}
    >
      <summary>Session</summary>
      <div>
        <p>
          <button
            type="button"
            onClick={() =>
              post<{ link: string }>("/api/link", {}).then(
                (answer) => setLink(answer.link),
                (error) => setFault(message(error)),
              )
            }
          >
            Link for another browser
          </button>
        </p>
        {link && (
          <p>
            Opens the page once, within a day:
            <input type="text" readOnly aria-label="Link for another browser" value={link} onFocus={(event) => event.currentTarget.select()} />
          </p>
        )}
        <p>
          <button
            type="button"
            onClick={() =>
              post("/api/leave", {}).then(
                () => {
                  forgetKey();
                  session.set({ state: "closed", why: "" });
                },
                (error) => setFault(message(error)),
              )
            }
          >
            End the session
          </button>
        </p>
        {fault && <p class="bad">{visible(fault)}</p>}
      </div>
    </details>
  );
}

/** The keys of the menu, but for those of its input. */
function menuKeys(event: KeyboardEvent, menu: HTMLDetailsElement, typed: TypeAhead): void {
  const summary = menu.querySelector("summary");
  const items = [...menu.querySelectorAll("button")];
  const at = items.findIndex((item) => item === document.activeElement);
  if (document.activeElement === summary && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    typed.clear();
    menu.open = true;
    items.at(event.key === "ArrowDown" ? 0 : -1)?.focus();
  } else if (at >= 0 && moveFocus(event, items, "vertical")) {
    typed.clear();
  } else if (at >= 0) {
    items[typed.find(event, items.map((item) => item.textContent), at)]?.focus();
  }
}

function Closed() {
  const { why } = useStore(session);
  const [token, setToken] = useState("");
  const [fault, setFault] = useState("");
  const open = async (event: Event) => {
    event.preventDefault();
    try {
      // A whole link is as good as its token.
      await openSession(token.trim().replace(/^.*#token=/, ""));
      setToken("");
      await resume();
    } catch (error) {
      setFault(message(error));
    }
  };
  return (
    <main class="closed">
      <h1>toolbox</h1>
      {why && (
        <p class="bad" role="alert">
          {visible(why)}
        </p>
      )}
      <p>Open the link that the program printed. Each opens the page once.</p>
      <form onSubmit={open} autocomplete="off">
        <label>
          Link or token
          <input type="password" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>{" "}
        <button type="submit" class="primary">
          Open
        </button>
        {fault && (
          <p class="bad" role="alert">
            {visible(fault)}
          </p>
        )}
      </form>
    </main>
  );
}

window.addEventListener("keydown", (event) => {
  const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  if (event.key === "Escape" && menu) {
    menu.open = false;
    menu.querySelector("summary")?.focus();
  }
});

window.addEventListener("storage", (event) => {
  if (event.key === "toolbox-page-key" && event.newValue && session.value.state === "closed") {
    void resume();
  }
});

if (!location.hash) {
  go("tools");
}
const place = document.getElementById("page");
if (place) {
  render(<Page />, place);
  void start();
}
