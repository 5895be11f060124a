// The inputs of single values.

import { useLayoutEffect, useRef } from "preact/hooks";
import { equal, isNumber, isNumberText, numberOf } from "./json";
import { type Binding, bound, Faults, formatOf, type Place } from "./parts";

/** Characters that a text area would change, or that reorder what is around them. */
const UNFIT =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e0fff}\p{Cs}]/u;
/** The longest text that an input shows. */
const LONGEST = 200_000;

/** Returns `true` for a text that an input would not give back as it is. */
export function needsEscapes(text: string): boolean {
  return text.length > LONGEST || UNFIT.test(text);
}

/**
 * The input of a text. Those with a format have no input of that type: a browser trims an address, and shows nothing
 * for a date that it does not take, so that a value would be lost.
 */
export function StringInput({ place, binding }: { place: Place; binding: Binding }) {
  const text = typeof place.value === "string" ? place.value : "";
  const format = formatOf(place.view);
  const named = place.view.notes.get("format");
  const shared = {
    ...bound(place, binding),
    value: text,
    autocomplete: "off",
    spellcheck: false,
    placeholder: format?.[1],
    "data-part": "input",
    onInput: (event: { currentTarget: { value: string } }) => place.change(event.currentTarget.value),
  };
  if (place.secret) {
    return (
      <>
        <input {...shared} type="password" />
        <Faults place={place} id={binding.id} />
      </>
    );
  }
  const now = () => {
    const moment = new Date().toISOString();
    place.change(named === "date" ? moment.slice(0, 10) : `${moment.slice(0, 19)}Z`);
  };
  const mode = named === "email" ? "email" : named === "uri" || named === "url" ? "url" : undefined;
  return (
    <>
      <div class="form-row">
        <textarea {...shared} rows={1} inputMode={mode} />
        {(named === "date" || named === "date-time") && (
          <button type="button" class="form-small" disabled={place.form.disabled} onClick={now}>
            {named === "date" ? "Today" : "Now"}
          </button>
        )}
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
