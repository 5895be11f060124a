// A list with a filter, and one of its items beside it.
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { List } from "../list";
import { go } from "../state";
import { Line, number } from "../text";

export interface PickerProps<T> {
  tab: string;
  what: string;
  items: T[];
  chosen: string;
  keyOf(item: T): string;
  /** The texts that the filter looks at; the first is the name. */
  texts(item: T): (string | null)[];
  marks(item: T): string[];
  empty: string;
  children: ComponentChildren;
}

export function Picker<T>(props: PickerProps<T>) {
  const [filter, setFilter] = useState("");
  const words = filter.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (item: T) => {
    const text = props.texts(item).join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const shown = words.length ? props.items.filter(fits) : props.items;
  const selected = shown.findIndex((item) => props.keyOf(item) === props.chosen);
  return (
    <div class={props.chosen ? "split open" : "split"}>
      <section class="side" aria-label={`List of ${props.what}`}>
        <div class="filters">
          <label class="search">
            <span class="sr">Filter {props.what}</span>
            <input type="search" placeholder={`Filter ${props.what}`} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
          </label>
        </div>
        <p class="quiet count" role="status">
          {number(shown.length)} of {number(props.items.length)} {props.what}
        </p>
        <List
          items={shown}
          rowHeight={52}
          label={props.what}
          id={props.tab}
          selected={selected}
          onSelect={(at) => go(props.tab, props.keyOf(shown[at]!))}
          onOpen={() => document.getElementById("detail")?.focus()}
          nameOf={(item) => props.texts(item)[0] ?? ""}
          render={(item) => {
            const [name, ...more] = props.texts(item);
            return (
              <>
                <span class="name">
                  <Line text={name} max={120} />
                  {props.marks(item).map((mark) => (
                    <span key={mark} class="mark">
                      <Line text={mark} max={40} />
                    </span>
                  ))}
                </span>
                <span class="about quiet">
                  <Line text={more.filter(Boolean).join(" · ")} max={160} />
                </span>
              </>
            );
          }}
        />
        {shown.length === 0 && <p class="empty">{props.items.length ? "Nothing fits the filter." : props.empty}</p>}
      </section>
      <section class="main" id="detail" tabIndex={-1} aria-label="Chosen">
        {props.chosen ? (
          <>
            <button type="button" class="back" onClick={() => go(props.tab)}>
              ← All {props.what}
            </button>
            {props.children}
          </>
        ) : (
          <p class="empty">Choose one of the {props.what}.</p>
        )}
      </section>
    </div>
  );
}
