// Dates and times between the texts that a schema wants and the native inputs, which have no offset.

import type { View } from "./schema";

/** The input of a format, and whether its text ends with an offset from UTC. */
export interface MomentKind {
  type: "date" | "datetime-local" | "time";
  hasOffset: boolean;
}

/** What an input and the choice of an offset show of a text. */
export interface Moment {
  /** The value of the input; empty while none is chosen. */
  local: string;
  /** `Z`, or an offset such as `+02:00`; empty where the format has none. */
  offset: string;
}

const KINDS: Record<string, MomentKind> = {
  date: { type: "date", hasOffset: false },
  "date-time": { type: "datetime-local", hasOffset: true },
  time: { type: "time", hasOffset: true },
  // Of schemars and OpenAPI: without an offset.
  "partial-date-time": { type: "datetime-local", hasOffset: false },
  "date-time-local": { type: "datetime-local", hasOffset: false },
  "partial-time": { type: "time", hasOffset: false },
  "time-local": { type: "time", hasOffset: false },
};

export function momentKind(view: View): MomentKind | undefined {
  const format = view.notes.get("format");
  return typeof format === "string" && Object.hasOwn(KINDS, format) ? KINDS[format] : undefined;
}

const DATE = String.raw`\d{4}-\d{2}-\d{2}`;
// The inputs hold thousandths, and no more.
const TIME = String.raw`\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?`;
const LOCAL = {
  date: DATE,
  "datetime-local": `${DATE}T${TIME}`,
  time: TIME,
};

/** Reads a text; `undefined` if the input would show it otherwise, or not at all. */
export function momentOf(text: string, kind: MomentKind): Moment | undefined {
  if (text === "") return { local: "", offset: "" };
  const offset = kind.hasOffset ? String.raw`(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)` : "()";
  const found = new RegExp(`^(${LOCAL[kind.type]})${offset}$`).exec(text);
  const local = found?.[1];
  if (local === undefined || !exists(local, kind)) return undefined;
  // An input gives seconds only where they are not 0.
  return { local: local.replace(/(:\d{2}):00$/, "$1"), offset: found?.[2] ?? "" };
}

/** Returns `true` for a date and a time that a calendar and a clock have; there is no 30 February, and no second 60. */
function exists(local: string, { type }: MomentKind): boolean {
  const whole = type === "date" ? `${local}T00:00:00` : type === "time" ? `2000-01-01T${local}` : local;
  const utc = new Date(`${whole}Z`);
  // The inputs have no year 0.
  return !Number.isNaN(utc.getTime()) && utc.toISOString().startsWith(whole.slice(0, 19)) && !whole.startsWith("0000");
}

/** Writes the value of an input as the text of the schema: seconds are part of it, also where they are 0. */
export function momentText({ local, offset }: Moment, kind: MomentKind): string {
  const seconds = kind.type !== "date" && /(?:^|T)\d{2}:\d{2}$/.test(local) ? ":00" : "";
  return local === "" ? "" : local + seconds + (kind.hasOffset ? offset : "");
}

/** Returns the offset of this browser at a time of its clock; now, without one. */
export function offsetHere(local = ""): string {
  const at = local.includes("T") ? new Date(local) : new Date();
  const minutes = -(Number.isNaN(at.getTime()) ? new Date() : at).getTimezoneOffset();
  return offsetOf(minutes);
}

function offsetOf(minutes: number): string {
  const two = (value: number) => String(Math.floor(Math.abs(value))).padStart(2, "0");
  return minutes === 0 ? "Z" : `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** The offsets in use that are no whole hours, in minutes. */
const ODD = [-570, -210, -150, 210, 270, 330, 345, 390, 525, 570, 630, 765, 825];

/** Returns the offsets to choose from, those given among them. */
export function offsets(...given: string[]): string[] {
  const hours = Array.from({ length: 27 }, (_, at) => (at - 12) * 60);
  const all = [...hours, ...ODD].sort((left, right) => left - right).map(offsetOf);
  return [...new Set(["Z", ...given.filter((one) => one !== ""), ...all])];
}

/** Returns the moment now, by the clock of this browser. */
export function now(kind: MomentKind): Moment {
  const at = new Date();
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  const [date = "", time = ""] = local.split("T");
  return { local: kind.type === "date" ? date : kind.type === "time" ? time : local, offset: offsetHere() };
}
