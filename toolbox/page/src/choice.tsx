// One of several values: as buttons beside each other, or as a list that opens.
import type { ComponentChildren } from "preact";
import { moveFocus } from "./keys";
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

/** A toolbar, of which Tab reaches the button that is chosen; arrow keys choose another. */
export function Chips<T extends string>({ label, values, value, onChange, show, children }: ChipsProps<T>) {
  const chosen = values.includes(value) ? value : values[0];
  const keys = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    moveFocus(event, [...event.currentTarget.querySelectorAll("button")], "both")?.click();
  };
  return (
    <div class="chips">
      <div class="chips" role="toolbar" aria-label={label} onKeyDown={keys}>
        {values.map((own) => (
          <button key={own} type="button" tabIndex={own === chosen ? 0 : -1} aria-pressed={own === value} onClick={() => onChange(own)}>
            {show ? show(own) : own}
          </button>
        ))}
      </div>
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
