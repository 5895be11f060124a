// The inputs of single values.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { equal, isNumber, isNumberText, numberOf } from "./json";
import { type Moment, type MomentKind, momentKind, momentOf, momentText, now, offsetHere, offsets } from "./moment";
import { type Binding, bound, Faults, formatOf, type Place, useReplaced } from "./parts";
import { LONGEST_NAME, quote } from "./text";

/** Characters that a text area would change, or that reorder what is around them. */
const UNFIT =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e0fff}\p{Cs}]/u;
/** The longest text that an input shows. */
const LONGEST = 200_000;

/** Returns `true` for a text that an input would not give back as it is. */
export function needsEscapes(text: string): boolean {
  return text.length > LONGEST || UNFIT.test(text);
}

/** The input of a text: a native one for a date or a time that it can hold exactly. */
export function StringInput({ place, binding }: { place: Place; binding: Binding }) {
  const [replaced, change] = useReplaced(place);
  const within = { ...place, change };
  const kind = place.secret ? undefined : momentKind(place.view);
  const text = typeof place.value === "string" ? place.value : "";
  // Decided for a value that comes from outside: an input must not change under the hand.
  const isText = useRef<boolean | undefined>(undefined);
  if (isText.current === undefined || replaced) {
    isText.current = kind === undefined || momentOf(text, kind) === undefined;
  }
  if (kind !== undefined && !isText.current) return <MomentInput place={within} binding={binding} kind={kind} />;
  const startOver = () => {
    isText.current = false;
    if (place.leave) place.leave();
    else change("");
  };
  return (
    <>
      {kind !== undefined && (
        <p class="form-note">
          The picker cannot hold this as it is, so it is shown as text.{" "}
          <button type="button" class="form-small" disabled={place.form.disabled} data-part="start-over" onClick={startOver}>Start over</button>
        </p>
      )}
      <TextInput place={within} binding={binding} />
    </>
  );
}

/**
 * The input of any text. Addresses have no input of their type: a browser trims them, so that a value would be lost.
 */
function TextInput({ place, binding }: { place: Place; binding: Binding }) {
  const named = place.view.notes.get("format");
  const shared = {
    ...bound(place, binding),
    value: typeof place.value === "string" ? place.value : "",
    autocomplete: "off",
    spellcheck: false,
    placeholder: formatOf(place.view)?.[1],
    "data-part": "input",
    onInput: (event: { currentTarget: { value: string } }) => place.change(event.currentTarget.value),
  };
  const mode = named === "email" ? "email" : named === "uri" || named === "url" ? "url" : undefined;
  return (
    <>
      {place.secret ? <input {...shared} type="password" /> : <textarea {...shared} rows={1} dir="auto" inputMode={mode} />}
      <Faults place={place} id={binding.id} />
    </>
  );
}

/**
 * The native input of a date or a time. It has no offset, which is chosen beside it: at first that of this browser at
 * the time that is chosen, and from then on the one of the value.
 */
function MomentInput({ place, binding, kind }: { place: Place; binding: Binding; kind: MomentKind }) {
  const { disabled } = place.form;
  const moment = momentOf(typeof place.value === "string" ? place.value : "", kind) ?? { local: "", offset: "" };
  // The offset that was chosen, or given; until then it follows the clock of this browser.
  const [chosen, choose] = useState(moment.offset);
  const offset = moment.offset || chosen || offsetHere();
  const isOwn = useRef(false);
  const set = (next: Moment) => {
    if (next.local !== "") place.change(momentText(next, kind));
    else if (place.leave) place.leave();
    else place.change("");
  };
  const pick = (local: string) => {
    isOwn.current = chosen === "" && (moment.offset === "" || isOwn.current);
    set({ local, offset: isOwn.current ? offsetHere(local) : offset });
  };
  return (
    <>
      <div class="form-row">
        <input
          {...bound(place, binding)}
          type={kind.type}
          value={moment.local}
          // Beyond it a year has five digits, and is none of RFC 3339.
          max={kind.type === "date" ? "9999-12-31" : kind.type === "datetime-local" ? "9999-12-31T23:59:59.999" : undefined}
          step={kind.type === "date" ? undefined : moment.local.includes(".") ? "0.001" : "1"}
          data-part="input"
          onInput={(event) => pick(event.currentTarget.value)}
        />
        {kind.hasOffset && (
          <select
            disabled={disabled}
            value={offset}
            aria-label={`offset of ${quote(place.name, LONGEST_NAME)} from UTC`}
            data-part="offset"
            onChange={(event) => {
              choose(event.currentTarget.value);
              if (moment.local !== "") set({ ...moment, offset: event.currentTarget.value });
            }}
          >
            {offsets(offset, offsetHere(moment.local)).map((one) => (
              <option key={one} value={one}>{one === "Z" ? "UTC (Z)" : one}</option>
            ))}
          </select>
        )}
        <button type="button" class="form-small" disabled={disabled} onClick={() => set(now(kind))}>
          {kind.type === "date" ? "Today" : "Now"}
        </button>
      </div>
      <Faults place={place} id={binding.id} />
    </>
  );
}

/** The input of a number, which keeps each digit. A text that is no number yet is the value until it is one. */
export function NumberInput({ place, binding }: { place: Place; binding: Binding }) {
  const { value } = place;
  const text = isNumber(value) ? String(value) : typeof value === "string" ? value : "";
  const input = useRef<HTMLInputElement>(null);
  const problem = typeof value !== "string" ? "" : value === "" ? "A number is missing here." : "This is not a number.";
  useLayoutEffect(() => input.current?.setCustomValidity(problem), [problem]);
  const read = (text: string) => {
    const trimmed = text.trim();
    if (isNumberText(trimmed)) place.change(numberOf(trimmed));
    else if (trimmed === "" && place.leave) place.leave();
    else place.change(trimmed);
  };
  const shared = {
    ...bound(place, binding),
    ref: input,
    inputMode: "decimal" as const,
    autocomplete: "off",
    value: text,
    "data-part": "input",
    onInput: (event: { currentTarget: { value: string } }) => read(event.currentTarget.value),
  };
  return (
    <>
      {place.secret ? <input {...shared} type="password" /> : <input {...shared} type="text" />}
      {problem !== "" && text !== "" && <p class="form-problem">{problem}</p>}
      <Faults place={place} id={binding.id} />
    </>
  );
}

/** The choice of one of a few values. */
export function OptionInput({ place, binding }: { place: Place; binding: Binding }) {
  const options = place.form.schemas.options(place.view) ?? [];
  const { value } = place;
  const chosen = value === undefined ? -1 : options.findIndex((option) => equal(option.value, value));
  const choose = (at: number) => {
    const option = options[at];
    if (option !== undefined) place.change(option.value);
  };
  return (
    <>
      <select
        {...bound(place, binding)}
        value={String(chosen)}
        data-part="options"
        onChange={(event) => choose(Number(event.currentTarget.value))}
      >
        {chosen < 0 && <option value="-1">–</option>}
        {options.map((option, at) => <option key={at} value={String(at)}>{option.label}</option>)}
      </select>
      <Faults place={place} id={binding.id} />
    </>
  );
}
