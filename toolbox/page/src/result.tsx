// The result of a call: as text, tree, table, picture, link and raw.
import { useMemo, useState } from "preact/hooks";
import { Chips } from "./choice";
import { Large } from "./large";
import type { LargeResult } from "./large";
import { DRAWN, Markdown } from "./markdown";
import { RawNumber, isNumber, parse, write } from "./form/json";
import type { Json } from "./form/json";
import { Block, Copy, Line, Outside, bytes, milliseconds, number, visible } from "./text";

export interface CallResult {
  content: any[];
  structured?: string;
  is_error: boolean;
  is_pending: boolean;
  code: string | null;
  for_user: string | null;
  repairs: string[];
  edited: string | null;
  handle: string | null;
  omitted_bytes: number;
  bytes: number;
  tokens: number;
  took_ms: number;
  faults: { path: string; message: string }[];
  /** The `_meta` of a server's result. */
  meta?: Record<string, unknown>;
  /** In a conversation, the tool whose app shows the result, and its server. */
  app?: { tool: string; server: string | null } | null;
  /** Of a large result, whose texts are cut here. */
  large?: LargeResult;
}

/** The kinds of pictures that are shown: those that hold no script. */
const RASTER = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const SOUND = /^audio\/[a-z0-9.+-]+$/;

/** The members of one level of a tree that are drawn at once. */
const MEMBERS = 200;

/** The rows of a table that are drawn at once. */
const ROWS = 200;

export function textOf(result: CallResult): string {
  return result.content
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n");
}

function parsed(text: string | undefined): Json | undefined {
  if (text === undefined || !/^\s*[[{]/.test(text)) {
    return undefined;
  }
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function rowsOf(value: unknown): Record<string, unknown>[] | null {
  const list = Array.isArray(value)
    ? value
    : value && typeof value === "object" && !(value instanceof RawNumber)
      ? Object.values(value).find((own) => Array.isArray(own) && own.length > 0)
      : null;
  const isRow = (row: unknown) =>
    row !== null && typeof row === "object" && !Array.isArray(row) && !(row instanceof RawNumber);
  return Array.isArray(list) && list.length > 0 && list.every(isRow) ? (list as Record<string, unknown>[]) : null;
}

export function Result({ result }: { result: CallResult }) {
  const text = useMemo(() => textOf(result), [result]);
  const value = useMemo(() => parsed(result.structured ?? text), [result, text]);
  const rows = useMemo(() => rowsOf(value), [value]);
  const media = result.content.filter((part) => part.type !== "text");
  const isProse = text !== "" && value === undefined;
  const views = [...(result.large ? ["Whole"] : []), "Text", ...(isProse ? ["Markdown"] : []), ...(value !== undefined ? ["Tree"] : []), ...(rows ? ["Table"] : []), ...(media.length ? ["Parts"] : []), "Raw"];
  const [chosen, choose] = useState("");
  const view = views.includes(chosen) ? chosen : media.length && !text ? "Parts" : views[0]!;
  const raw = () => JSON.stringify(result, null, 2);
  return (
    <section class="result" aria-label="Result">
      <h3>
        {result.is_error ? <span class="bad">Failed</span> : result.is_pending ? "Goes on in the background" : <span class="good">Done</span>}
        {result.code && (
          <>
            {" "}
            <code>{visible(result.code)}</code>
          </>
        )}
      </h3>
      <p class="quiet">
        {milliseconds(result.took_ms)}, {bytes(result.bytes)}, about {number(result.tokens)} tokens
        {result.omitted_bytes > 0 && `, ${bytes(result.omitted_bytes)} left out`}
        {result.handle && `, kept as ${result.handle}`}
      </p>
      {result.repairs.map((repair) => (
        <p key={repair} class="warn">
          Repaired: <Line text={repair} />
        </p>
      ))}
      {result.edited && (
        <p class="warn">
          Ran with other arguments: <code><Line text={result.edited} /></code>
        </p>
      )}
      {result.for_user && (
        <p>
          For the user: <Line text={result.for_user} max={2000} />
        </p>
      )}
      <Chips label="View" values={views} value={view} onChange={choose}>
        <Copy text={() => (view === "Raw" ? raw() : text)}>Copy</Copy>
      </Chips>
      {view === "Whole" && result.large && <Large large={result.large} />}
      {view === "Markdown" && (
        <div class="pair">
          <div>
            <Markdown text={text} />
            {text.length > DRAWN && <p class="quiet">{number(text.length - DRAWN)} more characters are not drawn.</p>}
          </div>
          <Block text={text} label="Text of the result" />
        </div>
      )}
      {view === "Text" && (text ? <Block text={text} label="Text of the result" /> : <p class="quiet">No text.</p>)}
      {view === "Tree" && (
        <div class="sideways" tabIndex={0} role="group" aria-label="Tree of the result">
          <ul class="tree">
            <Node name="result" value={value} open />
          </ul>
        </div>
      )}
      {view === "Table" && rows && <Table rows={rows} />}
      {view === "Parts" && media.map((part, at) => <Part key={at} part={part} />)}
      {view === "Raw" && <Block text={raw()} label="Raw result" />}
    </section>
  );
}

function scalar(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(visible(value.slice(0, 2000))) : String(value);
}

export function Node(props: { name: string; value: unknown; open?: boolean }) {
  const [open, setOpen] = useState(props.open ?? false);
  const [shown, show] = useState(MEMBERS);
  const { value } = props;
  if (value === null || typeof value !== "object" || value instanceof RawNumber) {
    return (
      <li>
        <Line text={props.name} class="key" />: <span class={typeof value}>{scalar(value)}</span>
      </li>
    );
  }
  const members = Object.entries(value);
  const what = Array.isArray(value) ? `list of ${number(members.length)}` : `${number(members.length)} member${members.length === 1 ? "" : "s"}`;
  return (
    <li>
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Line text={props.name} class="key" /> <span class="quiet">{what}</span>
        </summary>
        {open && (
          <ul>
            {members.slice(0, shown).map(([name, own]) => (
              <Node key={name} name={name} value={own} />
            ))}
            {members.length > shown && (
              <li>
                <button type="button" onClick={() => show(shown + 5 * MEMBERS)}>
                  {number(members.length - shown)} more
                </button>
              </li>
            )}
          </ul>
        )}
      </details>
    </li>
  );
}

function Table({ rows }: { rows: Record<string, unknown>[] }) {
  const [shown, show] = useState(ROWS);
  const columns = [...new Set(rows.slice(0, ROWS).flatMap((row) => Object.keys(row)))].slice(0, 40);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Table of the result">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                <Line text={column} max={60} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown).map((row, at) => (
            <tr key={at}>
              {columns.map((column) => (
                <td key={column} class={isNumber(row[column] as Json) ? "num" : ""}>
                  {column in row ? (
                    <Line text={typeof row[column] === "string" ? row[column] : write(row[column] as Json)} />
                  ) : (
                    ""
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown && (
        <button type="button" onClick={() => show(shown + 5 * ROWS)}>
          {number(rows.length - shown)} more rows
        </button>
      )}
    </div>
  );
}

/** A part that is no text: a picture, a sound, a document, a link. */
export function Part({ part }: { part: any }) {
  const type = String(part.mimeType ?? "");
  if (part.type === "image") {
    return RASTER.test(type) ? (
      <figure>
        <img src={`data:${type};base64,${part.data}`} alt={`Picture of the result, ${type}`} />
        <figcaption class="quiet">
          {type}, {bytes(Math.floor((part.data.length * 3) / 4))}
        </figcaption>
      </figure>
    ) : (
      <p>
        A picture of the kind <code>{visible(type)}</code> is not drawn: such a file may hold a program.
      </p>
    );
  }
  if (part.type === "audio" && SOUND.test(type)) {
    return <audio controls src={`data:${type};base64,${part.data}`} />;
  }
  if (part.type === "resource_link") {
    return (
      <p>
        <Outside href={String(part.uri)} name={part.title ?? part.name} />
        {part.description && (
          <>
            {" "}
            <Line text={part.description} class="quiet" />
          </>
        )}
      </p>
    );
  }
  if (part.type === "resource") {
    return (
      <>
        <p>
          <code>
            <Line text={part.resource?.uri} />
          </code>{" "}
          <Line text={part.resource?.mimeType} class="quiet" />
        </p>
        {part.resource?.text !== undefined ? (
          <Block text={part.resource.text} label="Document" />
        ) : (
          <p class="quiet">{bytes(Math.floor(((part.resource?.blob?.length ?? 0) * 3) / 4))} of bytes</p>
        )}
      </>
    );
  }
  return <Block text={JSON.stringify(part, null, 2)} label="Part" />;
}
