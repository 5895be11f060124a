// The bounds of messages of an app, which the page and the proxy of the frame both hold it to.

/** The most characters and values of a message. */
export const LARGEST = 1 << 20;

/** The depth to which a message may be nested. */
const DEEPEST = 64;

/** The most bytes of text that an app gives a conversation at once. */
export const MOST_TEXT = 16 << 10;

/** The messages that may follow each other at once, and those of a second from then on. */
const BURST = 300;
const PER_SECOND = 100;

/** Returns `true` for a JSON-RPC message that is JSON, and not too large. */
export function isMessage(data: unknown): data is Record<string, any> {
  return isPlain(data) && data.jsonrpc === "2.0" && weight(data, LARGEST, 0) >= 0;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return false;
  }
  const own = Object.getPrototypeOf(value);
  return own === Object.prototype || own === null;
}

/** Returns what is left of a budget; less than 0 if it is spent, or if a value is no JSON. */
function weight(value: unknown, budget: number, depth: number): number {
  let left = budget - 1;
  if (typeof value === "string") {
    return left - value.length;
  }
  if (value === null || value === undefined || typeof value === "boolean" || Number.isFinite(value)) {
    return left;
  }
  const list = Array.isArray(value);
  if (depth === DEEPEST || !(list || isPlain(value)) || (list && value.length > left)) {
    return -1;
  }
  for (const [name, own] of Object.entries(value as object)) {
    left = weight(own, left - (list ? 0 : name.length), depth + 1);
    if (left < 0) {
      return -1;
    }
  }
  return left;
}

/** Counts messages, and says when there are too many. */
export class Pace {
  #left = BURST;
  #since = performance.now();

  /** Returns `false` for a message that comes too fast. */
  take(): boolean {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#since) / 1000) * PER_SECOND) - 1;
    this.#since = now;
    return this.#left >= 0;
  }
}
