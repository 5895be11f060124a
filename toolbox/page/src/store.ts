// Values that components share, drawn again at most once for each frame.
import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  #listeners = new Set<() => void>();
  /** `true` until the listeners have heard of a change. */
  #waits = false;
  /** Counts the changes. */
  changes = 0;

  constructor(public value: T) {}

  set(value: T): void {
    this.value = value;
    this.touch();
  }

  /** Reports that the value changed in place. */
  touch(): void {
    this.changes += 1;
    if (this.#waits) {
      return;
    }
    this.#waits = true;
    const report = () => {
      if (this.#waits) {
        this.#waits = false;
        cancelAnimationFrame(frame);
        clearTimeout(timer);
        for (const listener of [...this.#listeners]) {
          listener();
        }
      }
    };
    const frame = requestAnimationFrame(report);
    // A page in the background gets no frames, and has to learn of approvals all the same.
    const timer = setTimeout(report, 250);
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Draws the component again when the store changes. */
export function useStore<T>(store: Store<T>): T {
  const [, again] = useState({});
  const drawn = store.changes;
  useEffect(() => {
    if (store.changes !== drawn) {
      // It changed between the drawing and this.
      again({});
    }
    return store.listen(() => again({}));
  }, [store]);
  return store.value;
}
