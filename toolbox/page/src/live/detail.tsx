// One call: its facts, its arguments and result, and the calls around it on one line of time.
import { useMemo } from "preact/hooks";
import { moveFocus } from "../keys";
import { href } from "../state";
import { Block, Line, bytes, milliseconds, number, pretty } from "../text";
import { duration } from "./duration";
import type { Call, CallState, LiveLog } from "./log";
import { Script, isScriptAlone } from "./script";

export const STATES: CallState[] = ["running", "waiting", "done", "failed", "refused", "deferred", "background"];

/** The most calls that are drawn around one. */
const MAX_AROUND = 200;

export function CallDetail(props: { call: Call; log: LiveLog; choose(call: Call): void }) {
  const { call, log } = props;
  const around = useMemo(() => related(call, log), [call, log, log.version]);
  return (
    <article>
      <header class="toolhead">
        <h2>
          <Line text={call.tool} />
        </h2>
        <a class="button" href={href("try", call.tool)}>
          Try it
        </a>
      </header>
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <span class={`state ${call.state}`}>{call.state}</span>
          {call.code && (
            <>
              {" "}
              <code><Line text={call.code} /></code>
            </>
          )}
        </dd>
        <dt>Began</dt>
        <dd>
          {new Date(call.began).toISOString()}
          {call.took !== null && `, took ${milliseconds(call.took)}`}
        </dd>
        <dt>Id</dt>
        <dd>
          <code><Line text={call.id} /></code>
          {call.parent && (
            <>
              , within <code><Line text={call.parent} /></code>
              {call.line !== null && ` at line ${number(call.line)} of its script`}
            </>
          )}
        </dd>
        {call.path.length > 0 && (
          <>
            <dt>Agent</dt>
            <dd>
              <Line text={call.path.join(" › ")} />, step {call.step}
            </dd>
          </>
        )}
        {call.principal && (
          <>
            <dt>For</dt>
            <dd>
              <Line text={call.principal} />
            </dd>
          </>
        )}
        {call.conversation && (
          <>
            <dt>Conversation</dt>
            <dd>
              <Line text={call.conversation} />
            </dd>
          </>
        )}
      </dl>
      {call.progress && (
        <p>
          <progress value={call.progress.total ? call.progress.done : undefined} max={call.progress.total ?? undefined} aria-label="Progress" />{" "}
          <Line text={call.progress.message} />
        </p>
      )}
      {call.notes.length > 0 && (
        <ul>
          {call.notes.map((note, at) => (
            <li key={at}>
              <Line text={note} max={600} />
            </li>
          ))}
        </ul>
      )}
      {call.repairs.map((repair, at) => (
        <p key={at} class="warn">
          Repaired: <code><Line text={repair.path} /></code> <Line text={repair.what} />
        </p>
      ))}
      <Script key={call.number} call={call} log={log} choose={props.choose} />
      {call.arguments !== null && !isScriptAlone(call) && (
        <>
          <h3>Arguments</h3>
          <Block text={pretty(call.arguments)} label="Arguments" />
        </>
      )}
      {call.text !== null && (
        <>
          <h3>
            Result <span class="quiet">{bytes(call.bytes)}</span>
          </h3>
          <Block text={pretty(call.text)} label="Result" />
        </>
      )}
      {around.length > 1 && <Waterfall calls={around} chosen={call} choose={props.choose} />}
    </article>
  );
}

/** Returns the calls of the same run, or those above and below, in the order of their beginning. */
function related(call: Call, log: LiveLog): Call[] {
  if (call.run) {
    return log.calls.filter((own) => own.run === call.run || own.id === call.parent).slice(-MAX_AROUND);
  }
  const ids = new Set([call.id]);
  if (call.parent) {
    ids.add(call.parent);
  }
  return log.calls.filter((own) => ids.has(own.parent) || own === call || own.id === call.parent).slice(-MAX_AROUND);
}

function Waterfall(props: { calls: Call[]; chosen: Call; choose(call: Call): void }) {
  const from = Math.min(...props.calls.map((call) => call.began));
  const to = Math.max(...props.calls.map((call) => call.began + (call.took ?? 0)), from + 1);
  const share = (time: number) => (100 * time) / (to - from);
  return (
    <section>
      <h3>
        Around it <span class="quiet">{milliseconds(to - from)}</span>
      </h3>
      <ul class="waterfall" onKeyDown={(event) => moveFocus(event, [...event.currentTarget.querySelectorAll("button")], "vertical")?.click()}>
        {props.calls.map((call) => (
          <li key={call.number}>
            <button type="button" aria-pressed={call === props.chosen} onClick={() => props.choose(call)}>
              <span class="label" style={{ paddingLeft: `${Math.min(call.path.length, 12)}em` }}>
                <Line text={call.tool} max={50} />
              </span>
              <span class="track" aria-hidden="true">
                <span
                  class={`fill ${call.state}`}
                  style={{ left: `${share(call.began - from)}%`, width: `${Math.max(0.5, share(call.took ?? to - call.began))}%` }}
                />
              </span>
              <span class="num">{duration(call)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
