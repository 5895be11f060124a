// Parts of every field: texts of third parties, hints, faults, and the text box for JSON.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { equal, isNumber, type Json, parse, write } from "./json";
import type { Schemas, View } from "./schema";
import { brief, clean, LONGEST_NAME, quote } from "./text";

/** A fault of the value, with the path of its place as the gate words it; "" is the whole. */
export interface Fault {
  path: string;
  message: string;
}

export interface FormContext {
  schemas: Schemas;
  disabled: boolean;
}

/** A value at its place within the form. */
export interface Place {
  form: FormContext;
  view: View;
  value: Json | undefined;
  path: string;
  name: string;
  /** The faults of this place and of all below it. */
  faults: Fault[];
  depth: number;
  /** The value is shown as a password is. */
  secret: boolean;
  change(value: Json): void;
  /** Leaves the value out; absent where there has to be one. */
  leave?: (() => void) | undefined;
}

/** The attributes that bind an input to its label, its description and its faults. */
export interface Binding {
  id: string;
  /** The id of the label, where it is a legend. */
  legend?: string | undefined;
  required?: boolean;
  described: string[];
}

/** The most characters of a description that are shown at first, and at all. */
const BEGINNING = 300;
const LONGEST_TEXT = 20_000;

export function bound(place: Place, binding: Binding) {
  const faulty = place.faults.length > 0;
  const described = faulty ? [...binding.described, `${binding.id}-faults`] : binding.described;
  return {
    id: binding.id,
    disabled: place.form.disabled,
    "aria-labelledby": binding.legend,
    "aria-required": binding.required ? ("true" as const) : undefined,
    "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
    "aria-invalid": faulty ? ("true" as const) : undefined,
  };
}

/**
 * Follows a value that its owner may replace: returns `true` in the first drawing with a value that did not come
 * from `change`, and a `change` that remembers what it said.
 */
export function useReplaced(place: Place): [boolean, (value: Json) => void] {
  const last = useRef<Json | undefined>(place.value);
  const started = useRef(false);
  const replaced = started.current && last.current !== place.value && !alike(last.current, place.value);
  started.current = true;
  last.current = place.value;
  const change = (value: Json) => {
    last.current = value;
    place.change(value);
  };
  return [replaced, change];
}

function alike(left: Json | undefined, right: Json | undefined): boolean {
  return isNumber(left) && isNumber(right) && equal(left, right);
}

/** A name of a third party. */
export function Name({ text }: { text: string }) {
  return <bdi class="form-name">{text === "" ? '""' : quote(text, LONGEST_NAME)}</bdi>;
}

/** A longer text of a third party; its beginning, and more when asked. */
export function Text({ text, id }: { text: string; id: string }) {
  const [whole, setWhole] = useState(false);
  const all = clean(text.slice(0, LONGEST_TEXT)).trim();
  const long = all.length > BEGINNING || text.length > LONGEST_TEXT;
  const cut = text.length > LONGEST_TEXT ? "…" : "";
  return (
    <div class="form-text">
      <p id={id} dir="auto">{long && !whole ? `${all.slice(0, BEGINNING)}…` : all + cut}</p>
      {long && (
        <button type="button" class="form-small" aria-expanded={whole} aria-controls={id} onClick={() => setWhole(!whole)}>
          {whole ? "Less" : "More"}
        </button>
      )}
    </div>
  );
}

export function Faults({ place, id }: { place: { faults: Fault[] }; id: string }) {
  if (place.faults.length === 0) return null;
  return (
    <ul class="form-faults" id={`${id}-faults`}>
      {place.faults.slice(0, 20).map((fault) => <li key={fault.path + fault.message} data-fault={fault.path}>{quote(fault.message, 600)}</li>)}
      {place.faults.length > 20 && <li>{`and ${place.faults.length - 20} more`}</li>}
    </ul>
  );
}

const FORMATS: Record<string, [string, string]> = {
  "date-time": ["a date and time with its offset", "2026-01-31T12:00:00Z"],
  date: ["a date", "2026-01-31"],
  time: ["a time of day with its offset", "12:00:00Z"],
  "partial-date-time": ["a date and time without an offset", "2026-01-31T12:00:00"],
  "date-time-local": ["a date and time without an offset", "2026-01-31T12:00:00"],
  "partial-time": ["a time of day without an offset", "12:00:00"],
  "time-local": ["a time of day without an offset", "12:00:00"],
  duration: ["a duration", "PT1H"],
  email: ["an e-mail address", "ab@example.com"],
  hostname: ["a host name", "example.com"],
  ipv4: ["an IPv4 address", "192.0.2.1"],
  ipv6: ["an IPv6 address", "2001:db8::1"],
  uri: ["an absolute URL", "https://example.com/"],
  url: ["an absolute URL", "https://example.com/"],
  uuid: ["a UUID", "67e55044-10b1-426f-9247-bb680e5fe0c8"],
  byte: ["bytes in base64", "aGVsbG8="],
  base64: ["bytes in base64", "aGVsbG8="],
};

/** Returns a phrase for a format, and an example. */
export function formatOf(view: View): [string, string] | undefined {
  const format = view.notes.get("format") ?? view.notes.get("contentEncoding");
  return typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
}

const counted = (limit: string, noun: string) => `${limit} ${noun}${limit === "1" ? "" : "s"}`;
const LIMITS: [string, (limit: string) => string][] = [
  ["minimum", (limit) => `at least ${limit}`],
  ["exclusiveMinimum", (limit) => `more than ${limit}`],
  ["maximum", (limit) => `at most ${limit}`],
  ["exclusiveMaximum", (limit) => `less than ${limit}`],
  ["multipleOf", (limit) => `a multiple of ${limit}`],
  ["minLength", (limit) => `at least ${counted(limit, "character")}`],
  ["maxLength", (limit) => `at most ${counted(limit, "character")}`],
  ["minItems", (limit) => `at least ${counted(limit, "item")}`],
  ["maxItems", (limit) => `at most ${counted(limit, "item")}`],
  ["minProperties", (limit) => `at least ${counted(limit, "member")}`],
  ["maxProperties", (limit) => `at most ${counted(limit, "member")}`],
];

/** Returns the limits of a place, its default and an example, as phrases. */
export function hints(view: View): string[] {
  const phrases: string[] = [];
  const format = formatOf(view);
  if (format !== undefined) phrases.push(`${format[0]}, such as ${format[1]}`);
  for (const [keyword, phrase] of LIMITS) {
    const limit = view.notes.get(keyword);
    if (isNumber(limit)) phrases.push(phrase(quote(String(limit), 40)));
  }
  const pattern = view.notes.get("pattern");
  if (typeof pattern === "string") phrases.push(`matches ${quote(pattern, 120)}`);
  if (view.notes.get("uniqueItems") === true) phrases.push("no item twice");
  const given = view.notes.get("default");
  if (given !== undefined) phrases.push(`default ${brief(given)}`);
  const examples = view.notes.get("examples");
  if (Array.isArray(examples) && examples.length > 0) {
    phrases.push(`for example ${examples.slice(0, 3).map((example) => brief(example)).join(", ")}`);
  }
  return phrases;
}

/** A text box that takes any JSON. While its text is none, the value stays and the box is invalid to the browser. */
export function JsonBox({ place, binding, note }: { place: Place; binding: Binding; note?: ComponentChildren }) {
  const [replaced, change] = useReplaced(place);
  const shown = () => (place.value === undefined ? "" : write(place.value, { indent: 2, visible: true }));
  const [text, setText] = useState(shown);
  const [problem, setProblem] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  if (replaced) {
    setText(shown());
    setProblem("");
  }
  useLayoutEffect(() => box.current?.setCustomValidity(problem), [problem]);
  const read = (text: string) => {
    setText(text);
    try {
      const value = parse(text);
      setProblem("");
      change(value);
    } catch (error) {
      setProblem(`This is not JSON, so the value before it stays: ${quote((error as Error).message, 200)}`);
    }
  };
  const attributes = bound(place, binding);
  const described = [attributes["aria-describedby"], problem === "" ? undefined : `${binding.id}-problem`];
  return (
    <div class="form-json">
      {note}
      <textarea
        {...attributes}
        ref={box}
        class={place.secret ? "form-code form-secret" : "form-code"}
        rows={1}
        spellcheck={false}
        autocomplete="off"
        dir="ltr"
        placeholder="JSON"
        value={text}
        aria-describedby={described.filter(Boolean).join(" ") || undefined}
        aria-invalid={problem === "" ? attributes["aria-invalid"] : "true"}
        data-part="json"
        onInput={(event) => read(event.currentTarget.value)}
      />
      {problem !== "" && <p class="form-problem" id={`${binding.id}-problem`}>{problem}</p>}
      <Faults place={place} id={binding.id} />
    </div>
  );
}
