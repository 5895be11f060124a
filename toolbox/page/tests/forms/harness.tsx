// The page of the tests: one form, its value, and what a test asks of them.

import { render } from "preact";
import { type Fault, focusFirstFault, Form, initial, isComplete, type Json, parse, write } from "../../src/form";
import { at, Driver, type Keys, settle } from "./driver";

interface Tool {
  source: string;
  name: string;
  schema: string;
  valid: string[];
  refused: { arguments: string; faults: Fault[] }[];
}

const root = document.getElementById("form") as HTMLElement;
let state: { schema: Json; value: Json | undefined; faults: Fault[]; disabled: boolean } | undefined;
let changes = 0;
let asText = true;

function draw(): void {
  if (state === undefined) return;
  const change = (value: Json | undefined) => {
    changes += 1;
    // A page may keep the value itself, or its text.
    if (state) state.value = asText && value !== undefined ? parse(write(value)) : value;
    draw();
  };
  render(<Form schema={state.schema} value={state.value} faults={state.faults} disabled={state.disabled} onChange={change} />, root);
}

async function show(schema: Json, value: Json | undefined, faults: Fault[] = [], disabled = false): Promise<void> {
  render(null, root);
  changes = 0;
  state = { schema, value, faults, disabled };
  draw();
  await settle();
}

const driver = (keys?: Keys) => new Driver(root, () => state?.value, keys);

/** Returns JSON text in one form, with each number as it is written; reads it with `JSON.parse` alone. */
function canonical(text: string): string {
  const quoted = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => (token.startsWith('"') ? token : `{"number":"${token}"}`));
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    return Object.entries(value).map(([name, item]) => [name, sorted(item)]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  };
  return JSON.stringify(sorted(JSON.parse(quoted)));
}

/** Enters each valid value from the empty form, and shows each; says what came out otherwise. */
async function roundTrips(tool: Tool) {
  const schema = parse(tool.schema);
  const failures: string[] = [];
  const counts = { entered: 0, shown: 0, inputs: 0, boxes: 0, escaped: 0 };
  for (const [at, text] of tool.valid.entries()) {
    asText = at % 2 === 0;
    const value = parse(text);
    const user = driver();
    try {
      await show(schema, initial(schema));
      await user.enter("", value);
      if (canonical(write(state?.value ?? null)) !== canonical(text)) failures.push(`${tool.name}: entered ${text}, came out ${write(state?.value ?? null)}`);
      if (!isComplete(root)) failures.push(`${tool.name}: ${text} is entered, and an input is not valid`);
      counts.entered += 1;
      await show(schema, value);
      const difference = await driver().difference("", value);
      if (difference) failures.push(`${tool.name}: ${text}: ${difference}`);
      if (changes > 0 || canonical(write(value)) !== canonical(text)) failures.push(`${tool.name}: showing ${text} changed it to ${write(state?.value ?? null)}`);
      counts.shown += 1;
    } catch (error) {
      failures.push(`${tool.name}: ${text}: ${(error as Error).message}`);
    }
    counts.inputs += user.counts.inputs;
    counts.boxes += user.counts.boxes;
    counts.escaped += user.counts.escaped;
  }
  return { counts, failures };
}

/** Shows each refused value with its faults; says which of them is not at its field. */
async function refusals(tool: Tool) {
  const schema = parse(tool.schema);
  const failures: string[] = [];
  const counts = { refused: 0, faults: 0, exact: 0, above: 0 };
  for (const { arguments: text, faults } of tool.refused) {
    let value: Json;
    try {
      value = parse(text);
    } catch {
      continue;
    }
    counts.refused += 1;
    await show(schema, value, faults);
    for (const fault of faults) {
      counts.faults += 1;
      const shown = [...root.querySelectorAll<HTMLElement>(".form-faults li")].filter((one) => one.dataset.fault === fault.path);
      const fields = shown.map((one) => one.closest<HTMLElement>("[data-path]"));
      const [field] = fields;
      const where = `${tool.name}: ${text}: the fault of ${fault.path || "the whole"}`;
      if (!field) {
        failures.push(`${where} is not shown`);
      } else if (new Set(fields).size > 1) {
        failures.push(`${where} is shown at ${fields.length} fields`);
      } else if (field.dataset.path === fault.path) {
        counts.exact += 1;
        const input = field.querySelector<HTMLElement>("[aria-invalid]");
        const described = input?.getAttribute("aria-describedby")?.split(" ").some((id) => document.getElementById(id) === shown[0]?.parentElement);
        const leaf = ["string", "number", "options"].includes(field.dataset.kind ?? "") && fault.path !== "" && !field.querySelector('[data-part="fill-in"]');
        if (leaf && !described) failures.push(`${where} does not describe its input`);
      } else {
        counts.above += 1;
        // The nearest place above: one whose value is shown as JSON, or has no member or item of that name.
        const path = field.dataset.path ?? "?";
        const boxed = [...field.querySelectorAll('[data-part="json"]')].some((one) => one.closest("[data-path]") === field);
        const there = at(value, fault.path) !== undefined;
        if (!fault.path.startsWith(path) || (there && !boxed)) failures.push(`${where} is shown at ${path || "the whole"}`);
      }
    }
    if (!focusFirstFault(root)) failures.push(`${tool.name}: ${text}: the focus does not go to a fault`);
    else if (!document.activeElement?.closest("[data-path]")?.querySelector(".form-faults")) {
      failures.push(`${tool.name}: ${text}: the focus is not at a fault`);
    }
    if (changes > 0) failures.push(`${tool.name}: showing ${text} changed it`);
  }
  return { counts, failures };
}

const forms = {
  roundTrips,
  refusals,
  /** Shows a form; texts are JSON. Without a value, the first one. */
  async show(schema: string, value?: string | null, faults: Fault[] = [], disabled = false) {
    const read = parse(schema);
    await show(read, value === null ? undefined : value === undefined ? initial(read) : parse(value), faults, disabled);
  },
  value: () => (state?.value === undefined ? "absent" : write(state.value)),
  faults(faults: Fault[]) {
    if (state) state.faults = faults;
    draw();
  },
  /** Enters a value with the keyboard alone, from the empty form; returns what came out instead, if anything. */
  async typed(schemaText: string, text: string) {
    const schema = parse(schemaText);
    await show(schema, initial(schema));
    await driver(window.keys).enter("", parse(text));
    return canonical(write(state?.value ?? null)) === canonical(text) ? undefined : forms.value();
  },
  focusFirstFault: () => focusFirstFault(root),
  isComplete: () => isComplete(root),
  again: (text: string, indent?: number) => write(parse(text), { indent: indent ?? 0 }),
};

declare global {
  interface Window {
    forms: typeof forms;
    violations: string[];
    keys: Keys;
  }
}

window.forms = forms;
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective}: ${event.sourceFile}`));
