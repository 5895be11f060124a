// The tab *Protocol*: the messages of the servers both ways, their times, tasks, and what breaks the protocol.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Chips, Choice } from "../choice";
import { save } from "../save";
import { List } from "../list";
import { program } from "../state";
import { useStore } from "../store";
import { Block, Copy, Line, bytes, milliseconds, number, pretty } from "../text";
import { breaches, frames, latencies, tasks } from "./frames";
import type { Frame } from "./frames";

const VIEWS = ["Frames", "Notifications", "Times", "Tasks", "Faults"] as const;
type View = (typeof VIEWS)[number];

const KINDS = ["request", "result", "error", "notification", "invalid"];

/** What is chosen, kept while other tabs are open. */
const kept = { view: "Frames" as View, text: "", direction: "", kind: "", server: "", faulty: false };

export function Protocol() {
  const list = useStore(frames);
  const version = frames.changes;
  const state = useStore(program);
  const [query, setQuery] = useState({ ...kept });
  const [paused, pause] = useState<Frame[] | null>(null);
  const [chosen, choose] = useState<Frame | null>(null);
  Object.assign(kept, query);

  const all = paused ?? list.frames;
  const shown = useMemo(() => {
    const text = query.text.trim().toLowerCase();
    return all.filter(
      (frame) =>
        (!query.direction || frame.direction === query.direction) &&
        (!query.kind || frame.kind === query.kind) &&
        (!query.server || frame.server === query.server) &&
        (!query.faulty || frame.faults.length > 0) &&
        (query.view !== "Notifications" || (frame.kind === "notification" && frame.direction === "received")) &&
        (!text || [frame.method ?? "", frame.id ?? "", frame.text].some((own) => own.toLowerCase().includes(text))),
    );
  }, [all, version, query]);
  const servers = useMemo(() => [...new Set(all.map((frame) => frame.server))].sort(), [all, version]);
  const open = (frame: Frame) => {
    setQuery({ ...query, view: "Frames", text: "", direction: "", kind: "", faulty: false });
    choose(frame);
  };
  const isList = query.view === "Frames" || query.view === "Notifications";
  const later = paused ? (list.frames.at(-1)?.number ?? 0) - (paused.at(-1)?.number ?? 0) : 0;
  return (
    <div class="live">
      <div class="bar">
        <Chips
          label="View"
          values={VIEWS}
          value={query.view}
          onChange={(view) => setQuery({ ...query, view })}
          show={(view) => (
            <>
              {view}
              {view === "Faults" && list.faulty > 0 && <span class="badge bad-badge">{number(list.faulty)}</span>}
            </>
          )}
        />
        {isList && (
          <>
            <label class="search">
              <span class="sr">Filter frames</span>
              <input
                type="search"
                placeholder="Filter by method, id, text"
                value={query.text}
                onInput={(event) => setQuery({ ...query, text: event.currentTarget.value })}
                onKeyDown={(event) => event.key === "Escape" && setQuery({ ...query, text: "" })}
              />
            </label>
            {query.view === "Frames" && (
              <>
                <Choice label="Direction" all="Both ways" values={["sent", "received"]} value={query.direction} onChange={(direction) => setQuery({ ...query, direction })} />
                <Choice label="Kind" all="All kinds" values={KINDS} value={query.kind} onChange={(kind) => setQuery({ ...query, kind })} />
              </>
            )}
            {servers.length > 1 && <Choice label="Server" all="All servers" values={servers} value={query.server} onChange={(server) => setQuery({ ...query, server })} />}
            <label>
              <input type="checkbox" checked={query.faulty} onChange={(event) => setQuery({ ...query, faulty: event.currentTarget.checked })} /> With faults
            </label>
          </>
        )}
        <button type="button" aria-pressed={paused !== null} onClick={() => pause(paused ? null : list.frames.slice())}>
          {paused ? "Go on" : "Pause"}
        </button>
        <button type="button" disabled={shown.length === 0} onClick={() => save("frames", shown.map((frame) => JSON.stringify(frame)).join("\n") + "\n")}>
          Save as JSON lines
        </button>
      </div>
      <p class="quiet count" role="status">
        {number(isList ? shown.length : all.length)} frames
        {list.lost > 0 && `; ${number(list.lost)} were forgotten before`}
        {paused && `; ${number(later)} later`}
        {state?.servers.map((own) => own.error).filter(Boolean).map((error, at) => (
          <span key={at} class="bad">
            {"; "}
            <Line text={error} max={300} />
          </span>
        ))}
      </p>
      {isList ? (
        <div class={chosen ? "split open" : "split"}>
          <section class="side wide" aria-label="Frames">
            <List
              items={shown}
              rowHeight={30}
              label="Frames"
              id="frame"
              selected={chosen ? shown.indexOf(chosen) : -1}
              follow={!paused && !chosen}
              onSelect={(at) => choose(shown[at] ?? null)}
              onOpen={() => document.getElementById("frame-detail")?.focus()}
              render={(frame) => <Row frame={frame} />}
            />
            {shown.length === 0 && <p class="empty">{all.length ? "No frame fits the filter." : "No message was exchanged yet."}</p>}
          </section>
          <section class="main" id="frame-detail" tabIndex={-1} aria-label="Frame">
            {chosen ? (
              <>
                <button type="button" class="back" onClick={() => choose(null)}>
                  ← All frames
                </button>
                <FrameDetail frame={chosen} all={list.frames} open={open} />
              </>
            ) : (
              <p class="empty">Choose a frame to see the whole message, and the one that it answers.</p>
            )}
          </section>
        </div>
      ) : (
        <div class="one">
          {query.view === "Times" && <Times all={all} version={version} />}
          {query.view === "Tasks" && <Tasks all={all} version={version} open={open} />}
          {query.view === "Faults" && <Faults all={all} version={version} open={open} />}
        </div>
      )}
    </div>
  );
}

function clock(time: number): string {
  const own = new Date(time);
  return `${own.toLocaleTimeString("en-GB")}.${String(own.getMilliseconds()).padStart(3, "0")}`;
}

function Row({ frame }: { frame: Frame }) {
  const sent = frame.direction === "sent";
  return (
    <span class="framerow">
      <span class="quiet num">{clock(frame.time_ms)}</span>
      <span class={sent ? "way" : "way good"}>
        <span aria-hidden="true">{sent ? "→" : "←"}</span>
        <span class="sr">{frame.direction}</span>
      </span>
      <span class={`state ${frame.kind === "error" || frame.kind === "invalid" ? "failed" : ""}`}>{frame.kind}</span>
      <b>
        <Line text={frame.method ?? frame.text} max={60} />
      </b>
      <span class="quiet">{frame.id !== null && <Line text={frame.id} max={20} />}</span>
      <span class="bad">{frame.faults.length > 0 && frame.faults[0]!.rule}</span>
      <span class="num">{frame.duration_ms === null ? bytes(frame.bytes) : milliseconds(frame.duration_ms)}</span>
    </span>
  );
}

function FrameDetail({ frame, all, open }: { frame: Frame; all: Frame[]; open(frame: Frame): void }) {
  const other = useMemo(
    () => (frame.request !== null ? all.find((own) => own.number === frame.request) : all.find((own) => own.request === frame.number && own.connection === frame.connection)),
    [frame, all, all.length],
  );
  return (
    <article>
      <h2>
        <Line text={frame.method ?? frame.kind} max={120} />
      </h2>
      {frame.faults.map((fault, at) => (
        <p key={at} class="bad">
          <code>{fault.rule}</code>: <Line text={fault.message} max={800} />
        </p>
      ))}
      <dl class="facts">
        <dt>Kind</dt>
        <dd>
          {frame.kind}, {frame.direction}
        </dd>
        <dt>Server</dt>
        <dd>
          <Line text={frame.server} />, connection {number(frame.connection)}, frame {number(frame.number)}
        </dd>
        <dt>Time</dt>
        <dd>{new Date(frame.time_ms).toISOString()}</dd>
        {frame.id !== null && (
          <>
            <dt>Id</dt>
            <dd>
              <code>
                <Line text={frame.id} />
              </code>
            </dd>
          </>
        )}
        {frame.duration_ms !== null && (
          <>
            <dt>Answered after</dt>
            <dd>{milliseconds(frame.duration_ms)}</dd>
          </>
        )}
        <dt>Size</dt>
        <dd>
          {bytes(frame.bytes)}
          {frame.is_cut && ", of which the beginning is here"}
        </dd>
      </dl>
      <p class="acts">
        {other && (
          <button type="button" onClick={() => open(other)}>
            {frame.request !== null ? "The request" : "The answer"}
          </button>
        )}
        <Copy text={() => frame.text}>Copy</Copy>
      </p>
      <Block text={frame.is_cut ? frame.text : pretty(frame.text)} label="Message" />
    </article>
  );
}

interface ViewProps {
  all: Frame[];
  version: number;
}

function Figures(props: { caption: string; columns: string[]; children: ComponentChildren }) {
  return (
    <div class="sideways" tabIndex={0} role="group" aria-label={props.caption}>
      <table class="figures">
        <caption class="sr">{props.caption}</caption>
        <thead>
          <tr>
            {props.columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}

function Times({ all, version }: ViewProps) {
  const rows = useMemo(() => latencies(all), [all, version]);
  if (rows.length === 0) {
    return <p class="empty">Nothing was requested yet.</p>;
  }
  return (
    <Figures caption="Times of the answers by method" columns={["Method", "Asked by", "Answers", "Errors", "Open", "Median", "95 %", "Slowest"]}>
      {rows.map((row) => (
        <tr key={`${row.direction} ${row.method}`}>
          <td>
            <code>
              <Line text={row.method} max={80} />
            </code>
          </td>
          <td>{row.direction === "sent" ? "this program" : "the server"}</td>
          <td class="num">{number(row.count)}</td>
          <td class={row.errors ? "num bad" : "num"}>{number(row.errors)}</td>
          <td class="num">{number(row.waiting)}</td>
          <td class="num">{milliseconds(row.median)}</td>
          <td class="num">{milliseconds(row.most)}</td>
          <td class="num">{milliseconds(row.slowest)}</td>
        </tr>
      ))}
    </Figures>
  );
}

function Tasks({ all, version, open }: ViewProps & { open(frame: Frame): void }) {
  const rows = useMemo(() => tasks(all), [all, version]);
  if (rows.length === 0) {
    return <p class="empty">No call became a task. A call that does is followed here; its result is shown where it was called.</p>;
  }
  return (
    <Figures caption="Tasks" columns={["Task", "Status", "Message", "Since", "Last"]}>
      {rows.slice(0, 500).map((row) => (
        <tr key={`${row.frame.connection} ${row.id}`}>
          <td>
            <code>
              <Line text={row.id} max={80} />
            </code>
          </td>
          <td class={row.status === "completed" ? "good" : row.status === "failed" ? "bad" : ""}>
            <Line text={row.status} max={40} />
          </td>
          <td>
            <Line text={row.message} max={300} />
          </td>
          <td class="num">{milliseconds(row.changed - row.began)}</td>
          <td>
            <button type="button" onClick={() => open(row.frame)}>
              Frame {number(row.frame.number)}
            </button>
          </td>
        </tr>
      ))}
    </Figures>
  );
}

function Faults({ all, version, open }: ViewProps & { open(frame: Frame): void }) {
  const rows = useMemo(() => breaches(all), [all, version]);
  if (rows.length === 0) {
    return <p class="empty">Nothing that the servers sent breaks the protocol, as far as it is checked.</p>;
  }
  return (
    <ul class="breaches">
      {rows.map((row) => (
        <li key={row.rule} class="card">
          <h3>
            <code>{row.rule}</code> <span class="quiet">{number(row.count)} ×</span>
          </h3>
          <p class="bad">
            <Line text={row.message} max={800} />
          </p>
          <button type="button" onClick={() => open(row.last)}>
            Frame {number(row.last.number)}
          </button>
        </li>
      ))}
    </ul>
  );
}
