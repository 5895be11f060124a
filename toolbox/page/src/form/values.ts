// Values for schemas: the first ones of a form, and the alternative that a value is of.

import { equal, isObject, type Json, member, objectOf, size } from "./json";
import { type Alternative, isDraft, isOfType, type Schemas, type View } from "./schema";

/** The most levels and members of a first value; a type that contains itself has no end. */
const LEVELS = 8;
const MEMBERS = 500;
/** The most values that are compared to find an alternative. */
const COMPARED = 2000;

/** Returns the value that a form begins with: defaults, first examples, and what is required and has no choice. */
export function first(schemas: Schemas, view: View): Json | undefined {
  return firstWithin(schemas, view, LEVELS, { left: MEMBERS });
}

function firstWithin(schemas: Schemas, view: View, levels: number, budget: { left: number }): Json | undefined {
  budget.left -= 1;
  const given = view.notes.get("default");
  if (given !== undefined && size(given, MEMBERS) < MEMBERS) return given;
  const examples = view.notes.get("examples");
  const example = Array.isArray(examples) ? examples[0] : undefined;
  if (example !== undefined && size(example, MEMBERS) < MEMBERS) return example;
  if (levels === 0 || budget.left <= 0) return undefined;
  switch (schemas.kind(view)) {
    case "options": {
      const options = schemas.options(view);
      return options?.length === 1 ? options[0]?.value : undefined;
    }
    case "null":
      return null;
    case "object": {
      const members: [string, Json][] = [];
      for (const [name, schema] of view.properties) {
        const inner = schemas.view(schema);
        const preset = inner.notes.get("default");
        if (!view.required.has(name) && (preset === undefined || preset === null)) continue;
        const value = firstWithin(schemas, inner, levels - 1, budget);
        if (value !== undefined) members.push([name, value]);
      }
      return objectOf(members);
    }
    case "array": {
      const least = view.notes.get("minItems");
      const count = Math.min(Math.max(view.prefix.length, typeof least === "number" ? least : 0), 20);
      const items: Json[] = [];
      for (let at = 0; at < count && budget.left > 0; at += 1) {
        items.push(blankWithin(schemas, schemas.view(view.prefix[at] ?? view.items ?? true), levels - 1, budget));
      }
      return items;
    }
    case "choice": {
      const [alternative] = schemas.alternatives(view);
      return alternative && firstWithin(schemas, alternative.view, levels - 1, budget);
    }
    default:
      return undefined;
  }
}

/** Returns a value for a place that has to have one: an item that was added, or a member that was switched on. */
export function blank(schemas: Schemas, view: View): Json {
  return blankWithin(schemas, view, LEVELS, { left: MEMBERS });
}

function blankWithin(schemas: Schemas, view: View, levels: number, budget: { left: number }): Json {
  const value = firstWithin(schemas, view, levels, budget);
  if (value !== undefined || levels === 0 || budget.left <= 0) return value ?? null;
  switch (schemas.kind(view)) {
    // A number that is still to be written; the input shows it as empty, and the gate refuses it by name.
    case "number":
    case "string":
      return "";
    case "options":
      return schemas.options(view)?.[0]?.value ?? null;
    case "choice": {
      const [alternative] = schemas.alternatives(view);
      return alternative === undefined ? null : blankWithin(schemas, alternative.view, levels - 1, budget);
    }
    default:
      return null;
  }
}

/** Returns `true` if the input of this place can show the value without loss. */
export function isShown(schemas: Schemas, view: View, value: Json): boolean {
  switch (schemas.kind(view)) {
    case "string":
      return typeof value === "string";
    case "number":
      return isOfType(value, "number") || isDraft(value);
    case "options":
      return schemas.options(view)?.some((option) => equal(option.value, value)) ?? false;
    case "null":
      return value === null;
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    default:
      return true;
  }
}

/** Returns the index of the alternative that a value is of, or of the nearest one; -1 if it is of none. */
export function alternativeOf(schemas: Schemas, alternatives: Alternative[], value: Json | undefined): number {
  if (value === undefined) return -1;
  const budget = { left: COMPARED };
  const exact = alternatives.findIndex(({ view }) => fits(schemas, view, value, 6, budget));
  if (exact >= 0) return exact;
  let best = -1;
  let most = 0;
  alternatives.forEach(({ view }, at) => {
    const points = nearness(schemas, view, value);
    if (points > most) [best, most] = [at, points];
  });
  return best;
}

function fits(schemas: Schemas, view: View, value: Json, levels: number, budget: { left: number }): boolean {
  budget.left -= 1;
  if (levels === 0 || budget.left <= 0) return true;
  if (view.types !== undefined && !view.types.some((type) => isOfType(value, type))) return false;
  if (view.values !== undefined && !view.values.some((other) => equal(value, other))) return false;
  if (view.unions.length > 0) {
    return schemas.alternatives(view).some((one) => fits(schemas, one.view, value, levels - 1, budget));
  }
  const below = (schema: Json, item: Json) =>
    schema !== false && fits(schemas, schemas.view(schema), item, levels - 1, budget);
  if (isObject(value)) {
    for (const name of view.required) if (!Object.hasOwn(value, name)) return false;
    return Object.entries(value).every(([name, item]) => below(view.properties.get(name) ?? schemas.restOf(view, name), item));
  }
  if (Array.isArray(value)) {
    const least = view.notes.get("minItems");
    const most = view.notes.get("maxItems");
    if (typeof least === "number" && value.length < least) return false;
    if (typeof most === "number" && value.length > most) return false;
    return value.every((item, at) => below(view.prefix[at] ?? view.items ?? true, item));
  }
  return true;
}

/** Returns points for what a value shares with an alternative that it does not fit; 0 if it cannot be shown as one. */
function nearness(schemas: Schemas, view: View, value: Json): number {
  if (schemas.kind(view) !== "choice" && !isShown(schemas, view, value)) return 0;
  if (!isObject(value)) return 1;
  let points = 1;
  for (const [name, schema] of view.properties) {
    const item = member(value, name);
    if (item === undefined) continue;
    const values = schemas.view(schema).values;
    if (values === undefined) points += 1;
    else if (values.some((other) => equal(item, other))) points += 10;
    else return 0;
  }
  return points;
}
