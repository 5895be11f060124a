// A user of a form, within the page: finds places by their paths, types, chooses, adds, and reads what is shown.
//
// The driver knows the value that it is to enter, and the page; it does not see the schema.

import { needsEscapes } from "../../src/form/inputs";
import { momentOf, momentText, type MomentKind } from "../../src/form/moment";
import { equal, isObject, type Json, parse, write } from "../../src/form/json";
import { brief, itemPath, memberPath, quote } from "../../src/form/text";

export interface Counts {
  inputs: number;
  /** Text boxes for JSON where any value may be. */
  boxes: number;
  /** Text boxes for JSON where a text has characters that no input keeps, or is a time that no picker holds. */
  escaped: number;
}

/** Presses keys, and writes texts, at the element that has the focus. */
export type Keys = (actions: (["press", string] | ["write", string])[]) => Promise<void>;

export class Driver {
  readonly counts: Counts = { inputs: 0, boxes: 0, escaped: 0 };
  /** The places whose picker cannot hold the text. */
  private readonly unheld = new Set<string>();

  constructor(
    private readonly root: Element,
    private readonly current: () => Json | undefined,
    private readonly keys?: Keys,
  ) {}

  /** The place of that path. */
  at(path: string): HTMLElement {
    const found = this.root.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`);
    if (found === null) throw new Error(`there is no place ${path}`);
    return found;
  }

  /** The controls of a place itself, and not of those within it. */
  own<E extends HTMLElement>(path: string, part: string): E[] {
    const place = this.at(path);
    return [...place.querySelectorAll<E>(`[data-part="${part}"]`)].filter((one) => one.closest("[data-path]") === place);
  }

  children(path: string): string[] {
    const place = this.at(path);
    return [...place.querySelectorAll<HTMLElement>("[data-path]")]
      .filter((one) => one.parentElement?.closest("[data-path]") === place)
      .map((one) => one.dataset.path ?? "");
  }

  async press(control: HTMLElement): Promise<void> {
    control.focus();
    if (this.keys) await this.keys([["press", "Space"]]);
    else control.click();
    await settle();
  }

  async type(control: HTMLInputElement | HTMLTextAreaElement, text: string): Promise<void> {
    control.focus();
    if (this.keys) return this.keys([["press", "Control+A"], ["press", "Delete"], ["write", text]]);
    const kind = control instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
    Object.getOwnPropertyDescriptor(kind.prototype, "value")?.set?.call(control, text);
    control.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await settle();
  }

  async choose(control: HTMLSelectElement, at: string): Promise<void> {
    control.focus();
    if (this.keys) {
      const index = [...control.options].findIndex((option) => option.value === at);
      if (control.value === at) return;
      return this.keys([["press", "Home"], ...Array<["press", string]>(index).fill(["press", "ArrowDown"])]);
    }
    control.value = at;
    control.dispatchEvent(new Event("change", { bubbles: true }));
    await settle();
  }

  /** Chooses from the menu of a place; returns `false` if it has no such item. */
  private async menu(path: string, part: string): Promise<boolean> {
    const [button] = this.own(path, "menu");
    if (!button) return false;
    await this.press(button);
    const [item] = this.own(path, part);
    await this.press(item ?? button);
    return item !== undefined;
  }

  /** Enters a value at a place. */
  async enter(path: string, value: Json | undefined): Promise<void> {
    const begun = at(this.current(), path);
    if (value === undefined) {
      if (begun !== undefined) await this.menu(path, "leave-out");
      return;
    }
    if (value === null && (await this.menu(path, "null"))) return;
    const kind = this.at(path).dataset.kind ?? "";
    const [fill] = this.own(path, "fill-in");
    if (fill) await this.press(fill);
    else if (begun === undefined && value === "") await this.menu(path, "send");
    await this.open(path);
    if (equal(at(this.current(), path), value)) return;
    const done = await this.into(path, kind, 0, value);
    if (!done) await this.asJson(path, value);
  }

  private async open(path: string): Promise<void> {
    const [open] = this.own(path, "open");
    if (open?.getAttribute("aria-expanded") === "false") await this.press(open);
  }

  private async asJson(path: string, value: Json): Promise<void> {
    if (this.own(path, "json").length === 0) {
      if (!(await this.menu(path, "as-json"))) throw new Error(`${path} takes no JSON, and ${write(value)} is to be entered`);
    }
    await this.box(path, value);
  }

  private async box(path: string, value: Json): Promise<boolean> {
    const [box] = this.own<HTMLTextAreaElement>(path, "json");
    if (!box) return false;
    if (!this.isBoxed(path, value)) throw new Error(`${path} takes ${write(value)} as JSON only`);
    if (typeof value === "string" && (needsEscapes(value) || this.unheld.has(path))) this.counts.escaped += 1;
    else this.counts.boxes += 1;
    await this.type(box, write(value));
    return true;
  }

  /** Returns `true` if a place takes JSON text: any value may be there, or this one has characters that no input keeps. */
  private isBoxed(path: string, value: Json): boolean {
    const place = this.at(path);
    const choices = [...place.querySelectorAll<HTMLElement>(".form-choice")].filter((one) => one.closest("[data-path]") === place);
    const kind = choices.at(-1)?.dataset.form ?? place.dataset.kind;
    return kind === "json" || this.unheld.has(path) || (typeof value === "string" && needsEscapes(value));
  }

  /** The kind of the picker of a place, if it has one. */
  private picker(path: string): MomentKind | undefined {
    const [input] = this.own<HTMLInputElement>(path, "input");
    const type = input?.type;
    if (type !== "date" && type !== "datetime-local" && type !== "time") return undefined;
    return { type, hasOffset: this.own(path, "offset").length > 0 };
  }

  private async moment(path: string, kind: MomentKind, text: string): Promise<boolean> {
    const moment = momentOf(text, kind);
    const [input] = this.own<HTMLInputElement>(path, "input");
    const [offset] = this.own<HTMLSelectElement>(path, "offset");
    const isOffered = !offset || (moment !== undefined && [...offset.options].some((one) => one.value === moment.offset));
    if (!input || !moment?.local || !isOffered || (this.keys && moment.local.includes("."))) {
      this.unheld.add(path);
      return false;
    }
    this.counts.inputs += 1;
    if (offset) await this.choose(offset, moment.offset);
    if (!this.keys) {
      await this.type(input, moment.local);
      return true;
    }
    // The parts in the order of en-US, each of which leads to the next.
    const [date, time] = kind.type === "time" ? [undefined, moment.local] : moment.local.split("T");
    const [year = "", month = "", day = ""] = date?.split("-") ?? [];
    const [hour = "", minute = "", second = "00"] = time?.split(":") ?? [];
    const twelve = String(Number(hour) % 12 || 12).padStart(2, "0");
    const clock = time === undefined ? "" : `${twelve}${minute}${second}${Number(hour) < 12 ? "AM" : "PM"}`;
    input.focus();
    await this.keys([["write", month + day + year + clock]]);
    return true;
  }

  /** Enters a value with the inputs of a kind; returns `false` if it is not of that kind. */
  private async into(path: string, kind: string, level: number, value: Json): Promise<boolean> {
    const [box] = this.own(path, "json");
    if (box) return this.box(path, value);
    switch (kind) {
      case "string": {
        const [input] = this.own<HTMLInputElement>(path, "input");
        if (!input || typeof value !== "string" || needsEscapes(value)) return false;
        const picker = this.picker(path);
        if (picker) return this.moment(path, picker, value);
        this.counts.inputs += 1;
        await this.type(input, value);
        return true;
      }
      case "number": {
        const [input] = this.own<HTMLInputElement>(path, "input");
        if (!input || typeof value === "string" || typeof value === "boolean" || value === null || Array.isArray(value)) return false;
        if (isObject(value)) return false;
        this.counts.inputs += 1;
        await this.type(input, String(value));
        return true;
      }
      case "options":
        return this.option(path, value);
      case "null":
        return value === null;
      case "object":
        return isObject(value) && this.members(path, value);
      case "array":
        return Array.isArray(value) && this.items(path, value);
      case "choice":
        return this.choice(path, level, value);
      default:
        return false;
    }
  }

  private async option(path: string, value: Json): Promise<boolean> {
    const [select] = this.own<HTMLSelectElement>(path, "options");
    if (!select) return false;
    const named = [...select.options].filter((option) => isLabel(option.text, value));
    for (const option of named.length > 0 ? named : [...select.options]) {
      this.counts.inputs += 1;
      await this.choose(select, option.value);
      if (equal(at(this.current(), path), value)) return true;
    }
    return false;
  }

  private async members(path: string, value: { [key: string]: Json }): Promise<boolean> {
    const wanted = new Map(Object.entries(value).map(([name, item]) => [memberPath(path, name), item]));
    await this.all(path);
    for (const child of this.children(path)) {
      if (wanted.has(child)) continue;
      const [remove] = this.own(child, "remove");
      if (remove) await this.press(remove);
      else await this.enter(child, undefined);
    }
    const there = new Set(this.children(path));
    for (const [name, item] of Object.entries(value)) {
      const child = memberPath(path, name);
      if (!there.has(child) && !(await this.added(path, name))) return false;
      await this.enter(child, item);
    }
    return true;
  }

  private async added(path: string, name: string): Promise<boolean> {
    const [input] = this.own<HTMLInputElement>(path, "new-name");
    const [add] = this.own(path, "add-member");
    if (!input || !add) return false;
    const details = input.closest("details");
    if (details && !details.open) await this.press(details.querySelector("summary") as HTMLElement);
    await this.type(input, name);
    await this.press(add);
    return true;
  }

  private async items(path: string, value: Json[]): Promise<boolean> {
    await this.all(path);
    for (let left = 1000; this.children(path).length > value.length && left > 0; left -= 1) {
      const last = this.children(path).at(-1) as string;
      const [remove] = this.own(last, "remove");
      if (!remove) return false;
      await this.press(remove);
    }
    for (const [index, item] of value.entries()) {
      if (index >= this.children(path).length) {
        const [add] = this.own(path, "add");
        if (!add) return false;
        await this.press(add);
      }
      await this.enter(itemPath(path, index), item);
    }
    return true;
  }

  private async all(path: string): Promise<void> {
    for (let left = 100; left > 0; left -= 1) {
      const [more] = this.own(path, "more");
      if (!more) return;
      await this.press(more);
    }
  }

  /** Tries the forms that the choice offers, those first that look like the value. */
  private async choice(path: string, level: number, value: Json): Promise<boolean> {
    const select = () => this.own<HTMLSelectElement>(path, "choice")[level];
    const offered = [...(select()?.options ?? [])].map((option) => option.value).filter((at) => at !== "-1");
    for (const at_ of offered) {
      const control = select();
      if (!control) return false;
      this.counts.inputs += 1;
      await this.choose(control, at_);
      const begun = at(this.current(), path);
      if (equal(begun, value)) return true;
      const form = this.at(path).querySelectorAll<HTMLElement>(":scope .form-choice");
      const own = [...form].filter((one) => one.closest("[data-path]") === this.at(path))[level];
      const kind = own?.dataset.form ?? "";
      if (!this.resembles(path, kind, begun, value)) continue;
      if ((await this.into(path, kind, level + 1, value)) && equal(at(this.current(), path), value)) return true;
    }
    return false;
  }

  private resembles(path: string, kind: string, begun: Json | undefined, value: Json): boolean {
    if (kind === "object") {
      if (!isObject(value)) return false;
      if (isObject(begun) && Object.keys(begun).some((name) => !Object.hasOwn(value, name))) return false;
      // A tag that can have one value only.
      return this.children(path).every((child) => {
        const [options] = this.own<HTMLSelectElement>(child, "options");
        const name = Object.keys(value).find((name) => memberPath(path, name) === child);
        if (!options || name === undefined || options.options.length > 1) return true;
        return options.options[0]?.text.startsWith(brief(value[name] as Json, 100)) ?? true;
      });
    }
    if (kind === "array") return Array.isArray(value);
    if (kind === "string") return typeof value === "string";
    if (kind === "null") return value === null;
    return true;
  }

  /** Says in which place the page does not show the value, reading inputs only. */
  async difference(path: string, value: Json | undefined): Promise<string | undefined> {
    const differs = (shown: string) => `${path || "the whole"} shows ${shown}, not ${value === undefined ? "nothing" : write(value)}`;
    const isFilled = this.own(path, "fill-in").length === 0;
    const state = this.own(path, "state")[0]?.textContent;
    if (!isFilled) return state === (value === null ? "null" : undefined) && value == null ? undefined : differs(state ?? "nothing");
    if (value === undefined) {
      const inputs = ["input", "options", "choice"].flatMap((part) => this.own<HTMLInputElement | HTMLSelectElement>(path, part));
      const is = inputs.every((input) => input.value === "" || input.value === "-1") && state === undefined;
      return is ? undefined : differs(inputs.map((input) => input.value).join());
    }
    await this.open(path);
    const [box] = this.own<HTMLTextAreaElement>(path, "json");
    if (box) return equal(parse(box.value), value) && this.isBoxed(path, value) ? undefined : differs(`the JSON ${box.value}`);
    const [input] = this.own<HTMLInputElement>(path, "input");
    const picker = this.picker(path);
    if (input && picker) {
      const [offset] = this.own<HTMLSelectElement>(path, "offset");
      const text = momentText({ local: input.value, offset: offset?.value ?? "" }, picker);
      return text === value ? undefined : differs(text);
    }
    if (input) return input.value === (typeof value === "string" ? value : write(value)) ? undefined : differs(input.value);
    const [options] = this.own<HTMLSelectElement>(path, "options");
    if (options) {
      const text = options.selectedOptions[0]?.text ?? "";
      return isLabel(text, value) ? undefined : differs(text);
    }
    if (isObject(value)) {
      await this.all(path);
      const there = this.children(path);
      const wanted = new Map(Object.entries(value).map(([name, item]) => [memberPath(path, name), item]));
      for (const missing of wanted.keys()) if (!there.includes(missing)) return differs(`no ${missing}`);
      for (const child of there) {
        const below = await this.difference(child, wanted.get(child));
        if (below) return below;
      }
      return undefined;
    }
    if (Array.isArray(value)) {
      await this.all(path);
      if (this.children(path).length !== value.length) return differs(`${this.children(path).length} items`);
      for (const [index, item] of value.entries()) {
        const below = await this.difference(itemPath(path, index), item);
        if (below) return below;
      }
      return undefined;
    }
    const [choice] = this.own<HTMLSelectElement>(path, "choice");
    const text = choice?.selectedOptions[0]?.text;
    if (text !== undefined) return text.startsWith(brief(value)) ? undefined : differs(text);
    return value === null ? undefined : differs("no input");
  }
}

/** Returns `true` if an option of that text stands for the value. */
function isLabel(text: string, value: Json): boolean {
  return [brief(value, 100), quote(write(value), 100)].some((label) => text === label || text.startsWith(`${label}: `));
}

/** Waits for the drawing that an event asked for. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
}

/** The value at a path, found by comparing the paths of members. */
export function at(value: Json | undefined, path: string, above = ""): Json | undefined {
  if (path === above) return value;
  const below: [string, Json][] = Array.isArray(value)
    ? value.map((item, index) => [itemPath(above, index), item])
    : isObject(value)
      ? Object.entries(value).map(([name, item]) => [memberPath(above, name), item])
      : [];
  for (const [child, item] of below) {
    const next = path[child.length];
    if (path.startsWith(child) && (next === undefined || next === "." || next === "[")) {
      const found = at(item, path, child);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
