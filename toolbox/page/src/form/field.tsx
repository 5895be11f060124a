// One place of a form: its label, the switch that sends it or leaves it out, and the input of its kind.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { ListInput, ObjectInput } from "./groups";
import { NumberInput, needsEscapes, OptionInput, StringInput } from "./inputs";
import { isObject, type Json, size } from "./json";
import { type Binding, Faults, hints, JsonBox, Name, type Place, Text, useReplaced } from "./parts";
import type { Alternative, Kind, View } from "./schema";
import { LONGEST_NAME, quote } from "./text";
import { alternativeOf, blank, isShown } from "./values";

/** The most levels that are shown as fields; what is deeper has a text box. */
const DEEPEST = 12;
/** The largest values, counted in all values within, that are open at first, for each level. */
const OPEN = [2000, 400, 150, 60];

let ids = 0;

export interface FieldProps {
  place: Place;
  /** A member: it may be left out. */
  member?: boolean;
  required?: boolean;
  /** Inputs before the name, and buttons behind it. */
  before?: ComponentChildren;
  after?: ComponentChildren;
}

/** Returns the other one, if one of two alternatives is null. */
function unlessNull(place: Place): View | undefined {
  const { schemas } = place.form;
  if (schemas.kind(place.view) !== "choice") return undefined;
  const all = schemas.alternatives(place.view);
  const others = all.filter(({ view }) => schemas.kind(view) !== "null");
  return all.length === 2 && others.length === 1 ? others[0]?.view : undefined;
}

function isLeaf(kind: Kind): boolean {
  return kind === "string" || kind === "number" || kind === "options";
}

function isGroup(kind: Kind): boolean {
  return kind === "object" || kind === "array" || kind === "choice";
}

/** Opens small groups at first, and those with a fault in any case. */
function useOpen(place: Place, kind: Kind): [boolean, () => void] {
  const limit = OPEN[Math.min(place.depth, OPEN.length - 1)] ?? 60;
  const [wanted, setWanted] = useState(() => size(place.value, limit) < limit);
  const open = place.depth === 0 || !isGroup(kind) || wanted || place.faults.length > 0;
  return [open, () => setWanted(!open)];
}

export function Field({ place, member = false, required = false, before, after }: FieldProps) {
  const { form, view, value, path, name } = place;
  // The ids of `useId` begin anew when the tree above is drawn from its root, and a label would name another input.
  const [id] = useState(() => `form-${(ids += 1)}`);
  const other = unlessNull(place);
  const inner = other ?? view;
  const kind = form.schemas.kind(inner);
  const [asJson, setAsJson] = useState(false);
  const [open, toggle] = useOpen(place, kind);

  const notes = other === undefined ? view.notes : new Map([...inner.notes, ...view.notes]);
  const text = (keyword: string) => {
    const note = notes.get(keyword);
    return typeof note === "string" && note !== "" ? note : undefined;
  };
  const description = text("description");
  const title = text("title") === name ? undefined : text("title");
  const phrases = hints({ ...inner, notes });
  const described = [title && `${id}-title`, description && `${id}-text`, phrases.length > 0 && `${id}-hints`];
  const framed = isGroup(kind) || kind === "null";
  const binding: Binding = {
    id,
    legend: framed ? `${id}-label` : undefined,
    required,
    described: described.filter((one) => typeof one === "string"),
  };
  const secret = place.secret || notes.get("writeOnly") === true || notes.get("format") === "password";
  const within: Place = { ...place, view: inner, secret };
  const isNull = value === null && other !== undefined;
  // A group that is left out has nothing to fill in; a single input is there, and using it sends the member.
  const absent = value === undefined && member && kind !== "choice" && !isLeaf(kind);
  const shown = !absent && !isNull && open;

  const marks = (
    <>
      {title !== undefined && <span class="form-title" id={`${id}-title`}><Name text={title} /></span>}
      {required && <span class="form-required">required</span>}
      {notes.get("deprecated") === true && <span class="form-note">deprecated</span>}
    </>
  );
  const rest = (
    <>
      <span class="form-switches">
        {member && <SendSwitch place={place} />}
        {other !== undefined && <NullSwitch place={within} />}
        {!absent && !isNull && kind !== "json" && kind !== "null" && (
          <button
            type="button"
            class="form-small form-quiet"
            aria-pressed={asJson}
            aria-label={`${quote(name, LONGEST_NAME)} as JSON`}
            data-part="as-json"
            onClick={() => setAsJson(!asJson)}
          >
            JSON
          </button>
        )}
        {after}
      </span>
      {description !== undefined && <Text text={description} id={`${id}-text`} />}
      {!shown && <Faults place={place} id={id} />}
      {shown && (asJson ? <JsonBox place={within} binding={binding} /> : <Input place={within} binding={binding} />)}
      {phrases.length > 0 && <p class="form-hints" id={`${id}-hints`} dir="auto">{phrases.join("; ")}</p>}
    </>
  );
  const data = { "data-path": path, "data-kind": kind };
  if (framed) {
    return (
      <fieldset class="form-field form-group" {...data} aria-describedby={binding.described.join(" ") || undefined}>
        <legend>
          {place.depth > 0 && kind !== "null" && !absent && !isNull && <Opener name={name} open={open} toggle={toggle} />}
          <span id={`${id}-label`}><Name text={name} /></span>
          {marks}
        </legend>
        {before}
        {rest}
      </fieldset>
    );
  }
  return (
    <div class={before === undefined ? "form-field" : "form-field form-entry"} {...data}>
      {before}
      {shown
        ? <label class="form-label" for={id}><Name text={name} /></label>
        : <span class="form-label"><Name text={name} /></span>}
      {marks}
      {rest}
    </div>
  );
}

function Opener({ name, open, toggle }: { name: string; open: boolean; toggle(): void }) {
  return (
    <button
      type="button"
      class="form-small form-open"
      aria-expanded={open}
      aria-label={`${open ? "close" : "open"} ${quote(name, LONGEST_NAME)}`}
      data-part="open"
      onClick={toggle}
    >
      {open ? "▾" : "▸"}
    </button>
  );
}

/** Sends a member, or leaves it out. */
function SendSwitch({ place }: { place: Place }) {
  const { form, view, value, name } = place;
  return (
    <label class="form-switch">
      <input
        type="checkbox"
        checked={value !== undefined}
        disabled={form.disabled}
        aria-label={`send ${quote(name, LONGEST_NAME)}`}
        data-part="send"
        onChange={(event) => (event.currentTarget.checked ? place.change(blank(form.schemas, view)) : place.leave?.())}
      />
      send
    </label>
  );
}

/** Makes a value null, or a value of the view of the place. */
function NullSwitch({ place }: { place: Place }) {
  const { form, view, value, name } = place;
  return (
    <label class="form-switch">
      <input
        type="checkbox"
        checked={value === null}
        disabled={form.disabled}
        aria-label={`null for ${quote(name, LONGEST_NAME)}`}
        data-part="null"
        onChange={(event) => place.change(event.currentTarget.checked ? null : blank(form.schemas, view))}
      />
      null
    </label>
  );
}

/** Returns the reason for which the input of this kind cannot show a value, if there is one. */
function unfit(place: Place, kind: Kind): string | undefined {
  const { value } = place;
  if (place.depth > DEEPEST && !isLeaf(kind)) return "This lies too deep for fields, and is shown as JSON.";
  if (value === undefined) return undefined;
  if (!isShown(place.form.schemas, place.view, value)) return "This is not of the form that is asked for, and is shown as JSON.";
  if (kind === "string" && !place.secret && needsEscapes(value as string)) return "This has characters that cannot be seen, and is shown as JSON.";
  return undefined;
}

/** The input of a value, by the kind of its place. */
export function Input({ place, binding }: { place: Place; binding: Binding }) {
  const { schemas, disabled } = place.form;
  const kind = schemas.kind(place.view);
  const [replaced, change] = useReplaced(place);
  const within = { ...place, change };
  // Decided for a value that comes from outside, and not again at each key: an input must not change under the hand.
  const reason = useRef<{ view: View; why: string | undefined } | undefined>(undefined);
  if (reason.current === undefined || replaced || reason.current.view !== place.view) {
    reason.current = { view: place.view, why: unfit(place, kind) };
  }
  if (kind === "json") return <JsonBox place={within} binding={binding} />;
  if (reason.current.why !== undefined) {
    const startOver = () => {
      reason.current = undefined;
      change(blank(schemas, place.view));
    };
    const note = (
      <p class="form-note">
        {reason.current.why}{" "}
        {place.depth <= DEEPEST && (
          <button type="button" class="form-small" disabled={disabled} data-part="start-over" onClick={startOver}>Start over</button>
        )}
      </p>
    );
    return <JsonBox place={within} binding={binding} note={note} />;
  }
  switch (kind) {
    case "string":
      return <StringInput place={within} binding={binding} />;
    case "number":
      return <NumberInput place={within} binding={binding} />;
    case "options":
      return <OptionInput place={within} binding={binding} />;
    case "object":
      return <ObjectInput place={within} binding={binding} />;
    case "array":
      return <ListInput place={within} binding={binding} />;
    case "choice":
      return <Choice place={within} binding={binding} />;
    case "null":
      return (
        <>
          <span class="form-note">null</span>
          <Faults place={place} id={binding.id} />
        </>
      );
  }
}

/** Returns the common members of a value and another alternative, so that a change of mind loses little. */
function carried(from: Json | undefined, to: Json, alternative: Alternative, place: Place): Json {
  if (!isObject(from) || !isObject(to)) return to;
  const { schemas } = place.form;
  const kept = Object.entries(from).filter(([name, value]) => {
    const schema = alternative.view.properties.get(name);
    return schema !== undefined && schemas.view(schema).values === undefined && isShown(schemas, schemas.view(schema), value);
  });
  return { ...to, ...Object.fromEntries(kept) };
}

/** A value of one of several forms: the choice of the form, and below it the input of that form. */
function Choice({ place, binding }: { place: Place; binding: Binding }) {
  const { schemas } = place.form;
  const all = schemas.alternatives(place.view);
  const [replaced, change] = useReplaced(place);
  const [chosen, setChosen] = useState(() => alternativeOf(schemas, all, place.value));
  const known = useRef(all);
  let at = chosen;
  if (replaced || known.current !== all) {
    known.current = all;
    at = alternativeOf(schemas, all, place.value);
    if (at !== chosen) setChosen(at);
  }
  if (place.value === undefined) at = -1;
  const choose = (at: number) => {
    const alternative = all[at];
    if (alternative === undefined) return;
    setChosen(at);
    change(carried(place.value, blank(schemas, alternative.view), alternative, place));
  };
  const alternative = all[at];
  const kind = alternative && schemas.kind(alternative.view);
  const constant = kind === "null" || (alternative !== undefined && schemas.options(alternative.view)?.length === 1);
  const none = alternative === undefined || (constant && isShown(schemas, alternative.view, place.value ?? null));
  return (
    <div class="form-choice" data-form={kind}>
      <select
        id={binding.id}
        disabled={place.form.disabled}
        aria-label={`form of ${quote(place.name, LONGEST_NAME)}`}
        aria-describedby={none && place.faults.length > 0 ? `${binding.id}-faults` : undefined}
        aria-invalid={none && place.faults.length > 0 ? "true" : undefined}
        value={String(at)}
        data-part="choice"
        onChange={(event) => choose(Number(event.currentTarget.value))}
      >
        {at < 0 && <option value="-1">–</option>}
        {all.map((one, index) => <option key={index} value={String(index)}>{one.description === undefined ? one.name : quote(`${one.name}: ${one.description}`, 100)}</option>)}
      </select>
      {alternative?.description !== undefined && <Text text={alternative.description} id={`${binding.id}-form`} />}
      {alternative === undefined && place.value !== undefined && (
        <JsonBox place={{ ...place, change }} binding={{ ...binding, id: `${binding.id}-value` }} />
      )}
      {alternative === undefined && place.value === undefined && <Faults place={place} id={binding.id} />}
      {alternative !== undefined && none && <Faults place={place} id={binding.id} />}
      {alternative !== undefined && !none && (
        <Input
          key={at}
          place={{ ...place, view: alternative.view, depth: place.depth + (kind === "choice" ? 1 : 0), change, leave: undefined }}
          binding={{ ...binding, id: `${binding.id}-value` }}
        />
      )}
    </div>
  );
}
