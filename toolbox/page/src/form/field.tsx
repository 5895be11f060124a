// One place of a form: its label, the menu that sends it or leaves it out, and the input of its kind.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ListInput, ObjectInput } from "./groups";
import { NumberInput, needsEscapes, OptionInput, StringInput } from "./inputs";
import { isObject, type Json, size } from "./json";
import { Menu, type MenuItem } from "./menu";
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

  const isEmpty = value === "" && member && !required && kind === "string" && !asJson;
  const root = useRef<HTMLElement | null>(null);
  const setRoot = (element: HTMLElement | null) => {
    root.current = element;
  };
  // What was not sent is filled in: the focus goes to its first input.
  const fills = useRef(false);
  useLayoutEffect(() => {
    if (!shown || !fills.current) return;
    fills.current = false;
    const inputs = [...(root.current?.querySelectorAll<HTMLElement>("input, textarea, select, :scope :is(.form-members, .form-items) button") ?? [])];
    inputs.find((one) => one.checkVisibility())?.focus();
  });
  const send = () => place.change(blank(form.schemas, inner));
  const fillIn = () => {
    fills.current = true;
    send();
  };

  const items: MenuItem[] = [];
  const state = (name: string, part: string, checked: boolean, choose: () => void) => {
    items.push({ name, part, role: "menuitemradio", checked, choose: () => !checked && choose() });
  };
  if (member || other !== undefined) state("Send", "send", value !== undefined && !isNull, send);
  if (member) state("Leave out", "leave-out", value === undefined, () => place.leave?.());
  if (other !== undefined) state("Null", "null", isNull, () => place.change(null));
  if (!absent && !isNull && kind !== "json" && kind !== "null") {
    items.push({ name: "Write as JSON", part: "as-json", role: "menuitemcheckbox", checked: asJson, choose: () => setAsJson(!asJson) });
  }

  const marks = (
    <>
      {required && <Required id={`${id}-required`} />}
      {title !== undefined && <span class="form-title" id={`${id}-title`}><Name text={title} /></span>}
      {notes.get("deprecated") === true && <span class="form-note">deprecated</span>}
      {isNull && <span class="form-note" data-part="state">null</span>}
      {isEmpty && <span class="form-note" data-part="state">sent empty</span>}
    </>
  );
  const switches = (
    // By its key: another mark before it must not take its place, and the focus with it.
    <span key="switches" class="form-switches">
      {after}
      {items.length > 0 && <Menu label={`options of ${quote(name, LONGEST_NAME)}`} items={items} disabled={form.disabled} />}
    </span>
  );
  const rest = (
    <>
      {description !== undefined && <Text text={description} id={`${id}-text`} />}
      {(absent || isNull) && (
        <button type="button" class="form-small" disabled={form.disabled} aria-label={`fill in ${quote(name, LONGEST_NAME)}`} data-part="fill-in" onClick={fillIn}>
          Fill in
        </button>
      )}
      {!shown && <Faults place={place} id={id} />}
      {shown && (asJson ? <JsonBox place={within} binding={binding} /> : <Input place={within} binding={binding} />)}
      {phrases.length > 0 && <p class="form-hints" id={`${id}-hints`} dir="auto">{phrases.join("; ")}</p>}
    </>
  );
  const data = { "data-path": path, "data-kind": kind };
  if (framed) {
    return (
      <fieldset ref={setRoot} class="form-field form-group" {...data} aria-labelledby={required ? `${id}-label ${id}-required` : `${id}-label`} aria-describedby={binding.described.join(" ") || undefined}>
        <legend>
          {place.depth > 0 && kind !== "null" && !absent && !isNull && <Opener name={name} open={open} toggle={toggle} />}
          <span key="name" id={`${id}-label`}><Name text={name} /></span>
          {marks}
          {before === undefined && switches}
        </legend>
        {before !== undefined && <div class="form-head">{before}{switches}</div>}
        {rest}
      </fieldset>
    );
  }
  return (
    <div ref={setRoot} class={before === undefined ? "form-field" : "form-field form-entry"} {...data}>
      <div class="form-head">
        {before}
        {shown
          ? <label key="label" class="form-label" for={id}><Name text={name} /></label>
          : <span key="name" class="form-label"><Name text={name} /></span>}
        {marks}
        {switches}
      </div>
      {rest}
    </div>
  );
}

/** The mark of what has to be there; inputs say it as well. */
function Required({ id }: { id: string }) {
  return (
    <span class="form-required" id={id}>
      <span aria-hidden="true" title="required">*</span>
      <span class="form-unseen">required</span>
    </span>
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
        aria-required={binding.required ? "true" : undefined}
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
