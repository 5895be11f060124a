// A form made from a JSON Schema.
//
// The value is controlled: the form shows `value`, and says each change with `onChange`. It checks nothing that the
// gate checks; the gate's faults are shown at their fields. Nothing of a value is lost: what a field cannot show, and
// what the schema does not know, has a text box for JSON at its place. Absent, empty and null are three states.
//
// A text box whose text is no JSON, and a number that is none, are invalid to the browser (`setCustomValidity`), so a
// `<form>` around it is not sent with them; `isComplete` asks the same.
//
// Written here since no kept library fits: jedison 1.23 reads numbers as doubles and writes titles and descriptions of
// schemas with `innerHTML`; rjsf and JSON Forms need React and a validator that compiles code, which the page's
// Content-Security-Policy forbids.

import { useMemo, useRef } from "preact/hooks";
import { Field, Input } from "./field";
import { isObject, type Json, keep } from "./json";
import type { Fault, Place } from "./parts";
import { Schemas } from "./schema";
import { first } from "./values";
import "./form.css";

export { equal, type Json, type JsonObject, parse, RawNumber, write } from "./json";
export type { Fault } from "./parts";

export interface FormProps {
  /** A JSON Schema, read with `parse`. Give the same object as long as it is the same schema. */
  schema: Json;
  /** The value; `undefined` if there is none yet. */
  value: Json | undefined;
  faults: Fault[];
  disabled?: boolean;
  onChange(value: Json | undefined): void;
}

export function Form({ schema, value: given, faults, disabled = false, onChange }: FormProps) {
  const schemas = useMemo(() => new Schemas(schema), [schema]);
  const view = schemas.view(schema);
  // A page may keep the value as text, and give one that is read anew each time: what did not change stays the same
  // object, so that a field notices changes that are not its own, and no others.
  const last = useRef<Json | undefined>(undefined);
  if (given !== undefined) last.current = keep(last.current, given);
  const value = given === undefined ? undefined : last.current;
  const whole = schemas.kind(view) === "object" && (value === undefined || isObject(value));
  const place: Place = {
    form: { schemas, disabled },
    view,
    value: whole ? (value ?? {}) : value,
    path: "",
    name: whole ? "the arguments" : "value",
    faults,
    depth: 0,
    secret: false,
    change: (value) => {
      last.current = value;
      onChange(value);
    },
  };
  return (
    <div class="form" role="group" aria-label="arguments" data-path={whole ? "" : undefined} data-kind={whole ? "object" : undefined}>
      {whole ? <Input place={place} binding={{ id: "form", described: [] }} /> : <Field place={place} />}
    </div>
  );
}

/** Returns the value that a form begins with: defaults, first examples, and the required objects and lists. */
export function initial(schema: Json): Json | undefined {
  const schemas = new Schemas(schema);
  return first(schemas, schemas.view(schema));
}

/** Moves the focus to the first field with a fault; returns `false` if there is none. */
export function focusFirstFault(form: Element): boolean {
  const field = form.querySelector(".form-faults, .form-problem")?.closest("[data-path]");
  const input = field?.querySelector<HTMLElement>('[aria-invalid="true"]') ?? field?.querySelector<HTMLElement>("input, textarea, select, button");
  input?.focus();
  return input != null;
}

/** Returns `false` while a text box holds what is no JSON, or a number is none. */
export function isComplete(form: Element): boolean {
  return [...form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea")].every((input) => input.validity.valid);
}
