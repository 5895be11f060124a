// Markdown of others, drawn as nodes: no HTML of its own, no picture, and no link but to the web with its address in sight.
// Each search goes through the text at most once, so no text takes longer than its length.
import type { ComponentChildren } from "preact";
import { Outside, visible } from "./text";

/** The levels of quotes, lists and emphasis that are drawn; what is deeper is text. */
const DEPTH = 12;

/** The longest label and address of a link. */
const LABEL = 1000;
const ADDRESS = 2000;

/** The characters that are drawn. */
export const DRAWN = 50_000;

export function Markdown({ text, label = "Markdown of the result" }: { text: string; label?: string }) {
  return (
    <div class="markdown" role="group" aria-label={label} tabIndex={0}>
      {blocks(text.slice(0, DRAWN).replace(/\r\n?/g, "\n").split("\n"), 0)}
    </div>
  );
}

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const RULE = /^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])[ \t]+/;

/** Returns `true` for a line that begins a block of its own. */
function begins(line: string): boolean {
  return line.trim() === "" || [FENCE, HEADING, RULE, QUOTE, ITEM].some((shape) => shape.test(line));
}

function blocks(lines: string[], depth: number): ComponentChildren[] {
  const drawn: ComponentChildren[] = [];
  let at = 0;
  /** Takes the lines for which something holds. */
  const take = (holds: (line: string) => boolean) => {
    const from = at;
    while (at < lines.length && holds(lines[at]!)) {
      at += 1;
    }
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    const item = ITEM.exec(line);
    if (line.trim() === "") {
      at += 1;
    } else if (fence) {
      at += 1;
      const mark = fence[1]!;
      const code = take((own) => !(own.trim().startsWith(mark) && own.trim().split(mark[0]!).join("") === ""));
      at += 1;
      drawn.push(
        <pre class="wrap">
          <code>{visible(code.join("\n"))}</code>
        </pre>,
      );
    } else if (heading) {
      at += 1;
      const Level = `h${Math.min(6, heading[1]!.length + 3)}` as "h4";
      drawn.push(<Level>{inline(heading[2] ?? "", 0)}</Level>);
    } else if (RULE.test(line)) {
      at += 1;
      drawn.push(<hr />);
    } else if (QUOTE.test(line) && depth < DEPTH) {
      const inner = take((own) => QUOTE.test(own)).map((own) => own.replace(QUOTE, ""));
      drawn.push(<blockquote>{blocks(inner, depth + 1)}</blockquote>);
    } else if (item && depth < DEPTH) {
      drawn.push(list(item));
    } else if (line.includes("|") && cells(lines[at + 1] ?? "").every((cell) => /^:?-+:?$/.test(cell))) {
      const head = cells(line);
      at += 2;
      const rows = take((own) => own.includes("|") && own.trim() !== "").map(cells);
      drawn.push(table(head, rows));
    } else {
      at += 1;
      const more = take((own) => !begins(own));
      drawn.push(<p>{inline([line, ...more].join("\n"), 0)}</p>);
    }
  }
  return drawn;

  function list(first: RegExpExecArray): ComponentChildren {
    const isNumbered = /\d/.test(first[2]!);
    const items: ComponentChildren[] = [];
    while (at < lines.length) {
      const mark = ITEM.exec(lines[at]!);
      if (!mark || /\d/.test(mark[2]!) !== isNumbered || RULE.test(lines[at]!)) {
        break;
      }
      const width = mark[0].length;
      const own = [lines[at]!.slice(width)];
      at += 1;
      // What is indented belongs to it, and so do lines that begin nothing.
      own.push(
        ...take((line) => /^(?: {2,}|\t)/.test(line) || !begins(line)).map((line) => {
          const indent = /^[ \t]*/.exec(line)![0].length;
          return line.slice(Math.min(indent, width));
        }),
      );
      if (lines[at]?.trim() === "" && ITEM.test(lines[at + 1] ?? "")) {
        at += 1;
      }
      const inner = own.length === 1 || own.slice(1).every((line) => !begins(line)) ? inline(own.join("\n"), 0) : blocks(own, depth + 1);
      items.push(<li>{inner}</li>);
    }
    return isNumbered ? <ol start={Number.parseInt(first[2]!, 10)}>{items}</ol> : <ul>{items}</ul>;
  }
}

function cells(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .slice(0, 40)
    .map((cell) => cell.trim());
}

function table(head: string[], rows: string[][]): ComponentChildren {
  return (
    <table>
      <thead>
        <tr>
          {head.map((cell) => (
            <th scope="col">{inline(cell, 0)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {head.map((_, at) => (
              <td>{inline(row[at] ?? "", 0)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const MARKS: [string, "strong" | "em" | "s"][] = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "s"],
  ["*", "em"],
  ["_", "em"],
];

/** Returns the nodes of a text within a block. */
function inline(text: string, depth: number): ComponentChildren[] {
  const drawn: ComponentChildren[] = [];
  /** The marks that have no end behind some place, and so none behind any later one. */
  const endless = new Set<string>();
  let from = 0;
  let at = 0;
  const push = (node: ComponentChildren, to: number) => {
    if (at > from) {
      drawn.push(visible(text.slice(from, at)));
    }
    drawn.push(node);
    at = from = to;
  };
  while (at < text.length) {
    const sign = text[at]!;
    if (sign === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      push(visible(text[at + 1]!), at + 2);
    } else if (sign === "`") {
      let to = at;
      while (text[to] === "`") {
        to += 1;
      }
      const mark = text.slice(at, to);
      const end = endless.has(mark) ? -1 : closing(text, mark, to);
      if (end < 0) {
        endless.add(mark);
        at = to;
      } else {
        push(<code>{visible(text.slice(to, end).replace(/^ (.+) $/s, "$1"))}</code>, end + mark.length);
      }
    } else if (sign === "[" || (sign === "!" && text[at + 1] === "[")) {
      const link = linkAt(text, sign === "!" ? at + 1 : at);
      if (link) {
        push(<Outside href={link.address} name={sign === "!" ? `picture: ${link.label}` : link.label} />, link.end);
      } else {
        at += 1;
      }
    } else if (sign === "<") {
      const found = /^<(https?:\/\/[^\s<>]{1,2000})>/i.exec(text.slice(at, at + ADDRESS));
      if (found) {
        push(<Outside href={found[1]!} />, at + found[0].length);
      } else {
        at += 1;
      }
    } else if (sign === "*" || sign === "_" || sign === "~") {
      const found = depth < DEPTH ? emphasis(text, at, endless) : null;
      if (found) {
        const Tag = found.tag;
        push(<Tag>{inline(text.slice(found.from, found.to), depth + 1)}</Tag>, found.end);
      } else {
        while (text[at] === sign) {
          at += 1;
        }
      }
    } else {
      at += 1;
    }
  }
  if (at > from) {
    drawn.push(visible(text.slice(from, at)));
  }
  return drawn;
}

/** Returns the place of a run of backticks of the same length. */
function closing(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at)) {
    let to = at;
    while (text[to] === "`") {
      to += 1;
    }
    if (to - at === mark.length) {
      return at;
    }
    at = to;
  }
  return -1;
}

function emphasis(text: string, at: number, endless: Set<string>) {
  const isWord = (sign: string | undefined) => sign !== undefined && /[\p{L}\p{N}]/u.test(sign);
  for (const [mark, tag] of MARKS) {
    const from = at + mark.length;
    if (!text.startsWith(mark, at) || endless.has(mark) || /^\s?$/.test(text[from] ?? "") || text[from] === mark[0]) {
      continue;
    }
    if (mark[0] === "_" && isWord(text[at - 1])) {
      continue;
    }
    for (let end = text.indexOf(mark, from + 1); end >= 0; end = text.indexOf(mark, end + mark.length)) {
      const isEnd = !/\s/.test(text[end - 1]!) && text[end + mark.length] !== mark[0] && text[end - 1] !== mark[0];
      if (isEnd && !(mark[0] === "_" && isWord(text[end + mark.length]))) {
        return { tag, from, to: end, end: end + mark.length };
      }
    }
    endless.add(mark);
  }
  return null;
}

/** Returns the link whose label begins at a place. */
function linkAt(text: string, at: number): { label: string; address: string; end: number } | null {
  const close = text.slice(at, at + LABEL).indexOf("](");
  if (close < 0) {
    return null;
  }
  const label = text.slice(at + 1, at + close);
  const from = at + close + 2;
  const end = text.slice(from, from + ADDRESS).indexOf(")");
  if (end < 0) {
    return null;
  }
  const address = text.slice(from, from + end).trim().replace(/\s+["'(].*$/s, "").replace(/^<|>$/g, "");
  return { label, address, end: from + end + 1 };
}
