// The inputs of objects and lists.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Field } from "./field";
import { isObject, type Json, objectOf } from "./json";
import { type Binding, type Fault, Faults, hints, type Place } from "./parts";
import type { Schemas, View } from "./schema";
import { brief, isUnder, itemPath, LONGEST_NAME, memberPath, quote } from "./text";
import { blank } from "./values";

/** The most members and items that are shown at first, and how many more at a time. */
const PAGE = 50;
/** Members beyond these can be searched by name. */
const SEARCHED = 20;

/** Gives each child the faults at and below its path; those of none remain. */
function shared(faults: Fault[], paths: string[]): { of: Map<string, Fault[]>; rest: Fault[] } {
  const of = new Map<string, Fault[]>();
  const rest = faults.filter((fault) => {
    if (fault.path === "") return true;
    // Of paths that both are a beginning, the longer one is meant.
    let nearest: string | undefined;
    for (const path of paths) {
      if (isUnder(fault.path, path) && (nearest === undefined || path.length > nearest.length)) nearest = path;
    }
    if (nearest === undefined) return true;
    of.set(nearest, [...(of.get(nearest) ?? []), fault]);
    return false;
  });
  return { of, rest };
}

/** Moves the focus, after the drawing that has the element. Asked for before the change, since that may draw at once. */
function useFocus(): (find: () => HTMLElement | null | undefined) => void {
  const next = useRef<(() => HTMLElement | null | undefined) | undefined>(undefined);
  useLayoutEffect(() => {
    const element = next.current?.();
    if (element == null) return;
    next.current = undefined;
    element.focus();
  });
  return (find) => {
    next.current = find;
  };
}

function More({ count, show }: { count: number; show(): void }) {
  if (count <= 0) return null;
  return <button type="button" class="form-more" data-part="more" onClick={show}>{`Show ${Math.min(count, PAGE)} more of ${count}`}</button>;
}

export function ObjectInput({ place, binding }: { place: Place; binding: Binding }) {
  const { form, view, path } = place;
  const value = isObject(place.value) ? place.value : {};
  const [limit, setLimit] = useState(PAGE);
  const [wanted, setWanted] = useState("");
  const declared = [...view.properties.keys()];
  const extra = Object.keys(value).filter((name) => !view.properties.has(name));
  const paths = new Map([...declared, ...extra].map((name) => [name, memberPath(path, name)]));
  const { of, rest } = shared(place.faults, [...paths.values()]);
  const faultsOf = (name: string) => of.get(paths.get(name) ?? "") ?? [];
  const found = wanted === "" ? declared : declared.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  const shown = found.filter((name, at) => at < limit || faultsOf(name).length > 0);
  const closed = view.rest === false && view.patterns.length === 0;

  // A name that is there already keeps its position.
  const set = (name: string, item: Json) => place.change(objectOf([...Object.entries(value), [name, item]]));
  const remove = (name: string) => place.change(objectOf(Object.entries(value).filter(([other]) => other !== name)));
  const child = (name: string, schema: Json): Place => ({
    form,
    view: form.schemas.view(schema),
    value: Object.hasOwn(value, name) ? value[name] : undefined,
    path: paths.get(name) ?? memberPath(path, name),
    name,
    faults: faultsOf(name),
    depth: place.depth + 1,
    secret: place.secret,
    change: (item) => set(name, item),
    leave: () => remove(name),
  });

  return (
    <div class="form-members">
      <Faults place={{ faults: rest }} id={binding.id} />
      {declared.length > SEARCHED && (
        <input
          type="search"
          class="form-search"
          placeholder={`Find one of ${declared.length}`}
          aria-label={`find a member of ${quote(place.name, LONGEST_NAME)}`}
          value={wanted}
          data-part="search"
          onInput={(event) => setWanted(event.currentTarget.value)}
          // It searches while it is written, and sends no form.
          onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        />
      )}
      {shown.map((name) => (
        <Field key={name} place={child(name, view.properties.get(name) ?? true)} member required={view.required.has(name)} />
      ))}
      <More count={found.length - Math.max(limit, shown.length)} show={() => setLimit(limit + PAGE)} />
      {(extra.length > 0 || !closed) && <Extra id={binding.id} place={place} names={extra} value={value} child={child} declared={declared.length > 0} />}
    </div>
  );
}

interface ExtraProps {
  id: string;
  place: Place;
  names: string[];
  value: { [key: string]: Json };
  child(name: string, schema: Json): Place;
  declared: boolean;
}

/** Returns what a schema says of names that it does not declare, as phrases. */
function nameRules(schemas: Schemas, view: View): string[] {
  const names = view.names === undefined ? undefined : schemas.view(view.names);
  const values = names?.values?.slice(0, 20).map((value) => brief(value)) ?? [];
  const patterns = view.rest === false ? view.patterns.slice(0, 5).map(([pattern]) => `matches ${quote(pattern, 120)}`) : [];
  return [...(values.length > 0 ? [`one of ${values.join(", ")}`] : []), ...(names === undefined ? [] : hints(names)), ...(patterns.length > 0 ? [patterns.join(" or ")] : [])];
}

/** The members that are not declared: the entries of a map, or what an open object has beside its own. */
function Extra({ id, place, names, value, child, declared }: ExtraProps) {
  const { form, view } = place;
  const [limit, setLimit] = useState(PAGE);
  const [added, setAdded] = useState("");
  const [problem, setProblem] = useState("");
  const ids = useRef({ last: 0, of: new Map<string, number>() });
  const button = useRef<HTMLButtonElement>(null);
  const focus = useFocus();
  const closed = view.rest === false && view.patterns.length === 0;
  const idOf = (name: string) => {
    let id = ids.current.of.get(name);
    if (id === undefined) {
      id = ids.current.last += 1;
      ids.current.of.set(name, id);
    }
    return id;
  };
  const rules = nameRules(form.schemas, view);
  const taken = (name: string) => Object.hasOwn(value, name) || view.properties.has(name);
  const rename = (from: string, to: string) => {
    if (from === to) return true;
    if (taken(to)) return false;
    ids.current.of.set(to, idOf(from));
    ids.current.of.delete(from);
    place.change(objectOf(Object.entries(value).map(([name, item]) => [name === from ? to : name, item])));
    return true;
  };
  const add = () => {
    if (taken(added)) {
      setProblem("There is a member of this name.");
      return;
    }
    setProblem("");
    setAdded("");
    const schema = form.schemas.restOf(view, added);
    place.change(objectOf([...Object.entries(value), [added, schema === false ? null : blank(form.schemas, form.schemas.view(schema))]]));
  };
  const shown = names.filter((name, at) => at < limit || child(name, true).faults.length > 0);
  const entries = (
    <>
      {shown.map((name) => {
        const schema = form.schemas.restOf(view, name);
        const entry = { ...child(name, schema), leave: undefined };
        const removed = () => {
          focus(() => button.current);
          child(name, true).leave?.();
        };
        const short = quote(name, LONGEST_NAME);
        return (
          <Field
            key={idOf(name)}
            place={entry}
            before={<Key place={place} name={name} rename={rename} />}
            after={
              <>
                {schema === false && <span class="form-note">not in the schema</span>}
                <button type="button" class="form-small" disabled={form.disabled} aria-label={`remove ${short}`} data-part="remove" onClick={removed}>
                  Remove
                </button>
              </>
            }
          />
        );
      })}
      <More count={names.length - shown.length} show={() => setLimit(limit + PAGE)} />
      {!closed && (
        <div class="form-row form-add">
          <input
            type="text"
            value={added}
            disabled={form.disabled}
            aria-label={`name of a new member of ${quote(place.name, LONGEST_NAME)}`}
            aria-invalid={problem === "" ? undefined : "true"}
            aria-describedby={rules.length > 0 ? `${id}-names` : undefined}
            placeholder="name"
            autocomplete="off"
            spellcheck={false}
            dir="auto"
            data-part="new-name"
            onInput={(event) => setAdded(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") {
                event.preventDefault();
                add();
              }
            }}
          />
          <button ref={button} type="button" disabled={form.disabled} data-part="add-member" onClick={add}>Add</button>
          {problem !== "" && <span class="form-problem">{problem}</span>}
          {rules.length > 0 && <span class="form-hints" id={`${id}-names`}>{`name: ${rules.join("; ")}`}</span>}
        </div>
      )}
    </>
  );
  if (!declared || isObject(view.rest) || view.patterns.length > 0) return entries;
  return (
    <details class="form-extra" open={names.length > 0}>
      <summary>Other members</summary>
      {entries}
    </details>
  );
}

/** The name of an entry, which may be changed; it counts when the input is left. */
function Key({ place, name, rename }: { place: Place; name: string; rename(from: string, to: string): boolean }) {
  const [draft, setDraft] = useState<string>();
  const problem = draft !== undefined && draft !== name;
  const leave = (text: string) => setDraft(rename(name, text) ? undefined : text);
  return (
    <span class="form-key">
      <input
        type="text"
        value={draft ?? name}
        disabled={place.form.disabled}
        aria-label={`name of the member ${quote(name, LONGEST_NAME)}`}
        aria-invalid={problem ? "true" : undefined}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        data-part="key"
        onChange={(event) => leave(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            leave(event.currentTarget.value);
          }
        }}
      />
      {problem && <span class="form-problem">There is a member of this name.</span>}
    </span>
  );
}

export function ListInput({ place, binding }: { place: Place; binding: Binding }) {
  const { form, view, path } = place;
  const { schemas } = form;
  const items = Array.isArray(place.value) ? place.value : [];
  const [limit, setLimit] = useState(PAGE);
  const ids = useRef<{ last: number; of: number[] }>({ last: 0, of: [] });
  const list = useRef<HTMLOListElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const focus = useFocus();
  ids.current.of.length = Math.min(ids.current.of.length, items.length);
  while (ids.current.of.length < items.length) ids.current.of.push((ids.current.last += 1));

  const paths = items.map((_, at) => itemPath(path, at));
  const { of, rest } = shared(place.faults, paths);
  const schemaOf = (at: number) => view.prefix[at] ?? view.items ?? true;
  const full = items.length >= view.prefix.length && view.items === false;
  const most = view.notes.get("maxItems");
  const over = full || (typeof most === "number" && items.length >= most);
  const row = (at: number) => list.current?.querySelector<HTMLElement>(`:scope > [data-id="${ids.current.of[at]}"]`);

  const add = () => {
    const at = items.length;
    if (at >= limit) setLimit(at + 1);
    focus(() => (at < ids.current.of.length ? row(at)?.querySelector<HTMLElement>("input, textarea, select, button") : null));
    place.change([...items, blank(schemas, schemas.view(schemaOf(at)))]);
  };
  const remove = (at: number) => {
    ids.current.of.splice(at, 1);
    focus(() => button.current ?? list.current?.querySelector<HTMLElement>('[data-part="remove"]'));
    place.change(items.filter((_, index) => index !== at));
  };
  const move = (from: number, to: number) => {
    const swap = <T,>(all: T[]) => {
      const next = [...all];
      [next[from], next[to]] = [all[to] as T, all[from] as T];
      return next;
    };
    ids.current.of = swap(ids.current.of);
    const part = to < from ? "up" : "down";
    focus(() => {
      const button = row(to)?.querySelector<HTMLButtonElement>(`[data-part="${part}"]`);
      return button?.disabled ? row(to)?.querySelector<HTMLElement>('[data-part="up"]:enabled, [data-part="down"]:enabled') : button;
    });
    place.change(swap(items));
  };

  const shown = items.map((_, at) => at).filter((at) => at < limit || of.has(paths[at] ?? ""));
  return (
    <div class="form-items">
      <Faults place={{ faults: rest }} id={binding.id} />
      <ol ref={list}>
        {shown.map((at) => {
          const tuple = at < view.prefix.length;
          const buttons = (
            <>
              {!tuple && (
                <>
                  <Small name={`move item ${at + 1} up`} part="up" off={form.disabled || at <= view.prefix.length} press={() => move(at, at - 1)}>↑</Small>
                  <Small name={`move item ${at + 1} down`} part="down" off={form.disabled || at === items.length - 1} press={() => move(at, at + 1)}>↓</Small>
                </>
              )}
              {(!tuple || at === items.length - 1) && (
                <Small name={`remove item ${at + 1}`} part="remove" off={form.disabled} press={() => remove(at)}>Remove</Small>
              )}
            </>
          );
          const item: Place = {
            form,
            view: schemas.view(schemaOf(at)),
            value: items[at],
            path: paths[at] ?? "",
            name: String(at + 1),
            faults: of.get(paths[at] ?? "") ?? [],
            depth: place.depth + 1,
            secret: place.secret,
            change: (value) => place.change(items.map((old, index) => (index === at ? value : old))),
          };
          return <li key={ids.current.of[at]} data-id={ids.current.of[at]}><Field place={item} after={buttons} /></li>;
        })}
      </ol>
      <More count={items.length - shown.length} show={() => setLimit(limit + PAGE)} />
      {!over && (
        <button ref={button} type="button" disabled={form.disabled} aria-label={`add an item to ${quote(place.name, LONGEST_NAME)}`} data-part="add" onClick={add}>
          Add
        </button>
      )}
    </div>
  );
}

function Small({ name, part, off, press, children }: { name: string; part: string; off: boolean; press(): void; children: string }) {
  return <button type="button" class="form-small" aria-label={name} data-part={part} disabled={off} onClick={press}>{children}</button>;
}
