// The entry of a server as a form, in the words of the file. A value that is not shown stays unless another is typed.
import { useState } from "preact/hooks";
import { useStore } from "../store";
import { visible } from "../text";
import { change, configFile } from "./file";
import type { Entry, EntryChange, Refused } from "./file";
import { Refusal } from "./problems";

/** A variable or a header. */
interface Pair {
  name: string;
  value: string;
  /** `true` if the file has it. */
  isKept: boolean;
  isRemoved: boolean;
}

function pairs(names: string[] | undefined): Pair[] {
  return (names ?? []).map((name) => ({ name, value: "", isKept: true, isRemoved: false }));
}

/** Returns the pairs that change. */
function changed(pairs: Pair[]): [string, string | null][] {
  const all = pairs.map(({ name, value, isKept, isRemoved }): [string, string | null] | null =>
    isRemoved ? (isKept ? [name, null] : null) : isKept ? (value === "" ? null : [name, value]) : name === "" ? null : [name, value],
  );
  return all.filter((pair) => pair !== null);
}

const text = (value: unknown) => (typeof value === "string" ? value : "");

export function EntryForm({ entry, onDone }: { entry?: Entry; onDone(): void }) {
  const file = useStore(configFile);
  // What was shown when the form was opened: a change of the file since then is not written over.
  const [digest, setDigest] = useState(file?.digest);
  const words = entry?.command ?? [];
  const before = {
    program: words[0] ?? "",
    rest: words.slice(1).join("\n"),
    cwd: text(entry?.cwd),
    url: entry?.url ?? "",
    protocol: text(entry?.protocol),
    timeout: entry?.timeout ?? "",
  };
  const [now, setNow] = useState(before);
  const [name, setName] = useState("");
  const [kind, setKind] = useState(entry && entry.url !== null && entry.url !== undefined ? "url" : "command");
  const [environment, setEnvironment] = useState(pairs(entry?.environment));
  const [headers, setHeaders] = useState(pairs(entry?.headers));
  const [refused, setRefused] = useState<Refused | null>(null);
  const set = (part: Partial<typeof now>) => setNow({ ...now, ...part });
  const isProgram = kind === "command";
  // Lines could not tell its parts apart.
  const isBroken = words.some((word) => word.includes("\n"));

  const wanted = (): EntryChange => {
    const own: EntryChange = {};
    if (isProgram) {
      if (!isBroken && (now.program !== before.program || now.rest !== before.rest)) {
        const rest = now.rest === "" ? [] : now.rest.replace(/\n$/, "").split("\n");
        own.command = now.program === "" ? [] : [now.program, ...rest];
      }
      own.environment = changed(environment);
    } else {
      if (now.url !== before.url) {
        own.url = now.url;
      }
      own.headers = changed(headers);
    }
    for (const key of isProgram ? (["cwd", "protocol", "timeout"] as const) : (["protocol", "timeout"] as const)) {
      if (now[key] !== before[key]) {
        own[key] = now[key];
      }
    }
    return own;
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const own = wanted();
    const why = await change(digest, entry ? { change: "set", list: entry.list, server: entry.name, entry: own } : { change: "add", server: name, entry: own });
    setRefused(why);
    // After a refusal the file is shown as it is now.
    setDigest(configFile.value?.digest);
    if (!why) {
      onDone();
    }
  };
  return (
    <form class="entry" autocomplete="off" onSubmit={submit} aria-label={entry ? `Change ${visible(entry.name)}` : "New server"}>
      {!entry && (
        <>
          <label>
            Name
            <input type="text" required spellcheck={false} value={name} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
          <fieldset>
            <legend>It is</legend>
            <label>
              <input type="radio" name="kind" checked={isProgram} onChange={() => setKind("command")} /> a program on this machine
            </label>{" "}
            <label>
              <input type="radio" name="kind" checked={!isProgram} onChange={() => setKind("url")} /> at a URL
            </label>
          </fieldset>
        </>
      )}
      {isProgram && isBroken && <p class="warn">A word of the command holds a line break: change the command in the file.</p>}
      {isProgram && !isBroken && (
        <>
          <label>
            Program
            <input type="text" spellcheck={false} value={now.program} onInput={(event) => set({ program: event.currentTarget.value })} />
          </label>
          <label>
            Arguments, one a line
            <textarea class="code" spellcheck={false} rows={4} value={now.rest} onInput={(event) => set({ rest: event.currentTarget.value })} />
          </label>
        </>
      )}
      {isProgram ? (
        <>
          <label>
            Directory
            <input type="text" spellcheck={false} value={now.cwd} onInput={(event) => set({ cwd: event.currentTarget.value })} />
          </label>
          <Pairs what="Variables" one="variable" pairs={environment} onChange={setEnvironment} />
        </>
      ) : (
        <>
          <label>
            URL{entry?.hides_url && " (parts of it are not shown; they stay unless it is changed)"}
            <input type="text" inputMode="url" spellcheck={false} value={now.url} onInput={(event) => set({ url: event.currentTarget.value })} />
          </label>
          <Pairs what="Headers" one="header" pairs={headers} onChange={setHeaders} />
        </>
      )}
      <label>
        Protocol
        <select value={now.protocol} onChange={(event) => set({ protocol: event.currentTarget.value })}>
          <option value="">the newest that both speak</option>
          {[...new Set([...(file?.protocols ?? []), now.protocol].filter((version) => version !== ""))].map((version) => (
            <option key={version} value={version}>
              {visible(version)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Longest call, such as 30s
        <input type="text" spellcheck={false} value={now.timeout} onInput={(event) => set({ timeout: event.currentTarget.value })} />
      </label>
      <p class="acts">
        <button type="submit" class="primary">
          {entry ? "Save" : "Add"}
        </button>
        <button type="button" onClick={onDone}>
          Leave it
        </button>
      </p>
      <Refusal refused={refused} />
    </form>
  );
}

/** Variables or headers. Their values are typed unseen, and are not read back. */
function Pairs(props: { what: string; one: string; pairs: Pair[]; onChange(pairs: Pair[]): void }) {
  const { what, one, pairs } = props;
  const set = (at: number, part: Partial<Pair>) => props.onChange(pairs.map((own, index) => (index === at ? { ...own, ...part } : own)));
  return (
    <fieldset>
      <legend>{what}</legend>
      {pairs.map((pair, at) =>
        pair.isRemoved && !pair.isKept ? null : (
          <p key={at} class="acts">
            {pair.isKept ? (
              <code class={pair.isRemoved ? "gone" : ""}>{visible(pair.name)}</code>
            ) : (
              <input
                type="text"
                spellcheck={false}
                aria-label={`Name of ${one} ${at + 1}`}
                placeholder="NAME"
                value={pair.name}
                onInput={(event) => set(at, { name: event.currentTarget.value })}
              />
            )}
            <input
              type="password"
              autocomplete="new-password"
              aria-label={pair.isKept ? `New value of ${visible(pair.name)}` : `Value of ${one} ${at + 1}`}
              placeholder={pair.isKept ? "stays as it is" : "value, or {env:NAME}"}
              disabled={pair.isRemoved}
              value={pair.value}
              onInput={(event) => set(at, { value: event.currentTarget.value })}
            />
            <button type="button" onClick={() => set(at, { isRemoved: !pair.isRemoved })}>
              {pair.isRemoved ? "Keep" : "Remove"}
              <span class="sr"> {pair.isKept ? visible(pair.name) : `${one} ${at + 1}`}</span>
            </button>
          </p>
        ),
      )}
      <button type="button" onClick={() => props.onChange([...pairs, { name: "", value: "", isKept: false, isRemoved: false }])}>
        Add a {one}
      </button>
    </fieldset>
  );
}
