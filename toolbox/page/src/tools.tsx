// The tools of the box: listed, searched as models search them, and described.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chips } from "./choice";
import { Refusal, post } from "./api";
import { List } from "./list";
import { go, href, route, tools } from "./state";
import type { ToolSummary } from "./state";
import { useStore } from "./store";
import { Block, Copy, Line, number, pretty, visible } from "./text";
import { Try } from "./try";

export interface Dialect {
  dialect: string;
  name: string;
  json: unknown;
  strict: boolean;
  strict_obstacle: string | null;
  losses: string[];
  tokens: number;
}

export interface Detail extends ToolSummary {
  name_at_server: string | null;
  /** The URI of the app that shows its results. */
  app: string | null;
  origin: string;
  schema: string;
  output_schema: string | null;
  annotations: Record<string, boolean>;
  examples: string[];
  lint_texts: string[];
  untrusted: boolean;
  blocking: boolean;
  background: boolean;
  durable: boolean;
  dialects: Dialect[];
}

interface MatchedWord {
  asked: string | null;
  found: string;
  fields: string[];
  share: number;
}

interface Hit {
  name: string;
  server: string | null;
  score: number;
  rank: number;
  named: boolean;
  words: MatchedWord[];
}

const OWN = "this program";

/** What is searched and filtered, kept while other tabs are open. */
const kept = { text: "", pattern: false, server: "", tag: "" };

/** The tab *Tools* and the tab *Try*: a list, and one tool beside it. */
export function Tools(props: { mode: "tools" | "try" }) {
  const all = useStore(tools);
  const [, name = ""] = useStore(route);
  const [query, setQuery] = useState({ ...kept });
  const [hits, setHits] = useState<Hit[] | null>(null);
  const [fault, setFault] = useState("");
  const search = useRef<HTMLInputElement>(null);
  Object.assign(kept, query);

  useEffect(() => {
    if (!query.text.trim()) {
      setHits(null);
      setFault("");
      return;
    }
    let current = true;
    const timer = setTimeout(async () => {
      try {
        const found = await post<{ hits: Hit[] }>("/api/search", { text: query.text, pattern: query.pattern, limit: 50 });
        if (current) {
          setHits(found.hits);
          setFault("");
        }
      } catch (error) {
        if (current) {
          setHits([]);
          setFault(error instanceof Refusal ? error.message : String(error));
        }
      }
    }, 120);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query.text, query.pattern, all]);

  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const types = target.closest("input, textarea, select, [contenteditable]");
      if (event.key === "/" && !types && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        search.current?.focus();
      }
    };
    window.addEventListener("keydown", keys);
    return () => window.removeEventListener("keydown", keys);
  }, []);

  const servers = useMemo(() => [...new Set(all.map((tool) => tool.server ?? OWN))].sort(), [all]);
  const tags = useMemo(() => [...new Set(all.flatMap((tool) => tool.tags))].sort(), [all]);
  const byName = useMemo(() => new Map(all.map((tool) => [tool.name, tool])), [all]);
  const shown = useMemo(() => {
    const fits = (tool: ToolSummary) =>
      (!query.server || (tool.server ?? OWN) === query.server) && (!query.tag || tool.tags.includes(query.tag));
    if (!hits) {
      return all.filter(fits).map((tool) => ({ tool, hit: null as Hit | null }));
    }
    return hits.flatMap((hit) => {
      const tool = byName.get(hit.name);
      return tool && fits(tool) ? [{ tool, hit }] : [];
    });
  }, [all, byName, hits, query.server, query.tag]);

  const selected = shown.findIndex((row) => row.tool.name === name);
  const tokens = shown.reduce((sum, row) => sum + row.tool.tokens, 0);
  const hit = shown[selected]?.hit ?? null;
  return (
    <div class={name ? "split open" : "split"}>
      <section class="side" aria-label="List of tools">
        <div class="filters">
          <label class="search">
            <span class="sr">Search tools</span>
            <input
              ref={search}
              type="search"
              placeholder={query.pattern ? "Regular expression  ( / )" : "Search as a model does  ( / )"}
              value={query.text}
              onInput={(event) => setQuery({ ...query, text: event.currentTarget.value })}
              onKeyDown={(event) => {
                if (event.key === "Escape") {
                  setQuery({ ...query, text: "" });
                } else if (event.key === "ArrowDown") {
                  event.preventDefault();
                  document.querySelector<HTMLElement>(".side [role=listbox]")?.focus();
                }
              }}
            />
          </label>
          <label>
            <input
              type="checkbox"
              checked={query.pattern}
              onChange={(event) => setQuery({ ...query, pattern: event.currentTarget.checked })}
            />{" "}
            Pattern
          </label>
          {servers.length > 1 && (
            <label>
              <span class="sr">Server</span>
              <select value={query.server} onChange={(event) => setQuery({ ...query, server: event.currentTarget.value })}>
                <option value="">All servers</option>
                {servers.map((server) => (
                  <option key={server} value={server}>
                    {visible(server)}
                  </option>
                ))}
              </select>
            </label>
          )}
          {tags.length > 0 && (
            <label>
              <span class="sr">Tag</span>
              <select value={query.tag} onChange={(event) => setQuery({ ...query, tag: event.currentTarget.value })}>
                <option value="">All tags</option>
                {tags.slice(0, 500).map((tag) => (
                  <option key={tag} value={tag}>
                    {visible(tag.slice(0, 60))}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
        <p class="quiet count" role="status">
          {fault ? <span class="bad">{visible(fault)}</span> : `${number(shown.length)} of ${number(all.length)} tools, about ${number(tokens)} tokens`}
        </p>
        <List
          items={shown}
          rowHeight={52}
          label="Tools"
          id="tool"
          selected={selected}
          onSelect={(at) => go(props.mode, shown[at]!.tool.name)}
          onOpen={() => document.getElementById("detail")?.focus()}
          nameOf={(row) => row.tool.name}
          render={(row) => <Row {...row} />}
        />
        {!shown.length && <p class="empty">{all.length ? "Nothing was found. Try other words." : "The box has no tools."}</p>}
      </section>
      <section class="main" id="detail" tabIndex={-1} aria-label="Tool">
        {name ? (
          <>
            <a class="back" href={href(props.mode)}>
              ← All tools
            </a>
            <One key={name} name={name} mode={props.mode} hit={hit} />
          </>
        ) : (
          <p class="empty">Choose a tool. Arrow keys move in the list; / goes to the search.</p>
        )}
      </section>
    </div>
  );
}

function Row({ tool, hit }: { tool: ToolSummary; hit: Hit | null }) {
  return (
    <>
      <span class="name">
        <Line text={tool.name} />
        {tool.approval && <span class="mark">asks</span>}
        {tool.destructive && <span class="mark warn">destructive</span>}
        {tool.deprecated !== null && <span class="mark warn">deprecated</span>}
        {!tool.permitted && <span class="mark warn">forbidden</span>}
        {tool.lints > 0 && <span class="mark">{tool.lints} lint{tool.lints > 1 ? "s" : ""}</span>}
      </span>
      <span class="quiet meta">
        {hit ? `score ${hit.score.toFixed(2)}` : `${number(tool.tokens)} tokens`}
      </span>
      <span class="quiet about">
        {tool.server && (
          <b>
            <Line text={tool.server} max={40} />{" "}
          </b>
        )}
        <Line text={tool.description} max={160} />
      </span>
    </>
  );
}

function One(props: { name: string; mode: "tools" | "try"; hit: Hit | null }) {
  const known = useStore(tools);
  const [detail, setDetail] = useState<Detail | null>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    let current = true;
    post<Detail>("/api/tool", { name: props.name }).then(
      (detail) => current && (setDetail(detail), setFault("")),
      (error) => current && setFault(error instanceof Refusal ? error.message : String(error)),
    );
    return () => {
      current = false;
    };
  }, [props.name, known]);
  if (fault) {
    return <p class="bad" role="alert">{visible(fault)}</p>;
  }
  if (!detail) {
    return <p class="quiet">Loading</p>;
  }
  const other = props.mode === "tools" ? "try" : "tools";
  return (
    <article>
      <header class="toolhead">
        <h2>
          <Line text={detail.name} />
        </h2>
        <a class="button" href={href(other, detail.name)}>
          {other === "try" ? "Try it" : "Definition"}
        </a>
      </header>
      {detail.name !== props.name && (
        <p role="note">
          <Line text={props.name} /> is now <Line text={detail.name} />: call it by that name.
        </p>
      )}
      {detail.title && (
        <p>
          <Line text={detail.title} />
        </p>
      )}
      {props.mode === "try" ? <Try detail={detail} /> : <Definition detail={detail} hit={props.hit} />}
    </article>
  );
}

const HINTS: [keyof ToolSummary | string, string][] = [
  ["readOnlyHint", "changes nothing"],
  ["destructiveHint", "may destroy"],
  ["idempotentHint", "twice is like once"],
  ["openWorldHint", "reaches the outside"],
];

function Definition({ detail, hit }: { detail: Detail; hit: Hit | null }) {
  const [dialect, setDialect] = useState(detail.dialects.findIndex((own) => own.dialect === "Anthropic"));
  const lowered = detail.dialects[dialect]!;
  const facts: string[] = [];
  for (const [hint, text] of HINTS) {
    if (hint in detail.annotations) {
      facts.push(detail.annotations[hint] ? text : `not: ${text}`);
    }
  }
  const flags: [boolean, string][] = [
    [detail.approval, "needs approval"],
    [detail.deferred, "found by search only"],
    [detail.untrusted, "written by others, not approved"],
    [detail.blocking, "runs on a thread of its own"],
    [detail.background, "runs in the background"],
    [detail.durable, "outlives the process"],
    [detail.deprecated !== null, `deprecated${detail.deprecated ? `: ${visible(detail.deprecated)}` : ""}`],
    [!detail.permitted, "may not be called"],
  ];
  if (detail.replaces.length > 0) {
    facts.push(`had the name ${detail.replaces.map(visible).join(", ")} before`);
  }
  facts.push(...flags.filter(([holds]) => holds).map(([, text]) => text));
  return (
    <>
      {hit && <Reasons hit={hit} />}
      <section>
        <h3>Description</h3>
        {detail.description ? <Block text={detail.description} label="Description" /> : <p class="bad">There is none.</p>}
        <dl class="facts">
          <dt>From</dt>
          <dd>
            {detail.server ? (
              <>
                server <Line text={detail.server} />
                {detail.name_at_server && (
                  <>
                    , which calls it <code><Line text={detail.name_at_server} /></code>
                  </>
                )}
              </>
            ) : (
              <code><Line text={detail.origin} /></code>
            )}
          </dd>
          {detail.tags.length > 0 && (
            <>
              <dt>Tags</dt>
              <dd>
                <Line text={detail.tags.join(", ")} />
              </dd>
            </>
          )}
          {facts.length > 0 && (
            <>
              <dt>Facts</dt>
              <dd>{facts.join("; ")}</dd>
            </>
          )}
        </dl>
        {detail.lint_texts.length > 0 && (
          <>
            <h3>Lints</h3>
            <ul>
              {detail.lint_texts.map((text) => (
                <li key={text}>
                  <Line text={text} />
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
      <section>
        <h3>As each provider gets it</h3>
        <Chips
          label="Dialect"
          values={detail.dialects.map((own) => own.dialect)}
          value={lowered.dialect}
          onChange={(name) => setDialect(detail.dialects.findIndex((own) => own.dialect === name))}
          show={(name) => (
            <>
              {name} <span class="quiet">{number(detail.dialects.find((own) => own.dialect === name)?.tokens ?? 0)}</span>
            </>
          )}
        />
        <p>
          About {number(lowered.tokens)} tokens in each request.{" "}
          {lowered.strict ? "Strict: the provider guarantees arguments that fit." : ""}
          {lowered.strict_obstacle && (
            <>
              Not strict: <Line text={lowered.strict_obstacle} />
            </>
          )}
        </p>
        {lowered.losses.length ? (
          <>
            <h4>Lost on the way</h4>
            <ul>
              {lowered.losses.map((loss) => (
                <li key={loss}>
                  <Line text={loss} />
                </li>
              ))}
            </ul>
          </>
        ) : (
          <p class="quiet">Nothing is lost on the way.</p>
        )}
        <Block text={JSON.stringify(lowered.json, null, 2)} label={`Definition for ${lowered.dialect}`} />
        <Copy text={() => JSON.stringify(lowered.json, null, 2)}>Copy</Copy>
      </section>
      {detail.output_schema && (
        <section>
          <h3>Schema of the result</h3>
          <Block text={pretty(detail.output_schema)} label="Schema of the result" />
        </section>
      )}
    </>
  );
}

function Reasons({ hit }: { hit: Hit }) {
  return (
    <section class="reasons">
      <h3>
        Hit {hit.rank}, score {hit.score.toFixed(3)}
      </h3>
      {hit.named && <p>The search names this tool.</p>}
      {hit.words.length > 0 && (
        <div class="sideways" tabIndex={0} role="group" aria-label="Words of the search">
          <table>
            <caption class="sr">Words of the search that this tool says</caption>
            <thead>
              <tr>
                <th>asked</th>
                <th>said here</th>
                <th>in</th>
                <th>share</th>
              </tr>
            </thead>
            <tbody>
              {hit.words.map((word, at) => (
                <tr key={at}>
                  <td>{word.asked === null ? <span class="quiet">several words</span> : <Line text={word.asked} />}</td>
                  <td>
                    <Line text={word.found} />
                  </td>
                  <td>{word.fields.join(", ")}</td>
                  <td class="num">{Math.round(word.share * 100)} %</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="quiet">
        {hit.words.length > 0
          ? "Words in a row and the part of the name that was asked for come on top of the words. Models get the same ranking."
          : "A pattern ranks by the field it matches: name, server, title, description, argument, its description."}
      </p>
    </section>
  );
}
