// A script with the calls that it made, each at its line.
import { useMemo, useState } from "preact/hooks";
import { href } from "../state";
import type { ScriptPart } from "../state";
import { Line, number, visible } from "../text";
import { duration } from "./duration";
import "./script.css";
import type { Call, LiveLog } from "./log";

/** The lines that are drawn at once, and the lines that are drawn before a call further down and after it. */
const DRAWN = 300;
const AROUND = 2;

/** The lines with calls that are drawn at once. */
const MAX_CALLED = 200;

/** The characters of a line, and the last calls of one, that are drawn. */
const MAX_LINE = 400;
const LAST = 4;

/** Returns the script of a call: the one that it reported, or one among its arguments. */
export function scriptOf(call: Call): string | null {
  if (call.script) {
    return call.script;
  }
  if (!call.arguments?.includes('"script"')) {
    return null;
  }
  try {
    const { script } = JSON.parse(call.arguments);
    return typeof script === "string" && script !== "" ? script : null;
  } catch {
    return null;
  }
}

/** Returns `true` if a call has no other arguments than its script. */
export function isScriptAlone(call: Call): boolean {
  return !call.script && scriptOf(call) !== null && Object.keys(JSON.parse(call.arguments ?? "{}")).length === 1;
}

/** Returns the calls that a call made, in the order of their beginning. A client may use the id of a call again. */
export function made(call: Call, log: LiveLog): Call[] {
  const isBeside = (own: Call) => own.conversation === call.conversation && own.principal === call.principal;
  const again = log.calls.find((own) => own.id === call.id && own.number > call.number && own.run === call.run && isBeside(own));
  const until = again?.number ?? Infinity;
  return log.calls.filter(
    (own) => own.parent === call.id && own.number > call.number && own.number < until && (!call.run || own.run === call.run) && isBeside(own),
  );
}

/** The script of a call with the calls that it made; nothing if it is no call of a script. */
export function Script(props: { call: Call; log: LiveLog; choose?(call: Call): void }) {
  const { call, log } = props;
  const calls = useMemo(() => made(call, log).filter((own) => own.line !== null), [call, log, log.version]);
  const script = useMemo(() => scriptOf(call), [call, call.arguments, call.script]);
  const lines = useMemo(() => (script === null ? [] : script.split(/\r\n|\n|\r/)), [script]);
  const [drawn, draw] = useState(DRAWN);
  if (script === null && calls.length === 0) {
    return null;
  }
  const called = new Map<number, Call[]>();
  for (const own of calls) {
    const others = called.get(own.line!);
    others ? others.push(own) : called.set(own.line!, [own]);
  }
  return (
    <section class="script" aria-label="Script">
      <h3>
        Script <span class="quiet">{summary(lines.length, calls)}</span>
      </h3>
      <div class="lines" tabIndex={0} role="group" aria-label="Lines of the script">
        <ol>
          {rows(lines, called, drawn).map((row) =>
            typeof row === "number" ? (
              <ScriptLine key={row} at={row} text={lines[row - 1] ?? ""} calls={called.get(row) ?? []} choose={props.choose} />
            ) : (
              <li key={`${row.from}-`} class="quiet">
                <span class="num" aria-hidden="true">
                  …
                </span>
                <span>{number(row.count)} more lines</span>
              </li>
            ),
          )}
        </ol>
      </div>
      {lines.length > drawn && (
        <button type="button" onClick={() => draw(drawn * 4)}>
          Show more lines
        </button>
      )}
    </section>
  );
}

/** Returns the numbers of the lines to draw, and the gaps between them. */
function rows(lines: string[], called: Map<number, Call[]>, drawn: number): (number | { from: number; count: number })[] {
  const shown = new Set<number>();
  for (let at = 1; at <= Math.min(lines.length, drawn); at++) {
    shown.add(at);
  }
  for (const at of [...called.keys()].sort((a, b) => a - b).slice(0, MAX_CALLED)) {
    shown.add(at);
    for (let near = Math.max(1, at - AROUND); near <= Math.min(lines.length, at + AROUND); near++) {
      shown.add(near);
    }
  }
  const all: (number | { from: number; count: number })[] = [];
  let last = 0;
  const gap = (next: number) => lines.length > 0 && next - last > 1 && all.push({ from: last + 1, count: next - last - 1 });
  for (const at of [...shown].sort((a, b) => a - b)) {
    gap(at);
    all.push(at);
    last = at;
  }
  gap(lines.length + 1);
  return all;
}

function summary(lines: number, calls: Call[]): string {
  const parts = lines > 0 ? [`${number(lines)} ${lines > 1 ? "lines" : "line"}`] : [];
  parts.push(`${number(calls.length)} ${calls.length === 1 ? "call" : "calls"}`);
  return parts.join(", ");
}

function ScriptLine(props: { at: number; text: string; calls: Call[]; choose?: ((call: Call) => void) | undefined }) {
  const { at, text, calls, choose } = props;
  const isOpen = calls.some((call) => call.took === null);
  return (
    <li class={isOpen ? "open" : ""}>
      <span class="num" aria-hidden="true">
        {at}
      </span>
      <Source text={text} />
      {calls.length > 0 && (
        <ul aria-label={`Calls at line ${at}`}>
          {calls.length > LAST && (
            <li>
              {number(calls.length)} calls: {counted(calls)}; the last {LAST}:
            </li>
          )}
          {calls.slice(-LAST).map((call) => (
            <li key={call.number}>
              {choose ? (
                <button type="button" onClick={() => choose(call)}>
                  <CallState call={call} />
                </button>
              ) : (
                <a href={href("live", `call:${call.id}`)}>
                  <CallState call={call} />
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function CallState({ call }: { call: Call }) {
  return (
    <>
      <span class={`state ${call.state}`}>{call.state}</span> <Line text={call.tool} max={60} />{" "}
      {call.code && (
        <code>
          <Line text={call.code} max={60} />
        </code>
      )}{" "}
      <span class="quiet">{duration(call)}</span>
    </>
  );
}

/** Returns the number of calls in each state. */
function counted(calls: Call[]): string {
  const counts = new Map<string, number>();
  for (const call of calls) {
    counts.set(call.state, (counts.get(call.state) ?? 0) + 1);
  }
  return [...counts].map(([state, count]) => `${number(count)} ${state}`).join(", ");
}

/** The text of a line, as it is indented. */
function Source({ text }: { text: string }) {
  return (
    <code>
      <bdi>{visible(text.slice(0, MAX_LINE))}</bdi>
      {text.length > MAX_LINE && <span class="quiet"> … {number(text.length - MAX_LINE)} more characters</span>}
    </code>
  );
}

/** The line at which a call stands that waits for a decision, and the lines around it. */
export function CallingLine({ part }: { part: ScriptPart }) {
  return (
    <section class="script" aria-label="Script">
      <p>Line {number(part.line)} of the script that makes the call:</p>
      <div class="lines" tabIndex={0} role="group" aria-label="Lines of the script">
        <ol>
          {part.lines.map((text, at) => {
            const isOwn = part.first + at === part.line;
            return (
              <li key={at} class={isOwn ? "open" : ""} aria-current={isOwn ? "true" : undefined}>
                <span class="num">{part.first + at}</span>
                <Source text={text} />
              </li>
            );
          })}
        </ol>
      </div>
    </section>
  );
}
