// Schemas as a form reads them: references followed, `allOf` merged, unions as alternatives.
//
// A schema may come from anywhere: each step here is bounded, and what is beyond a bound, or not known, is left to a
// text box for JSON, which takes every value.

import { equal, isNumber, isNumberText, isObject, type Json, type JsonObject, member, write } from "./json";
import { brief, quote } from "./text";

/** The most schemas that are merged into one view. */
const MERGED = 256;
/** The most alternatives of a choice, and values of an enumeration, that are listed. */
export const LISTED = 500;
/** The most levels of unions within unions that become one choice. */
const FLATTENED = 4;

export type Kind = "string" | "number" | "options" | "null" | "object" | "array" | "choice" | "json";

/** One schema with everything that holds at its place. */
export interface View {
  types: string[] | undefined;
  /** Texts and limits; of two, the one nearest to the use counts. */
  notes: Map<string, Json>;
  properties: Map<string, Json>;
  required: Set<string>;
  patterns: [string, Json][];
  /** The schema of members that are not declared; `undefined` if any may be there. */
  rest: Json | undefined;
  names: Json | undefined;
  prefix: Json[];
  items: Json | undefined;
  values: Json[] | undefined;
  unions: Json[][];
  /** The last segment of the reference that was followed first. */
  reference: string | undefined;
  /** The schemas that were merged are too many to read. */
  excess: boolean;
  merged: number;
}

/** One of the forms that a value may have. */
export interface Alternative {
  view: View;
  name: string;
  description: string | undefined;
}

export interface Option {
  value: Json;
  label: string;
}

const NOTES = [
  "title", "description", "default", "examples", "format", "writeOnly", "readOnly", "deprecated", "minimum", "maximum",
  "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
  "uniqueItems", "minProperties", "maxProperties", "contentEncoding", "contentMediaType",
];

function empty(): View {
  return {
    types: undefined, notes: new Map(), properties: new Map(), required: new Set(), patterns: [], rest: undefined,
    names: undefined, prefix: [], items: undefined, values: undefined, unions: [], reference: undefined, excess: false,
    merged: 0,
  };
}

function copy(view: View): View {
  return {
    ...view, notes: new Map(view.notes), properties: new Map(view.properties), required: new Set(view.required),
    patterns: [...view.patterns], prefix: [...view.prefix], unions: [...view.unions],
  };
}

function both(left: Json | undefined, right: Json): Json {
  if (left === undefined || left === true) return right;
  if (right === true || left === false) return left;
  return right === false ? false : { allOf: [left, right] };
}

function texts(value: Json | undefined): string[] {
  const list = typeof value === "string" ? [value] : Array.isArray(value) ? value : [];
  return list.filter((item) => typeof item === "string");
}

function commonTypes(left: string[] | undefined, right: string[]): string[] {
  if (left === undefined) return right;
  const common = left.filter((type) => right.includes(type) || (type === "integer" && right.includes("number")));
  return left.includes("number") && right.includes("integer") && !common.includes("integer") ? [...common, "integer"] : common;
}

/** The views of one document. */
export class Schemas {
  private readonly views = new WeakMap<object, View>();
  private readonly choices = new WeakMap<View, Alternative[]>();
  private readonly listed = new WeakMap<View, Option[] | null>();
  private readonly joined = new WeakMap<View, Map<string, Json>>();
  private readonly any = empty();
  private readonly none: View = { ...empty(), types: [] };

  constructor(private readonly root: Json) {}

  /** Returns the view of a schema of the document. */
  view(schema: Json): View {
    if (!isObject(schema)) return schema === false ? this.none : this.any;
    let view = this.views.get(schema);
    if (view === undefined) {
      view = empty();
      this.merge(view, schema, new Set());
      this.views.set(schema, view);
    }
    return view;
  }

  private merge(into: View, schema: Json, above: Set<Json>): void {
    if (schema === false) into.types = [];
    if (!isObject(schema) || above.has(schema)) return;
    into.merged += 1;
    if (into.merged > MERGED) {
      into.excess = true;
      return;
    }
    const within = new Set(above).add(schema);
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const reference = member(schema, keyword);
      if (typeof reference === "string") {
        into.reference ??= decode(reference.slice(reference.lastIndexOf("/") + 1)).replace(/^#/, "");
        const target = this.target(reference);
        if (target === undefined) into.excess = true;
        else this.merge(into, target, within);
      }
    }
    const all = member(schema, "allOf");
    for (const part of Array.isArray(all) ? all.slice(0, MERGED) : []) this.merge(into, part, within);
    this.own(into, schema);
    this.conditional(into, schema, within);
  }

  /** Members that are declared under a condition only: they may be there, and the gate says when. */
  private conditional(into: View, schema: JsonObject, above: Set<Json>): void {
    const dependent = member(schema, "dependentSchemas");
    const parts = [member(schema, "then"), member(schema, "else"), ...(isObject(dependent) ? Object.values(dependent) : [])];
    for (const part of parts) {
      if (!isObject(part)) continue;
      const view = { ...empty(), merged: into.merged };
      this.merge(view, part, above);
      into.merged = view.merged;
      for (const [name, property] of view.properties) {
        if (!into.properties.has(name)) into.properties.set(name, property);
      }
    }
  }

  private own(into: View, schema: JsonObject): void {
    const types = texts(member(schema, "type"));
    if (types.length > 0) into.types = commonTypes(into.types, [...new Set(types)]);
    for (const keyword of NOTES) {
      const note = member(schema, keyword);
      if (note !== undefined) into.notes.set(keyword, note);
    }
    const properties = member(schema, "properties");
    for (const [name, property] of isObject(properties) ? Object.entries(properties) : []) {
      into.properties.set(name, both(into.properties.get(name), property));
    }
    for (const name of texts(member(schema, "required"))) into.required.add(name);
    const patterns = member(schema, "patternProperties");
    if (isObject(patterns)) into.patterns.push(...Object.entries(patterns));
    for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
      const rest = member(schema, keyword);
      if (rest !== undefined) {
        into.rest = both(into.rest, rest);
        break;
      }
    }
    const names = member(schema, "propertyNames");
    if (names !== undefined) into.names = both(into.names, names);
    this.lists(into, schema);
    this.alternatives_of(into, schema);
  }

  private lists(into: View, schema: JsonObject): void {
    const items = member(schema, "items");
    // Before 2020-12, `items` was what `prefixItems` is, and `additionalItems` what `items` is.
    const prefix = member(schema, "prefixItems") ?? (Array.isArray(items) ? items : undefined);
    if (Array.isArray(prefix)) {
      prefix.slice(0, LISTED).forEach((item, at) => {
        into.prefix[at] = both(into.prefix[at], item);
      });
    }
    const rest = Array.isArray(items) ? member(schema, "additionalItems") : items;
    if (rest !== undefined) into.items = both(into.items, rest);
  }

  private alternatives_of(into: View, schema: JsonObject): void {
    const constant = member(schema, "const");
    const listed = member(schema, "enum");
    for (const values of [constant === undefined ? undefined : [constant], listed]) {
      if (Array.isArray(values)) {
        into.values = into.values?.filter((value) => values.slice(0, 5000).some((other) => equal(value, other))) ?? values;
      }
    }
    const unions: Json[][] = [];
    for (const keyword of ["oneOf", "anyOf"]) {
      const union = member(schema, keyword);
      if (Array.isArray(union) && union.length > 0) unions.push(union);
    }
    into.unions.unshift(...unions);
  }

  private target(reference: string): Json | undefined {
    if (reference === "#" || reference === "") return this.root;
    if (reference.startsWith("#/")) {
      let at: Json | undefined = this.root;
      for (const segment of reference.slice(2).split("/").slice(0, 64)) {
        const name = decode(segment).replaceAll("~1", "/").replaceAll("~0", "~");
        at = Array.isArray(at) && /^\d+$/.test(name) ? at[Number(name)] : member(at, name);
      }
      return at;
    }
    const id = member(this.root, "$id");
    if (typeof id === "string" && id !== "" && reference.startsWith(id)) return this.target(reference.slice(id.length));
    for (const keyword of ["$defs", "definitions"]) {
      const defined = member(this.root, keyword);
      for (const schema of isObject(defined) ? Object.values(defined) : []) {
        const anchors = [member(schema, "$anchor"), member(schema, "$dynamicAnchor")];
        if (anchors.some((anchor) => typeof anchor === "string" && reference === `#${anchor}`)) return schema;
        if (member(schema, "$id") === reference) return schema;
      }
    }
    return undefined;
  }

  /** Returns the kind of input that a place gets. */
  kind(view: View): Kind {
    if (view.excess || view.types?.length === 0) return "json";
    if (this.options(view) !== undefined) return "options";
    if (view.values !== undefined) return "json";
    if (view.unions.length > 0 || (view.types !== undefined && view.types.length > 1)) {
      return this.alternatives(view).length > LISTED ? "json" : "choice";
    }
    switch (view.types?.[0]) {
      case "string":
      case "null":
      case "object":
      case "array":
        return view.types[0];
      case "integer":
      case "number":
        return "number";
      case undefined:
        if (view.properties.size > 0 || view.patterns.length > 0 || isObject(view.rest)) return "object";
        return view.prefix.length > 0 || isObject(view.items) ? "array" : "json";
      default:
        return "json";
    }
  }

  /** Returns the values of a place that has a few constants; none, if it has others, or too many. */
  options(view: View): Option[] | undefined {
    let options = this.listed.get(view);
    if (options === undefined) {
      options = this.constants(view) ?? null;
      this.listed.set(view, options);
    }
    return options ?? undefined;
  }

  private constants(view: View): Option[] | undefined {
    if (view.excess) return undefined;
    const fits = (value: Json) => view.types === undefined || view.types.some((type) => isOfType(value, type));
    if (view.values !== undefined) {
      const names = member(this.notesOf(view), "enumNames");
      const values = view.values.length <= LISTED ? view.values.filter(fits) : [];
      if (values.length === 0) return undefined;
      // Among other values, a text is quoted: 1 and "1" are two.
      const mixed = values.some((value) => typeof value !== "string");
      return values.map((value, at) => ({ value, label: texts(names)[at] ?? optionLabel(value, mixed) }));
    }
    if (view.types?.length === 1 && view.types[0] === "boolean" && view.unions.length === 0) {
      return [{ value: true, label: "true" }, { value: false, label: "false" }];
    }
    if (view.unions.length !== 1) return undefined;
    const all = this.alternatives(view);
    const options = all.flatMap(({ view, name, description }) => {
      const note = description === undefined ? "" : `: ${description}`;
      if (view.unions.length > 0) return [];
      if (view.values?.length === 1) return [{ value: view.values[0] as Json, label: `${name}${note}` }];
      if (view.types?.length === 1 && view.types[0] === "null") return [{ value: null, label: "null" }];
      return view.values?.map((value) => ({ value, label: optionLabel(value) })) ?? [];
    });
    const constant = ({ view }: Alternative) => view.values !== undefined || view.types?.[0] === "null";
    return all.every(constant) && options.length <= LISTED && options.length > 0 ? options : undefined;
  }

  private notesOf(view: View): JsonObject {
    return Object.fromEntries(view.notes);
  }

  /** Returns the forms that a value of this place may have. */
  alternatives(view: View): Alternative[] {
    let found = this.choices.get(view);
    if (found === undefined) {
      found = unique(this.expanded(view, FLATTENED));
      this.choices.set(view, found);
    }
    return found;
  }

  private expanded(view: View, levels: number): Alternative[] {
    const [union, ...others] = view.unions;
    if (union === undefined) {
      return (view.types ?? []).map((type) => {
        const single = { ...copy(view), types: [type] };
        return { view: single, name: typeName(type), description: undefined };
      });
    }
    const base: View = { ...copy(view), unions: [], reference: undefined, merged: 0 };
    for (const note of ["title", "description", "default", "examples"]) base.notes.delete(note);
    return union.slice(0, LISTED + 1).flatMap((branch) => {
      const combined = copy(base);
      this.merge(combined, branch, new Set());
      const own = this.view(branch);
      const within = combined.unions.length > 0 || (others.length === 0 && (combined.types?.length ?? 0) > 1);
      combined.unions.push(...others);
      if (within && levels > 0 && !combined.excess && combined.values === undefined) {
        const below = this.expanded(combined, levels - 1);
        // The alternatives of another union are chosen after this one.
        if (below.length <= 60) return below;
      }
      const description = own.notes.get("description");
      return [{
        view: combined,
        name: this.nameOf(own, combined),
        description: typeof description === "string" ? description : undefined,
      }];
    });
  }

  /** Names an alternative by its title, its constants, or its form. */
  private nameOf(own: View, combined: View): string {
    const title = own.notes.get("title");
    if (typeof title === "string" && title !== "") return brief(title);
    if (own.values?.length === 1) return brief(own.values[0] as Json);
    const tags: string[] = [];
    for (const [name, property] of combined.properties) {
      if (tags.length >= 3) break;
      const values = combined.required.has(name) ? this.view(property).values : undefined;
      if (values?.length === 1) tags.push(brief(values[0] as Json));
    }
    if (tags.length > 0) return tags.join(", ");
    const [only] = own.properties.keys();
    if (only !== undefined && own.properties.size === 1 && own.required.has(only)) return brief(only);
    if (own.reference) return brief(own.reference);
    if (own.properties.size > 0) {
      const names = [...own.properties.keys()].filter((name) => own.required.size === 0 || own.required.has(name));
      return brief(`with ${names.slice(0, 3).join(", ")}`);
    }
    if (own.required.size > 0) return brief(`with ${[...own.required].slice(0, 3).join(", ")}`);
    if (own.values !== undefined) return brief(`one of ${own.values.slice(0, 3).map((value) => brief(value)).join(", ")}`);
    const [type] = combined.types ?? [];
    return type === undefined ? "any" : typeName(type);
  }

  /** Returns the schema of a member that is not declared; `false` if none may be there. */
  restOf(view: View, name: string): Json {
    const found = view.patterns.filter(([pattern]) => matches(pattern, name));
    const [only] = found;
    if (only === undefined) return view.rest ?? true;
    if (found.length === 1) return only[1];
    // The same patterns give the same object, so that a field knows its schema again.
    const joined = this.joined.get(view) ?? new Map<string, Json>();
    this.joined.set(view, joined);
    const key = JSON.stringify(found.map(([pattern]) => pattern));
    const schema = joined.get(key) ?? found.map(([, schema]) => schema).reduce(both);
    joined.set(key, schema);
    return schema;
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Runs a pattern of a schema if it cannot take long: no groups, and at most two repetitions without a limit. */
function matches(pattern: string, name: string): boolean {
  const plain = pattern.length <= 100 && name.length <= 1000 && !/[()]|\\[1-9k]/.test(pattern);
  if (!plain || (pattern.match(/[*+{]/g) ?? []).length > 2) return false;
  try {
    return new RegExp(pattern, "u").test(name);
  } catch {
    return false;
  }
}

function typeName(type: string): string {
  const names: Record<string, string> = {
    string: "text", integer: "integer", number: "number", boolean: "true or false", array: "list", object: "object", null: "null",
  };
  return Object.hasOwn(names, type) ? (names[type] as string) : brief(type);
}

function optionLabel(value: Json, quoted = false): string {
  return quoted ? quote(write(value), 100) : brief(value, 100);
}

function unique(alternatives: Alternative[]): Alternative[] {
  const seen = new Map<string, number>();
  return alternatives.map((alternative) => {
    const count = (seen.get(alternative.name) ?? 0) + 1;
    seen.set(alternative.name, count);
    return count === 1 ? alternative : { ...alternative, name: `${alternative.name} (${count})` };
  });
}

/** Returns `true` if a value is of a type of JSON Schema. */
export function isOfType(value: Json, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "number":
      return isNumber(value);
    case "integer":
      return isNumber(value) && Number.isInteger(Number(String(value)));
    default:
      return typeof value === type;
  }
}

/** Returns `true` for a text in a number's place that a user has begun to write. */
export function isDraft(value: Json | undefined): value is string {
  return typeof value === "string" && !isNumberText(value) && value.length <= 400;
}
