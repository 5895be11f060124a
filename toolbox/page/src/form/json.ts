// JSON whose numbers keep every digit.
//
// A double holds integers up to 2^53 and about 17 digits. A number that a double would write in another way is kept
// as its text, in a RawNumber; every other number is a number. `parse` and `write` take the place of `JSON.parse` and
// `JSON.stringify` wherever values of tools pass: `write(parse(text))` has the numbers of `text`, digit for digit.

/** A number as its JSON text. */
export class RawNumber {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

export type Json = null | boolean | number | RawNumber | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The most levels that are read: arguments have at most 64, schemas may have more. */
const DEEPEST = 1000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WHOLE_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\\u0000-\u001f]*(?:\\.[^"\\\u0000-\u001f]*)*"/y;
/** Characters that hide or reorder the text around them, and control characters. */
const INVISIBLE =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}\p{Cs}]/u;
const ALL_INVISIBLE = new RegExp(INVISIBLE, "gu");

export function isInvisible(text: string): boolean {
  return INVISIBLE.test(text);
}

/** Replaces each invisible character by what `escape` returns for it. */
export function escapeInvisible(text: string, escape: (character: string) => string): string {
  return text.replace(ALL_INVISIBLE, escape);
}

/** Returns `true` for a text that is one JSON number. */
export function isNumberText(text: string): boolean {
  return WHOLE_NUMBER.test(text);
}

/** Returns the number of this text: a number if it is written back as the same text, else a RawNumber. */
export function numberOf(text: string): number | RawNumber {
  const number = Number(text);
  return String(number) === text ? number : new RawNumber(text);
}

export function isNumber(value: Json | undefined): value is number | RawNumber {
  return typeof value === "number" || value instanceof RawNumber;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof RawNumber);
}

/** Returns the own member of that name; names such as `constructor` are members only if the document has them. */
export function member(object: Json | undefined, name: string): Json | undefined {
  return isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Makes an object of entries; `__proto__` is a name like others. */
export function objectOf(entries: Iterable<readonly [string, Json]>): JsonObject {
  return Object.fromEntries(entries);
}

/** Reads JSON text. Throws a SyntaxError that names the line and column. Of members with one name the last counts. */
export function parse(text: string): Json {
  let at = 0;

  function fail(expected: string, position = at): never {
    const before = text.slice(0, position).split("\n");
    const found = position < text.length ? JSON.stringify(String.fromCodePoint(text.codePointAt(position) ?? 0)) : "the end";
    const column = (before[before.length - 1] ?? "").length + 1;
    throw new SyntaxError(`line ${before.length}, column ${column}: expected ${expected}, found ${found}`);
  }
  function space(): void {
    SPACE.lastIndex = at;
    SPACE.test(text);
    at = SPACE.lastIndex;
  }
  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }
  function string(): string {
    const start = at;
    const quoted = take(STRING);
    if (quoted === undefined) return fail("a string in double quotes, with \\n for a line break");
    try {
      return JSON.parse(quoted) as string;
    } catch {
      return fail("an escape that JSON has", start);
    }
  }
  function list(depth: number): Json[] {
    const items: Json[] = [];
    at += 1;
    space();
    if (text[at] === "]") {
      at += 1;
      return items;
    }
    for (;;) {
      items.push(value(depth));
      space();
      if (text[at] === ",") at += 1;
      else if (text[at] === "]") break;
      else fail("`,` or `]`");
    }
    at += 1;
    return items;
  }
  function object(depth: number): JsonObject {
    const entries: [string, Json][] = [];
    at += 1;
    space();
    if (text[at] === "}") {
      at += 1;
      return {};
    }
    for (;;) {
      space();
      if (text[at] !== '"') fail("a name in double quotes");
      const name = string();
      space();
      if (text[at] !== ":") fail("`:`");
      at += 1;
      entries.push([name, value(depth)]);
      space();
      if (text[at] === ",") at += 1;
      else if (text[at] === "}") break;
      else fail("`,` or `}`");
    }
    at += 1;
    return objectOf(entries);
  }
  function value(depth: number): Json {
    space();
    if (depth === 0) fail(`at most ${DEEPEST} levels`);
    switch (text[at]) {
      case "{":
        return object(depth - 1);
      case "[":
        return list(depth - 1);
      case '"':
        return string();
    }
    for (const [word, constant] of [["null", null], ["true", true], ["false", false]] as const) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return constant;
      }
    }
    const number = take(NUMBER);
    return number === undefined ? fail("a value") : numberOf(number);
  }

  const whole = value(DEEPEST);
  space();
  if (at < text.length) fail("the end");
  return whole;
}

export interface WriteOptions {
  /** Spaces for each level; without it, everything is on one line. */
  indent?: number;
  /** Writes invisible characters as `\u` escapes. */
  visible?: boolean;
}

/** Writes JSON text. */
export function write(value: Json, options: WriteOptions = {}): string {
  const step = " ".repeat(options.indent ?? 0);
  const quoted = (text: string) =>
    options.visible ? escapeInvisible(JSON.stringify(text), unicodeEscapes) : JSON.stringify(text);
  const parts: string[] = [];

  function group(open: string, close: string, items: (() => void)[], before: string): void {
    if (items.length === 0) {
      parts.push(open, close);
      return;
    }
    const within = before + step;
    const gap = step === "" ? "" : `\n${within}`;
    items.forEach((item, index) => {
      parts.push(index === 0 ? open : ",", gap);
      item();
    });
    parts.push(step === "" ? "" : `\n${before}`, close);
  }
  function one(value: Json, before: string): void {
    const within = before + step;
    if (typeof value === "string") {
      parts.push(quoted(value));
    } else if (Array.isArray(value)) {
      group("[", "]", value.map((item) => () => one(item, within)), before);
    } else if (isObject(value)) {
      const members = Object.entries(value).map(([name, item]) => () => {
        parts.push(quoted(name), step === "" ? ":" : ": ");
        one(item, within);
      });
      group("{", "}", members, before);
    } else {
      parts.push(value instanceof RawNumber ? value.text : JSON.stringify(value));
    }
  }

  one(value, "");
  return parts.join("");
}

function unicodeEscapes(character: string): string {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");
}

/** Returns `true` for values that are written alike, but for the order of members. */
export function equal(left: Json | undefined, right: Json | undefined): boolean {
  if (isNumber(left) && isNumber(right)) return String(left) === String(right);
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => equal(item, right[at]));
  }
  if (isObject(left) && isObject(right)) {
    const names = Object.keys(left);
    return (
      names.length === Object.keys(right).length &&
      names.every((name) => Object.hasOwn(right, name) && equal(left[name], right[name]))
    );
  }
  return left === right;
}

/** Returns `next` with the parts of `last` that are written alike, so that what did not change is the same object. */
export function keep(last: Json | undefined, next: Json): Json {
  if (last === next) return next;
  if (isNumber(last) && isNumber(next)) return String(last) === String(next) ? last : next;
  if (Array.isArray(last) && Array.isArray(next)) {
    const items = next.map((item, at) => keep(last[at], item));
    return items.length === last.length && items.every((item, at) => item === last[at]) ? last : items;
  }
  if (isObject(last) && isObject(next)) {
    const names = Object.keys(last);
    const entries = Object.entries(next).map(([name, item]) => [name, keep(member(last, name), item)] as const);
    const same = entries.length === names.length && entries.every(([name, item], at) => name === names[at] && item === last[name]);
    return same ? last : objectOf(entries);
  }
  return next;
}

/** Counts values in `value`, at most `limit` of them. */
export function size(value: Json | undefined, limit: number): number {
  let count = 0;
  const open: (Json | undefined)[] = [value];
  while (open.length > 0 && count < limit) {
    const next = open.pop();
    count += 1;
    const below = Array.isArray(next) ? next : isObject(next) ? Object.values(next) : [];
    for (const item of below) {
      if (open.length > limit) break;
      open.push(item);
    }
  }
  return count;
}
