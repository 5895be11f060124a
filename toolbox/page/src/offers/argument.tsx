// The input of an argument, which the server may complete.
import { useEffect, useId, useState } from "preact/hooks";
import { post } from "../api";
import { moveFocus } from "../keys";
import { Line, visible } from "../text";

export interface ArgumentProps {
  kind: "prompt" | "resource";
  /** The name of the prompt, or the text of the template. */
  of: string;
  name: string;
  label?: string;
  description?: string;
  required: boolean;
  completes: boolean;
  values: Record<string, string>;
  disabled: boolean;
  onChange(value: string): void;
}

export function Argument(props: ArgumentProps) {
  const id = useId();
  const { kind, of, name, completes, values } = props;
  const value = values[name] ?? "";
  const [found, setFound] = useState<string[]>([]);
  const [focused, focus] = useState(false);
  const others = JSON.stringify(Object.entries(values).filter(([own, value]) => own !== name && value));

  useEffect(() => {
    if (!completes || !focused) {
      return;
    }
    let current = true;
    const timer = setTimeout(() => {
      const given = Object.fromEntries(JSON.parse(others));
      post<{ values: string[] }>("/api/complete", { kind, name: of, argument: name, value, given }).then(
        ({ values }) => current && setFound(values),
        () => current && setFound([]),
      );
    }, 200);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [kind, of, name, value, others, completes, focused]);

  const keys = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    const input = event.currentTarget.querySelector("input");
    const values = [...event.currentTarget.querySelectorAll("button")];
    if (document.activeElement !== input) {
      if (event.key === "Escape") {
        input?.focus();
      } else {
        moveFocus(event, values, "both");
      }
    } else if (event.key === "ArrowDown" && values[0]) {
      event.preventDefault();
      values[0].focus();
    }
  };

  // The list of the browser hides what was typed in full.
  const shown = found.filter((own) => own !== value);
  return (
    <div class="argument" onKeyDown={keys}>
      <label for={id}>
        <Line text={props.label ?? name} max={80} />
        {props.required && <span class="quiet"> (required)</span>}
      </label>
      {props.description && (
        <p class="quiet">
          <Line text={props.description} max={600} />
        </p>
      )}
      <input
        id={id}
        type="text"
        autocomplete="off"
        spellcheck={false}
        required={props.required}
        disabled={props.disabled}
        value={value}
        aria-describedby={`${id}-found`}
        onFocus={() => focus(true)}
        onBlur={() => focus(false)}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
      <div id={`${id}-found`} role="group" aria-label={`Values for ${visible(props.label ?? name).slice(0, 80)}`} class="chips">
        {shown.slice(0, 20).map((own) => (
          <button key={own} type="button" disabled={props.disabled} onMouseDown={(event) => event.preventDefault()} onClick={() => props.onChange(own)}>
            <Line text={own} max={60} />
          </button>
        ))}
        {shown.length > 20 && <span class="quiet">{shown.length - 20} more</span>}
      </div>
    </div>
  );
}
