// One server: its state, its entry in the file, and its tools.
import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "../api";
import { useRead } from "../reading";
import { tools } from "../state";
import type { ToolSummary, ServerStatus } from "../state";
import { useStore } from "../store";
import { Block, Line, number, pretty, visible } from "../text";
import { EntryForm } from "./entry-form";
import { change, configFile } from "./file";
import type { Entry, FileChange, Refused } from "./file";
import { Problems, Refusal, isTroubled } from "./problems";

/** The most names that are drawn at once. */
const NAMES = 200;

function Names({ what, names }: { what: string; names: string[] }) {
  if (names.length === 0) {
    return null;
  }
  return (
    <details>
      <summary>
        {number(names.length)} {what}
      </summary>
      <ul>
        {names.slice(0, NAMES).map((name) => (
          <li key={name}>
            <code>
              <Line text={name} />
            </code>
          </li>
        ))}
        {names.length > NAMES && <li class="quiet">{number(names.length - NAMES)} more</li>}
      </ul>
    </details>
  );
}

interface ServerProps {
  entry: Entry | null;
  status: ServerStatus | null;
  lock: boolean;
  /** `true` if the file can be changed. */
  writes: boolean;
}

export function Server({ entry, status, lock, writes }: ServerProps) {
  const name = entry?.name ?? status?.name ?? "";
  const isOff = entry?.enabled === false || status?.state === "disabled";
  const word = isOff ? "switched off" : (status?.state ?? "not used");
  const style = isTroubled(status, entry) ? "bad" : status?.state === "ready" ? "good" : "quiet";
  return (
    <li class="card">
      <details>
        <summary>
          <b>
            <Line text={name} />
          </b>{" "}
          <span class={style}>{word}</span>{" "}
          {status && !isOff && (
            <span class="quiet">
              {number(status.tools)} tool{status.tools === 1 ? "" : "s"}{status.protocol_version && `, ${status.protocol_version}`}
            </span>
          )}
          {(entry?.problems.length ?? 0) > 0 && <span class="mark warn">fault in the file</span>}
        </summary>
        {entry && <Problems problems={entry.problems} />}
        {status && <Status status={status} lock={lock} />}
        {entry && <Kept entry={entry} status={status} writes={writes} />}
        {entry && writes && <Switches server={name} />}
      </details>
    </li>
  );
}

/** The entry of a server in the file, with what can be done to it. */
function Kept({ entry, status, writes }: { entry: Entry; status: ServerStatus | null; writes: boolean }) {
  const file = useStore(configFile);
  const [mode, setMode] = useState<"" | "change" | "remove" | "rename">("");
  const [refused, setRefused] = useState<Refused | null>(null);
  const { list, name: server } = entry;
  const act = async (wanted: FileChange) => {
    setRefused(await change(file?.digest, wanted));
    setMode("");
  };
  const words = entry.command ?? null;
  return (
    <>
      <dl class="facts">
        {words && (
          <>
            <dt>Command</dt>
            <dd>
              <code>
                <Line text={JSON.stringify(words)} max={2000} />
              </code>
            </dd>
          </>
        )}
        {typeof entry.url === "string" && (
          <>
            <dt>URL</dt>
            <dd>
              <code>
                <Line text={entry.url} max={2000} />
              </code>
              {entry.hides_url && (entry.url === "" ? "not shown" : " and parts that are not shown")}
            </dd>
          </>
        )}
        <Few what="Variables" names={entry.environment} />
        <Few what="Headers" names={entry.headers} />
        <Few what="Other keys" names={entry.others} />
      </dl>
      {writes && mode === "change" && <EntryForm entry={entry} onDone={() => setMode("")} />}
      {writes && mode === "remove" && (
        <p class="acts">
          <button type="button" class="danger" onClick={() => act({ change: "remove", list, server })}>
            Remove it from the file
          </button>
          <button type="button" onClick={() => setMode("")}>
            Keep it
          </button>
        </p>
      )}
      {writes && mode === "rename" && <Rename name={server} say={(name) => act({ change: "rename", list, server, name })} onDone={() => setMode("")} />}
      {writes && mode === "" && (
        <p class="acts">
          {entry.enabled === false ? (
            <button type="button" onClick={() => act({ change: "enable", list, server, on: true })}>
              Connect
            </button>
          ) : (
            <button type="button" onClick={() => act({ change: "enable", list, server, on: false })}>
              Disconnect
            </button>
          )}
          {status && entry.enabled !== false && <Reconnect server={server} />}
          <button type="button" onClick={() => setMode("change")}>
            Change
          </button>
          <button type="button" onClick={() => setMode("rename")}>
            Rename
          </button>
          <button type="button" onClick={() => setMode("remove")}>
            Remove
          </button>
        </p>
      )}
      <Refusal refused={refused} />
    </>
  );
}

function Rename({ name, say, onDone }: { name: string; say(name: string): Promise<void>; onDone(): void }) {
  const [text, setText] = useState(name);
  return (
    <form
      class="acts"
      aria-label="Other name"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        void say(text.trim());
      }}
    >
      <label>
        Name <input type="text" value={text} required maxLength={64} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={text.trim() === name}>
        Rename it
      </button>
      <button type="button" onClick={onDone}>
        Keep its name
      </button>
    </form>
  );
}

function Few({ what, names }: { what: string; names: string[] | undefined }) {
  return names?.length ? (
    <>
      <dt>{what}</dt>
      <dd>
        <Line text={names.slice(0, NAMES).join(", ")} max={2000} />
      </dd>
    </>
  ) : null;
}

/** The tools of a server, switched on and off by the rules of the file. */
function Switches({ server }: { server: string }) {
  const all = useStore(tools);
  const file = useStore(configFile);
  const [shown, show] = useState(NAMES);
  const [refused, setRefused] = useState<Refused | null>(null);
  const own = all.filter((tool) => tool.server === server);
  if (own.length === 0) {
    return null;
  }
  const off = own.filter((tool) => !tool.permitted).length;
  return (
    <details>
      <summary>
        Tools: {number(own.length - off)} on{off > 0 && `, ${number(off)} off`}
      </summary>
      <ul>
        {own.slice(0, shown).map((tool) => (
          <li key={tool.name}>
            <Switch tool={tool} set={(on) => change(file?.digest, { change: "tool", tool: tool.name, on })} tell={setRefused} />
          </li>
        ))}
      </ul>
      {own.length > shown && (
        <button type="button" onClick={() => show(shown + 5 * NAMES)}>
          {number(own.length - shown)} more
        </button>
      )}
      <Refusal refused={refused} />
    </details>
  );
}

/** One tool, on or off as it is wanted while the file is written. */
function Switch({ tool, set, tell }: { tool: ToolSummary; set: (on: boolean) => Promise<Refused | null>; tell: (refused: Refused | null) => void }) {
  const [wanted, want] = useState<boolean | null>(null);
  const isWriting = useRef(false);
  // What is listed after the file was written holds, whatever was wanted: another rule may forbid the tool too.
  useEffect(() => {
    if (!isWriting.current) {
      want(null);
    }
  }, [tool]);
  const turn = async (on: boolean) => {
    want(on);
    isWriting.current = true;
    const refused = await set(on);
    isWriting.current = false;
    if (refused) {
      want(null);
    }
    tell(refused);
  };
  return (
    <label>
      <input type="checkbox" checked={wanted ?? tool.permitted} onChange={(event) => turn(event.currentTarget.checked)} />{" "}
      <Line text={tool.name} />
    </label>
  );
}

function Reconnect({ server }: { server: string }) {
  const [word, say] = useState("");
  const act = async () => {
    say("");
    try {
      await post("/api/reconnect", { server });
      say("Connected anew");
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" onClick={act}>
        Reconnect
      </button>
      <span role="status">{visible(word)}</span>
    </>
  );
}

function Status({ status, lock }: { status: ServerStatus; lock: boolean }) {
  const [word, say] = useState("");
  const isRead = useRead(status.digest);
  const file = useStore(configFile);
  const approve = async () => {
    say("");
    try {
      await post("/api/approve", { server: status.name, digest: status.digest });
      say("Approved");
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  const unapproved = status.withheld.filter((tool) => tool.definition !== null);
  return (
    <>
      {file === null && (
        <p class="acts">
          <Reconnect server={status.name} />
        </p>
      )}
      {status.instructions && (
        <details>
          <summary>Instructions</summary>
          <Block text={status.instructions} label="Instructions of the server" />
        </details>
      )}
      {status.capabilities && (
        <details>
          <summary>Capabilities</summary>
          <Block text={JSON.stringify(status.capabilities, null, 2)} label="Capabilities of the server" />
        </details>
      )}
      <Names what="prompts" names={status.prompts} />
      <Names what="resources" names={status.resources} />
      {status.startup && (
        <p>
          It has not answered for {status.startup.waited_seconds} of {status.startup.limit_seconds} seconds
          {status.startup.last_line && (
            <>
              ; it printed last: <Line text={status.startup.last_line} max={200} />
            </>
          )}
        </p>
      )}
      {status.error && (
        <p class="bad">
          <Line text={status.error} max={600} />
        </p>
      )}
      {status.wants_sign_in && (
        <p>
          It requires a sign-in: <code>toolbox login {visible(status.name)}</code>
        </p>
      )}
      {status.notices.map((notice) => (
        <p key={notice} class="warn">
          <Line text={notice} max={600} />
        </p>
      ))}
      {status.withheld.map((tool) => (
        <details key={tool.name}>
          <summary>
            <Line text={tool.name} /> <span class="mark warn">{tool.reason}</span>
          </summary>
          <p>
            <Line text={tool.detail} max={600} />
          </p>
          {tool.definition && <Block text={pretty(tool.definition)} label="Definition as the server lists it now" />}
        </details>
      ))}
      {lock && unapproved.length > 0 && (
        <button type="button" disabled={!isRead} onClick={approve}>
          Approve the tools of this server as they are shown
        </button>
      )}
      <span role="status">{visible(word)}</span>
    </>
  );
}
