// One of several values: as buttons beside each other, or as a list that opens.
import type { ComponentChildren } from "preact";
import { visible } from "./text";

interface ChipsProps<T extends string> {
  label: string;
  values: readonly T[];
  value: T;
  onChange(value: T): void;
  /** The content of a button, else the value. */
  show?(value: T): ComponentChildren;
  /** What stands behind the buttons. */
  children?: ComponentChildren;
}

export function Chips<T extends string>({ label, values, value, onChange, show, children }: ChipsProps<T>) {
  return (
    <div class="chips" role="group" aria-label={label}>
      {values.map((own) => (
        <button key={own} type="button" aria-pressed={own === value} onClick={() => onChange(own)}>
          {show ? show(own) : own}
        </button>
      ))}
      {children}
    </div>
  );
}

/** A list whose first entry, an empty text, is all values. */
export function Choice<T extends string>(props: {
  label: string;
  all: string;
  values: readonly T[];
  value: T | "";
  onChange(value: T | ""): void;
}) {
  return (
    <label>
      <span class="sr">{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value as T | "")}>
        <option value="">{props.all}</option>
        {props.values.map((value) => (
          <option key={value} value={value}>
            {visible(value)}
          </option>
        ))}
      </select>
    </label>
  );
}
