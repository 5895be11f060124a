// A menu button, with the keys of the ARIA Authoring Practices.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { moveFocus, TypeAhead } from "../keys";

export interface MenuItem {
  name: string;
  /** Names the item to tests. */
  part: string;
  /** `true` and `false` for one of several states, or for what can be on; absent for an action. */
  role: "menuitemradio" | "menuitemcheckbox";
  checked: boolean;
  choose(): void;
}

export function Menu({ label, items, disabled }: { label: string; items: MenuItem[]; disabled: boolean }) {
  const [open, setOpen] = useState<"first" | "last">();
  const [typed] = useState(() => new TypeAhead());
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const shown = open !== undefined && !disabled;
  const all = () => [...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
  useLayoutEffect(() => {
    if (shown) all().at(open === "first" ? 0 : -1)?.focus();
  }, [shown, open]);

  const close = () => {
    setOpen(undefined);
    button.current?.focus();
  };
  const choose = (item: MenuItem) => {
    close();
    item.choose();
  };
  const keys = (event: KeyboardEvent) => {
    if (!shown) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        setOpen(event.key === "ArrowDown" ? "first" : "last");
      }
      return;
    }
    const own = all();
    const at = own.findIndex((item) => item === document.activeElement);
    if (event.key === "Escape") {
      // Nothing else is closed or cleared by this key.
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (moveFocus(event, own, "vertical")) {
      typed.clear();
    } else if (at >= 0) {
      own[typed.find(event, items.map((item) => item.name), at)]?.focus();
    }
  };
  const leave = (event: FocusEvent & { currentTarget: HTMLElement }) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOpen(undefined);
  };
  return (
    <span class="form-menu" onKeyDown={keys} onFocusOut={leave}>
      <button
        ref={button}
        type="button"
        class="form-small form-quiet"
        disabled={disabled}
        aria-haspopup="menu"
        aria-expanded={shown}
        aria-label={label}
        title={label}
        data-part="menu"
        onClick={() => setOpen(shown ? undefined : "first")}
      >
        <span aria-hidden="true">⋯</span>
      </button>
      {shown && (
        <div ref={list} class="form-menu-items" role="menu" aria-label={label}>
          {items.map((item) => (
            <button key={item.part} type="button" role={item.role} aria-checked={item.checked} tabIndex={-1} data-part={item.part} onClick={() => choose(item)}>
              {item.name}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}
