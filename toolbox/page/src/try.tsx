// A tool tried by hand: the form beside the JSON, the result, and the calls before.
import { useMemo, useState } from "preact/hooks";
import { App } from "./apps/app";
import { useCheck } from "./check";
import { asCommand, asCurl, asTest } from "./copies";
import { initial } from "./form/index";
import type { Json } from "./form/index";
import { parse, write } from "./form/json";
import { Editor, useJsonText } from "./json-text";
import { Result, textOf } from "./result";
import type { CallResult } from "./result";
import { CallBar, ScriptOfCall, Waits, useRunner } from "./running";
import { ServerLines } from "./server-lines";
import type { ServerLine } from "./server-lines";
import { program } from "./state";
import { useStore } from "./store";
import type { Detail } from "./tools";
import { Copy, Line, milliseconds, visible } from "./text";

interface Past {
  id: string;
  tool: string;
  arguments: string;
  at: number;
  result: CallResult | null;
  lines: ServerLine[];
  fault: string;
}

/** The calls of this page since it was opened, the newest first. */
const past: Past[] = [];
const MOST = 100;

/** The arguments that were typed, by tool, kept while other tools are open. */
const drafts = new Map<string, string>();

export function Try({ detail }: { detail: Detail }) {
  const schema = useMemo(() => parse(detail.schema), [detail.schema]);
  const state = useStore(program);
  const blank = useMemo(() => first(detail, schema), [detail, schema]);
  const json = useJsonText(() => drafts.get(detail.name) ?? blank);
  const { text, syntax, setText } = json;
  // The gate words each fault as a model would read it.
  const [check, setCheck] = useCheck({ tool: detail.name }, text, detail.schema);
  const runner = useRunner("try");
  const { running } = runner;
  const [shown, setShown] = useState<Past | null>(past.find((own) => own.tool === detail.name) ?? null);

  const scripted = running ?? shown?.id;

  drafts.set(detail.name, text);

  const call = () =>
    runner.run({ kind: "tool", tool: detail.name, arguments: text }, ({ id, line, lines, fault }) => {
      const own: Past = { id, tool: detail.name, arguments: text, at: Date.now(), result: line?.result ?? null, lines, fault };
      past.unshift(own);
      past.length = Math.min(past.length, MOST);
      if (runner.alive()) {
        setShown(own);
        if (own.result?.faults.length) {
          setCheck({ refusal: textOf(own.result), faults: own.result.faults });
        }
      }
    });

  // Nobody has erred in a form that nobody has touched.
  const isBegun = text !== blank || shown?.arguments === text;
  const faults = isBegun ? (check.faults ?? []) : [];
  const own = past.filter((past) => past.tool === detail.name);
  const lastText = shown?.result && !shown.result.is_error ? textOf(shown.result) : null;
  return (
    <div class="try">
      {detail.description && (
        <p class="quiet">
          <Line text={detail.description} max={400} />
        </p>
      )}
      <form
        id="try"
        aria-label="Arguments"
        noValidate
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          // A field that holds no JSON, no number or half a date is shown first: its value is an older one.
          if (!running && event.currentTarget.reportValidity()) {
            void call();
          }
        }}
      >
        <Editor id="json" json={json} schema={schema} faults={faults} disabled={running !== null} describedBy="judged">
          <button type="button" disabled={running !== null} onClick={() => setText(blank)}>
            Start over
          </button>
          {detail.examples.map((example, at) => (
            <button key={at} type="button" disabled={running !== null} onClick={() => setText(write(parse(example), { indent: 2 }))}>
              Example {at + 1}
            </button>
          ))}
        </Editor>
      </form>
      <div id="judged" aria-live="polite">
        {!syntax && check.refusal && !check.faults?.length && <p class="bad">{visible(check.refusal)}</p>}
        {faults.length > 0 && (
          <ul class="bad faults">
            {faults.map((fault, at) => (
              <li key={at}>
                <Line text={fault.message} max={600} />
              </li>
            ))}
          </ul>
        )}
        {!syntax && check.repairs?.length === 0 && <p class="good">The gate takes these arguments.</p>}
        {check.repairs?.map((repair) => (
          <p key={repair} class="warn">
            The gate would repair: <Line text={repair} />
          </p>
        ))}
      </div>
      <CallBar runner={runner} label="Call" approval={detail.approval} />
      <Waits key={runner.running} runner={runner} />
      {scripted && <ScriptOfCall key={scripted} id={scripted} tool={detail.name} />}
      <p class="acts">
        <Copy text={() => asCommand(detail.name, text)}>As command</Copy>
        <Copy text={() => asCurl(detail.name, text, state?.mcp_url ?? null)}>As curl</Copy>
        <Copy text={() => asTest(detail.name, text, lastText)}>As Rust test</Copy>
      </p>
      <div aria-live="polite">
        {!running && shown?.fault && (
          <p class="bad" role="alert">
            {visible(shown.fault)}
          </p>
        )}
      </div>
      {!running && shown?.result && <Result key={shown.at} result={shown.result} />}
      {!running && shown?.result && detail.app && <App key={shown.at} tool={detail.name} server={detail.server} call={shown.id} given={shown.arguments} result={shown.result} isNew />}
      <ServerLines lines={running ? runner.lines : (shown?.lines ?? [])} />
      {own.length > 0 && (
        <section>
          <h3>Calls before</h3>
          <ul class="history">
            {own.map((past) => (
              <li key={past.at}>
                <button type="button" aria-pressed={past === shown} onClick={() => setShown(past)}>
                  {new Date(past.at).toLocaleTimeString("en-GB")}{" "}
                  <span class={past.result && !past.result.is_error ? "good" : "bad"}>
                    {past.result ? (past.result.is_error ? (past.result.code ?? "failed") : "done") : "lost"}
                  </span>{" "}
                  {past.result && <span class="quiet">{milliseconds(past.result.took_ms)}</span>}{" "}
                  <code>
                    <Line text={past.arguments} max={80} />
                  </code>
                </button>{" "}
                <button type="button" onClick={() => setText(past.arguments)}>
                  Take these arguments
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function first(detail: Detail, schema: Json): string {
  const example = detail.examples[0];
  if (example !== undefined) {
    try {
      return write(parse(example), { indent: 2 });
    } catch {
      // An example that is no JSON is none.
    }
  }
  return write(initial(schema) ?? {}, { indent: 2 });
}
