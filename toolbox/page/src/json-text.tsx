// A value that is edited as JSON text, and beside it by a form.
import { useMemo, useState } from "preact/hooks";
import { Form } from "./form/index";
import type { Fault, Json } from "./form/index";
import { parse, write } from "./form/json";

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

/** The form of the value; it waits while the text is no JSON. */
export function JsonForm(props: { json: JsonText; schema: Json; faults: Fault[]; disabled: boolean }) {
  const { json, schema, faults, disabled } = props;
  return json.syntax ? (
    <p class="warn">The JSON beside cannot be read, so the form waits for it.</p>
  ) : (
    <Form schema={schema} value={json.value} faults={faults} disabled={disabled} onChange={json.setValue} />
  );
}
