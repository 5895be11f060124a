// The tab *Live*: calls as they happen, and agents as a tree; also of a recording.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chips, Choice } from "../choice";
import { List } from "../list";
import { save } from "../save";
import { go, route } from "../state";
import { Store, useStore } from "../store";
import { Line, number, visible } from "../text";
import { AgentTree } from "./agents";
import { CallDetail, STATES } from "./detail";
import { duration } from "./duration";
import { LiveLog, recorded } from "./log";
import type { Call, CallState, LiveEvent } from "./log";

/** The events of this program since the page was opened, and those that it kept from before. */
export const live = new Store(new LiveLog());

/** A recording that is looked at in place of the program. */
const replay = new Store<Replay | null>(null);

interface Replay {
  name: string;
  events: LiveEvent[];
  unread: number;
  log: LiveLog;
  /** The number of events that were replayed. */
  at: number;
  speed: number;
  playing: boolean;
}

const kept = { text: "", state: "" as CallState | "", view: "calls" as "calls" | "agents" };

export function Live() {
  const recording = useStore(replay);
  const now = useStore(live);
  const log = recording?.log ?? now;
  const [, wanted = ""] = useStore(route);
  const [query, setQuery] = useState(() => {
    if (wanted.startsWith("call:")) {
      return { ...kept, text: wanted, view: "calls" as const };
    }
    return { ...kept };
  });
  const [paused, pause] = useState<{ calls: Call[]; version: number } | null>(null);
  const [chosen, choose] = useState<Call | null>(null);
  Object.assign(kept, query);

  useEffect(() => {
    if (wanted.startsWith("call:")) {
      setQuery((query) => ({ ...query, text: wanted, view: "calls" }));
    }
  }, [wanted]);

  const text = query.text.trim().toLowerCase();
  const shown = useMemo(() => {
    const fits = (call: Call) => {
      if (query.state && call.state !== query.state) {
        return false;
      }
      if (!text) {
        return true;
      }
      if (text.startsWith("call:")) {
        const id = text.slice(5);
        return call.id.toLowerCase() === id || call.parent.toLowerCase() === id;
      }
      const words = [call.tool, call.id, call.principal, call.conversation, call.path.join(" "), call.code ?? "", call.arguments ?? "", call.text ?? ""];
      return words.some((own) => own.toLowerCase().includes(text));
    };
    const calls = paused?.calls ?? log.calls;
    return text || query.state ? calls.filter(fits) : calls.slice();
  }, [log, log.version, text, query.state, paused]);

  const selected = chosen ? shown.indexOf(chosen) : -1;
  const later = paused ? log.version - paused.version : 0;
  return (
    <div class="live">
      <div class="bar">
        <Chips
          label="View"
          values={["calls", "agents"] as const}
          value={query.view}
          onChange={(view) => setQuery({ ...query, view })}
          show={(view) => (view === "calls" ? "Calls" : "Agents")}
        />
        <label class="search">
          <span class="sr">Filter calls</span>
          <input
            type="search"
            placeholder="Filter by tool, id, caller, arguments, result"
            value={query.text}
            onInput={(event) => setQuery({ ...query, text: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key === "Escape") {
                setQuery({ ...query, text: "" });
                go("live");
              }
            }}
          />
        </label>
        <Choice label="State" all="All states" values={STATES} value={query.state} onChange={(state) => setQuery({ ...query, state })} />
        <button
          type="button"
          aria-pressed={paused !== null}
          onClick={() => pause(paused ? null : { calls: log.calls.slice(), version: log.version })}
        >
          {paused ? "Go on" : "Pause"}
        </button>
        <Export log={log} />
        <Recording recording={recording} />
      </div>
      <p class="quiet count" role="status">
        {number(shown.length)} calls{recording && ` of the recording ${visible(recording.name)}`}
        {log.lost > 0 && `; ${number(log.lost)} events were lost, since this page was too slow or too late`}
        {paused && `; ${number(later)} events later`}
      </p>
      {query.view === "agents" ? (
        <AgentTree log={log} choose={(call) => (choose(call), setQuery({ ...query, view: "calls" }))} />
      ) : (
        <div class={chosen ? "split open" : "split"}>
          <section class="side wide" aria-label="Calls">
            <List
              items={shown}
              rowHeight={30}
              label="Calls"
              id="call"
              selected={selected}
              follow={!paused && !chosen}
              onSelect={(at) => choose(shown[at] ?? null)}
              onOpen={() => document.getElementById("call-detail")?.focus()}
              render={(call) => <CallRow call={call} />}
            />
            {shown.length === 0 && (
              <p class="empty">
                {log.calls.length ? "No call fits the filter." : "No call was made yet. Calls of models, of MCP clients and of this page appear here."}
              </p>
            )}
          </section>
          <section class="main" id="call-detail" tabIndex={-1} aria-label="Call">
            {chosen ? (
              <>
                <button type="button" class="back" onClick={() => choose(null)}>
                  ← All calls
                </button>
                <CallDetail call={chosen} log={log} choose={choose} />
              </>
            ) : (
              <p class="empty">Choose a call to see its arguments, its result, and the calls around it.</p>
            )}
          </section>
        </div>
      )}
    </div>
  );
}

function CallRow({ call }: { call: Call }) {
  const time = new Date(call.began);
  const clock = `${time.toLocaleTimeString("en-GB")}.${String(time.getMilliseconds()).padStart(3, "0")}`;
  // One decade of time is a fifth of the bar: 1 ms, 10 ms … 100 s.
  const width = call.took === null ? 100 : Math.min(100, Math.max(2, (Math.log10(Math.max(call.took, 0.1)) + 1) * 20));
  return (
    <span class="callrow">
      <span class="quiet num">{clock}</span>
      <span class={`state ${call.state}`}>{call.state}</span>
      <b>
        <Line text={call.tool} max={60} />
      </b>
      <span class="quiet who">
        <Line text={call.path.length ? call.path.join(" › ") : call.principal || call.conversation} max={60} />
      </span>
      <span class="gauge" aria-hidden="true">
        <span class={`fill ${call.state}`} style={{ width: `${width}%` }} />
      </span>
      <span class="num">{duration(call)}</span>
    </span>
  );
}

function Export({ log }: { log: LiveLog }) {
  return (
    <button
      type="button"
      disabled={log.events.length === 0}
      onClick={() => save("calls", log.events.map((event) => JSON.stringify(event)).join("\n") + "\n")}
    >
      Save as JSON lines
    </button>
  );
}

/** Opens a recording, and plays it. */
function Recording({ recording }: { recording: Replay | null }) {
  const file = useRef<HTMLInputElement>(null);
  const [fault, setFault] = useState("");

  useEffect(() => {
    if (!recording?.playing) {
      return;
    }
    let last = performance.now();
    let clock = recording.events[Math.max(0, recording.at - 1)]?.time_ms ?? 0;
    let frame = requestAnimationFrame(function step(now) {
      clock += (now - last) * recording.speed;
      last = now;
      let next = recording.events[recording.at];
      while (next && next.time_ms <= clock) {
        recording.log.add(next);
        recording.at += 1;
        next = recording.events[recording.at];
      }
      if (next && next.time_ms - clock > 2000) {
        // Nobody wants to watch a silence.
        clock = next.time_ms - 200;
      }
      if (!next) {
        replay.set({ ...recording, playing: false });
        return;
      }
      replay.touch();
      frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [recording]);

  const open = async (chosen: File | undefined) => {
    if (!chosen) {
      return;
    }
    const { events, unread } = recorded(await chosen.text());
    if (events.length === 0) {
      setFault("This file holds no events.");
      return;
    }
    setFault("");
    const log = new LiveLog();
    events.forEach((event) => log.add(event));
    replay.set({ name: chosen.name.slice(0, 100), events, unread, log, at: events.length, speed: 1, playing: false });
  };

  if (!recording) {
    return (
      <>
        <button type="button" onClick={() => file.current?.click()}>
          Open a recording
        </button>
        <input
          ref={file}
          type="file"
          hidden
          aria-label="Recording"
          accept=".jsonl,.ndjson,application/x-ndjson"
          onChange={(event) => {
            void open(event.currentTarget.files?.[0]);
            event.currentTarget.value = "";
          }}
        />
        <span role="alert" class="bad">
          {fault}
        </span>
      </>
    );
  }
  const play = () => {
    const again = recording.at >= recording.events.length;
    const log = again ? new LiveLog() : recording.log;
    replay.set({ ...recording, log, at: again ? 0 : recording.at, playing: true });
  };
  return (
    <>
      {recording.playing ? (
        <button type="button" onClick={() => replay.set({ ...recording, playing: false })}>
          Stop
        </button>
      ) : (
        <button type="button" onClick={play}>
          Replay
        </button>
      )}
      <label>
        <span class="sr">Speed</span>
        <select value={recording.speed} onChange={(event) => replay.set({ ...recording, speed: Number(event.currentTarget.value) })}>
          {[1, 5, 25].map((speed) => (
            <option key={speed} value={speed}>
              {speed} ×
            </option>
          ))}
        </select>
      </label>
      <span class="quiet">
        {number(recording.at)} of {number(recording.events.length)} events
        {recording.unread > 0 && `, ${number(recording.unread)} lines could not be read`}
      </span>
      <button type="button" onClick={() => replay.set(null)}>
        Back to the program
      </button>
    </>
  );
}
