// Texts of third parties as they are shown, and the paths of values as the gate words them.

import { escapeInvisible, isInvisible, type Json, write } from "./json";

/** The most characters of a name that are shown. */
export const LONGEST_NAME = 80;
/** The most characters of a key within a path. */
const LONGEST_KEY = 64;

/** Escapes a character as Rust does, since the gate's paths are made there. */
function rustEscape(character: string): string {
  switch (character) {
    case "\n":
      return "\\n";
    case "\t":
      return "\\t";
    case "\r":
      return "\\r";
    default:
      return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  }
}

/** Quotes a text on one line, in at most `limit` characters; what cannot be seen is escaped. */
export function quote(text: string, limit: number): string {
  let quoted = "";
  let kept = "";
  let width = 0;
  for (const character of text) {
    const hidden = character === "\n" || character === "\t" || isInvisible(character);
    const shown = hidden ? rustEscape(character) : character;
    quoted += shown;
    width += hidden ? shown.length : 1;
    if (width > limit) return `${kept}…`;
    if (width < limit) kept = quoted;
  }
  return quoted;
}

/** Removes invisible characters from a text of several lines. */
export function clean(text: string): string {
  return escapeInvisible(text.replace(/\r\n?/g, "\n"), () => "");
}

/** Returns the path of a member, in the words of `text/path.rs`. */
export function memberPath(path: string, key: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key)) return path === "" ? key : `${path}.${key}`;
  // The beginning is enough: more is cut, and a key may be long.
  const start = [...key.slice(0, 2 * (LONGEST_KEY + 1))].slice(0, LONGEST_KEY + 1).join("");
  return `${path}["${quote(start, LONGEST_KEY).replaceAll('"', '\\"')}"]`;
}

/** Returns the path of an item. */
export function itemPath(path: string, index: number): string {
  return `${path}[${index}]`;
}

/** Returns `true` if `path` is `above` or lies below it. */
export function isUnder(path: string, above: string): boolean {
  if (above === "") return true;
  const next = path[above.length];
  return path.startsWith(above) && (next === undefined || next === "." || next === "[");
}

/** Returns a value as one short line. */
export function brief(value: Json, limit = 60): string {
  return quote(typeof value === "string" && value !== "" ? value : write(value), limit);
}
