// A list of any length: only the rows in sight are in the document.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { TypeAhead, hasModifier } from "./keys";

export interface ListProps<T> {
  items: T[];
  rowHeight: number;
  label: string;
  id: string;
  selected: number;
  onSelect(at: number): void;
  onOpen?(at: number): void;
  /** The name of an item, to whose beginning typed characters lead. */
  nameOf?(item: T): string;
  render(item: T, at: number): ComponentChildren;
  /** Stays at the end while items are added there. */
  follow?: boolean;
}

export function List<T>(props: ListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [typed] = useState(() => new TypeAhead());
  const { items, rowHeight } = props;
  // The next key may come before the drawing of what the last one chose, or even of the one before.
  const pending = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (pending.current === props.selected) {
      pending.current = null;
    }
  }, [props.selected]);
  useLayoutEffect(() => void (pending.current = null), [items]);
  const select = (at: number) => {
    pending.current = at;
    props.onSelect(at);
  };

  useLayoutEffect(() => {
    const own = box.current;
    if (!own) {
      setTop(0);
      return;
    }
    setHeight(own.clientHeight || 600);
    const observer = new ResizeObserver(() => setHeight(own.clientHeight || 600));
    observer.observe(own);
    return () => observer.disconnect();
    // An empty list has no box, and the next one is another, at its top.
  }, [items.length === 0]);

  useEffect(() => {
    if (props.follow && box.current) {
      box.current.scrollTop = items.length * rowHeight;
    }
  }, [items.length, props.follow, rowHeight]);

  const bring = (at: number) => {
    const own = box.current;
    if (!own) {
      return;
    }
    if (at * rowHeight < own.scrollTop) {
      own.scrollTop = at * rowHeight;
    } else if ((at + 1) * rowHeight > own.scrollTop + own.clientHeight) {
      own.scrollTop = (at + 1) * rowHeight - own.clientHeight;
    }
  };

  useEffect(() => {
    if (props.selected >= 0) {
      bring(props.selected);
    }
  }, [props.selected]);

  const keys = (event: KeyboardEvent) => {
    if (hasModifier(event)) {
      return;
    }
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const from = pending.current ?? props.selected;
    const to: Record<string, number> = {
      ArrowDown: from + 1,
      ArrowUp: from < 0 ? items.length - 1 : from - 1,
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: items.length - 1,
    };
    const next = to[event.key];
    if (next !== undefined) {
      event.preventDefault();
      typed.clear();
      select(Math.min(items.length - 1, Math.max(0, next)));
    } else if (event.key === "Enter" && from >= 0) {
      event.preventDefault();
      props.onOpen?.(from);
    } else if (props.nameOf && event.key !== "/") {
      const found = typed.find(event, items.map(props.nameOf), from);
      if (found >= 0) {
        event.preventDefault();
        select(found);
      }
    }
  };

  if (items.length === 0) {
    return null;
  }
  // A list that became shorter was scrolled back by the browser, which reports it later.
  const from = Math.min(top, Math.max(0, items.length * rowHeight - height));
  const first = Math.max(0, Math.floor(from / rowHeight) - 5);
  const last = Math.min(items.length, Math.ceil((from + height) / rowHeight) + 5);
  const rows = [];
  for (let at = first; at < last; at++) {
    rows.push(
      <div
        key={at}
        id={`${props.id}-${at}`}
        role="option"
        class="row"
        aria-selected={at === props.selected}
        aria-setsize={items.length}
        aria-posinset={at + 1}
        style={{ top: `${at * rowHeight}px`, height: `${rowHeight}px` }}
        onClick={() => {
          select(at);
          props.onOpen?.(at);
        }}
      >
        {props.render(items[at]!, at)}
      </div>,
    );
  }
  const isDrawn = props.selected >= first && props.selected < last;
  return (
    <div
      ref={box}
      class="list"
      role="listbox"
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={isDrawn ? `${props.id}-${props.selected}` : undefined}
      onKeyDown={keys}
      onBlur={() => void (pending.current = null)}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="rows" role="presentation" style={{ height: `${items.length * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  );
}
