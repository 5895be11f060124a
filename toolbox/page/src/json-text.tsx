// A value that is edited by a form, or as JSON text.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Form } from "./form/index";
import type { Fault, Json } from "./form/index";
import { parse, write } from "./form/json";
import { visible } from "./text";

export interface JsonText {
  text: string;
  /** The value; `undefined` while the text is no JSON. */
  value: Json | undefined;
  /** The reason why the text is no JSON, or an empty text. */
  syntax: string;
  setText(text: string): void;
  /** Takes the value of a form. */
  setValue(value: Json | undefined): void;
}

export function useJsonText(first: () => string): JsonText {
  const [text, setText] = useState(first);
  const read = useMemo(() => {
    try {
      return { value: parse(text), syntax: "" };
    } catch (error) {
      return { value: undefined, syntax: error instanceof Error ? error.message : String(error) };
    }
  }, [text]);
  const setValue = (value: Json | undefined) => setText(value === undefined ? "{}" : write(value, { indent: 2 }));
  return { text, ...read, setText, setValue };
}

interface EditorProps {
  /** The id of the text box. */
  id: string;
  json: JsonText;
  schema: Json;
  faults: Fault[];
  disabled: boolean;
  /** The id of what is said of the whole. */
  describedBy?: string;
  /** Buttons beside the switch. */
  children?: ComponentChildren;
}

/** The form of a value, or its JSON in place of the form. The form waits while the text is no JSON. */
export function Editor({ id, json, schema, faults, disabled, describedBy, children }: EditorProps) {
  const [asJson, setAsJson] = useState(false);
  const { text, syntax } = json;
  return (
    <>
      <div class="acts">
        <label class="switch">
          <input type="checkbox" role="switch" checked={asJson} onChange={(event) => setAsJson(event.currentTarget.checked)} /> Edit as JSON
        </label>
        {children}
      </div>
      {asJson ? (
        <textarea
          id={id}
          class="code"
          aria-label="JSON"
          dir="ltr"
          spellcheck={false}
          autocomplete="off"
          rows={Math.min(24, Math.max(6, text.split("\n").length + 1))}
          value={text}
          readOnly={disabled}
          aria-invalid={syntax !== "" || faults.length > 0}
          aria-describedby={[syntax && `${id}-syntax`, describedBy].filter(Boolean).join(" ") || undefined}
          onInput={(event) => json.setText(event.currentTarget.value)}
        />
      ) : syntax ? (
        <p class="warn">The JSON cannot be read, so the form waits for it: switch to it.</p>
      ) : (
        <Form schema={schema} value={json.value} faults={faults} disabled={disabled} onChange={json.setValue} />
      )}
      {syntax && (
        <p class="bad" id={`${id}-syntax`} aria-live="polite">
          {visible(syntax)}
        </p>
      )}
    </>
  );
}
