// Keys in groups of controls, as the ARIA Authoring Practices have them: arrows, Home, End, and the beginning of a name.

type Axis = "vertical" | "horizontal" | "both";

const STEPS: Record<string, [axis: Axis, by: 1 | -1]> = {
  ArrowDown: ["vertical", 1],
  ArrowUp: ["vertical", -1],
  ArrowRight: ["horizontal", 1],
  ArrowLeft: ["horizontal", -1],
};

/** The time after which typed characters begin a new name. */
const TYPING_MS = 1000;

export function hasModifier(event: KeyboardEvent): boolean {
  return event.ctrlKey || event.metaKey || event.altKey;
}

/** Returns the index that a key leads to, around both ends; `undefined` for a key that leads nowhere. */
function target(event: KeyboardEvent, at: number, count: number, axis: Axis): number | undefined {
  if (count === 0 || hasModifier(event)) {
    return undefined;
  }
  if (event.key === "Home") {
    return 0;
  }
  if (event.key === "End") {
    return count - 1;
  }
  const [along, by] = STEPS[event.key] ?? [];
  if (!along || !by || (axis !== "both" && along !== axis)) {
    return undefined;
  }
  return at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count;
}

/** Moves the focus within a group by an arrow key, Home or End; returns the element that has it now. */
export function moveFocus<E extends HTMLElement>(event: KeyboardEvent, items: E[], axis: Axis): E | undefined {
  const at = items.findIndex((item) => item === document.activeElement);
  const to = target(event, at, items.length, axis);
  const next = to === undefined ? undefined : items[to];
  if (next) {
    event.preventDefault();
    next.focus();
  }
  return next;
}

/** Finds names by their beginning, as it is typed. */
export class TypeAhead {
  #typed = "";
  #last = 0;

  /** Begins a new name, after another key. */
  clear(): void {
    this.#typed = "";
  }

  /** Returns the index of the next name that begins with what was typed; -1 if there is none, or nothing was. */
  find(event: KeyboardEvent, names: string[], from: number): number {
    const now = event.timeStamp;
    const goesOn = now - this.#last < TYPING_MS;
    // A space is a key of its own, unless it is within a name.
    if ([...event.key].length !== 1 || hasModifier(event) || event.isComposing || (event.key === " " && !(goesOn && this.#typed))) {
      return -1;
    }
    const key = event.key.toLowerCase();
    this.#last = now;
    this.#typed = goesOn ? this.#typed + key : key;
    // One character again and again goes from name to name.
    const isOne = [...this.#typed].every((own) => own === key);
    const wanted = isOne ? key : this.#typed;
    const first = isOne ? from + 1 : Math.max(0, from);
    for (let step = 0; step < names.length; step += 1) {
      const at = (first + step) % names.length;
      if (names[at]?.toLowerCase().startsWith(wanted)) {
        return at;
      }
    }
    return -1;
  }
}
