// Foreign text, made inert: what has no shape of its own, or changes the order of other text, is written out.
import { useState } from "preact/hooks";
import { escapeInvisible, parse, write } from "./form/json";

const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g;
/** Returns a text with its control characters, and those that nobody sees, written out. */
export function visible(text: string): string {
  return escapeInvisible(text.replace(/\r\n/g, "\n").replace(ANSI, ""), named);
}

function named(sign: string): string {
  return `⟨U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** A short foreign text on one line. */
export function Line(props: { text: string | null | undefined; max?: number; class?: string }) {
  const max = props.max ?? 300;
  const raw = props.text ?? "";
  const cut = raw.length > max ? raw.slice(0, max) + "…" : raw;
  return <bdi class={props.class}>{visible(cut).replace(/\s+/g, " ")}</bdi>;
}

/** The characters of a long text that are drawn at once: a part of a large result has no more. */
const PART = 65_536;

/** A long foreign text, drawn part by part. */
export function Block(props: { text: string; label?: string; wrap?: boolean }) {
  const [shown, show] = useState(PART);
  const rest = props.text.length - shown;
  return (
    <div class="block">
      <pre class={props.wrap === false ? "" : "wrap"} tabIndex={0} aria-label={props.label} role="group">
        {visible(props.text.slice(0, shown))}
      </pre>
      {rest > 0 && (
        <p class="quiet">
          {rest.toLocaleString("en")} more characters{" "}
          <button type="button" onClick={() => show(shown + 4 * PART)}>
            Show more
          </button>
        </p>
      )}
    </div>
  );
}

/** A link to a foreign address: only of the web, and with the address in sight. */
export function Outside(props: { href: string; name?: string }) {
  let url: URL | null = null;
  try {
    url = new URL(props.href);
  } catch {
    url = null;
  }
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return (
      <span>
        {props.name && (
          <>
            <Line text={props.name} />{" "}
          </>
        )}
        <code>{visible(props.href.slice(0, 500))}</code>
      </span>
    );
  }
  return (
    <span>
      {props.name && (
        <>
          <Line text={props.name} />{" "}
        </>
      )}
      <a href={url.href} target="_blank" rel="noreferrer noopener">
        {visible(url.href.slice(0, 500))}
      </a>
    </span>
  );
}

/** A button that copies a text, and says so. */
export function Copy(props: { text: () => string; children: string }) {
  const [done, setDone] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text());
      setDone("Copied");
    } catch {
      setDone("The browser does not let this page copy");
    }
    setTimeout(() => setDone(""), 2000);
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {props.children}
      </button>
      <span role="status" class="quiet">
        {done}
      </span>
    </>
  );
}

export function number(value: number): string {
  return value.toLocaleString("en");
}

export function bytes(count: number): string {
  if (count < 1000) {
    return `${count} B`;
  }
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}

export function milliseconds(time: number): string {
  return time < 10 ? `${time.toFixed(2)} ms` : time < 10_000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(1)} s`;
}

/** Returns JSON text on several lines, with its numbers as they are; any other text as it is. */
export function pretty(json: string): string {
  try {
    return write(parse(json), { indent: 2 });
  } catch {
    return json;
  }
}
