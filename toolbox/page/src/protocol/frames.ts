// The messages of the servers as they were on the wire, and sums over them.
import { post } from "../api";
import { Store } from "../store";

export interface ProtocolFault {
  rule: string;
  message: string;
}

export interface Frame {
  number: number;
  time_ms: number;
  server: string;
  connection: number;
  direction: "sent" | "received";
  kind: "request" | "result" | "error" | "notification" | "invalid";
  method: string | null;
  id: string | null;
  /** The number of the frame with the request that this answers. */
  request: number | null;
  duration_ms: number | null;
  bytes: number;
  text: string;
  is_cut: boolean;
  faults: ProtocolFault[];
}

/** The most frames, and the most characters of them, that are kept. */
const MAX_FRAMES = 10_000;
const MAX_CHARACTERS = 32_000_000;

/** The time between two requests for frames. */
const PAUSE = 300;

export class FrameList {
  frames: Frame[] = [];
  /** The frames that the program forgot before they came here. */
  lost = 0;
  /** The number of frames with faults, forgotten ones included. */
  faulty = 0;
  #characters = 0;

  add(frames: Frame[]): void {
    for (const frame of frames) {
      this.frames.push(frame);
      this.#characters += frame.text.length;
      this.faulty += frame.faults.length > 0 ? 1 : 0;
    }
    let gone = 0;
    while (this.frames.length - gone > MAX_FRAMES || this.#characters > MAX_CHARACTERS) {
      this.#characters -= this.frames[gone]!.text.length;
      gone += 1;
    }
    this.frames.splice(0, gone);
  }
}

export const frames = new Store(new FrameList());

let next = 1;
let wanted = 0;
let busy = false;

/** Takes the number of frames that the program has had, and fetches those that are new. */
export function framesCame(count: number | null): void {
  wanted = count ?? 0;
  if (!busy && wanted >= next) {
    void fetchFrames();
  }
}

/** Begins anew: the program was started again. */
export function forgetFrames(): void {
  next = 1;
  wanted = 0;
  frames.set(new FrameList());
}

async function fetchFrames(): Promise<void> {
  busy = true;
  try {
    while (next <= wanted) {
      const list = frames.value;
      const batch = await post<{ frames: Frame[]; next: number; lost: number }>("/api/frames", { from: next });
      if (frames.value !== list) {
        continue;
      }
      list.lost += batch.lost;
      list.add(batch.frames);
      if (batch.next <= next) {
        break;
      }
      next = batch.next;
      frames.touch();
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  } catch {
    // The next count of the stream tries again.
  }
  busy = false;
}

export interface Latency {
  method: string;
  direction: "sent" | "received";
  count: number;
  errors: number;
  waiting: number;
  median: number;
  most: number;
  slowest: number;
}

/** Returns the times of the answers, by method and by who asked. */
export function latencies(all: Frame[]): Latency[] {
  const groups = new Map<string, { method: string; direction: "sent" | "received"; times: number[]; errors: number; waiting: Set<number> }>();
  const group = (method: string, direction: "sent" | "received") => {
    const key = `${direction} ${method}`;
    let own = groups.get(key);
    if (!own) {
      own = { method, direction, times: [], errors: 0, waiting: new Set() };
      groups.set(key, own);
    }
    return own;
  };
  for (const frame of all) {
    if (frame.kind === "request") {
      group(frame.method ?? "", frame.direction).waiting.add(frame.number);
    } else if (frame.request !== null && frame.duration_ms !== null) {
      const own = group(frame.method ?? "", frame.direction === "sent" ? "received" : "sent");
      own.waiting.delete(frame.request);
      own.times.push(frame.duration_ms);
      own.errors += frame.kind === "error" ? 1 : 0;
    }
  }
  const at = (times: number[], share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return [...groups.values()]
    .map(({ method, direction, times, errors, waiting }) => {
      times.sort((a, b) => a - b);
      const [median, most, slowest] = [at(times, 0.5), at(times, 0.95), at(times, 1)];
      return { method, direction, count: times.length, errors, waiting: waiting.size, median, most, slowest };
    })
    .sort((a, b) => b.count - a.count);
}

export interface Task {
  id: string;
  server: string;
  status: string;
  message: string;
  began: number;
  changed: number;
  frame: Frame;
}

/** Returns the tasks that the servers spoke of, the newest first. */
export function tasks(all: Frame[]): Task[] {
  const found = new Map<string, Task>();
  for (const frame of all) {
    if (frame.direction !== "received" || frame.is_cut || !frame.text.includes('"taskId"')) {
      continue;
    }
    let message: any;
    try {
      message = JSON.parse(frame.text);
    } catch {
      continue;
    }
    const own = [message.result, message.result?.task, message.params].find((own) => typeof own?.taskId === "string" && typeof own.status === "string");
    if (own) {
      const key = `${frame.connection} ${own.taskId}`;
      const before = found.get(key);
      found.delete(key);
      found.set(key, {
        id: own.taskId,
        server: frame.server,
        status: own.status,
        message: typeof own.statusMessage === "string" ? own.statusMessage : "",
        began: before?.began ?? frame.time_ms,
        changed: frame.time_ms,
        frame,
      });
    }
  }
  return [...found.values()].reverse();
}

export interface Breach {
  rule: string;
  count: number;
  last: Frame;
  message: string;
}

/** Returns the rules that were broken, each with the last frame that did. */
export function breaches(all: Frame[]): Breach[] {
  const found = new Map<string, Breach>();
  for (const frame of all) {
    for (const { rule, message } of frame.faults) {
      found.set(rule, { rule, count: (found.get(rule)?.count ?? 0) + 1, last: frame, message });
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}
