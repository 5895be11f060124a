// The tab *Resources*: resources and templates read, and the changes that servers announce.
import { useMemo, useState } from "preact/hooks";
import { post } from "../api";
import { Part } from "../result";
import { CallBar, Waits, useRunner } from "../running";
import { program, route } from "../state";
import { useStore } from "../store";
import { Block, Copy, Line, bytes, milliseconds, number, pretty, visible } from "../text";
import { Argument } from "./argument";
import { Picker } from "./picker";
import { loadOffers, offers, updates } from "./store";
import type { Resource } from "./store";
import { expand } from "./template";

interface Contents {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

export function Resources() {
  const { resources } = useStore(offers);
  const [, uri = ""] = useStore(route);
  const resource = resources.find((own) => own.uri === uri);
  return (
    <Picker
      tab="resources"
      what="resources"
      items={resources}
      chosen={uri}
      keyOf={(own) => own.uri}
      texts={(own) => [own.title ?? own.name, own.uri, own.description]}
      marks={(own) => [...(own.is_template ? ["template"] : []), ...(own.mime_type ? [own.mime_type] : [])]}
      empty="There are no resources."
    >
      {resource ? <Chosen key={resource.uri} resource={resource} /> : <p class="empty">There is no resource of this URI.</p>}
    </Picker>
  );
}

function Chosen({ resource }: { resource: Resource }) {
  const runner = useRunner("resource");
  const state = useStore(program);
  const { subscribed } = useStore(offers);
  const changes = useStore(updates);
  const [values, setValues] = useState<Record<string, string>>({});
  const [typed, type] = useState<string | null>(null);
  const [fault, setFault] = useState("");
  const [shown, show] = useState<{ contents: Contents[]; took: number; at: number } | null>(null);
  const uri = typed ?? (resource.is_template ? expand(resource.uri, values) : resource.uri);
  const isSubscribed = subscribed.includes(uri);
  const server = state?.servers.find((own) => own.name === resource.server);
  const announces = !server || server.capabilities?.resources?.subscribe === true;
  // A part of the resource may be named, and not the whole.
  const own = changes.filter((change) => change.uri === null || change.uri.startsWith(uri));
  const newest = own[0]?.at ?? 0;

  const read = () => {
    setFault("");
    return runner.run({ kind: "resource", tool: uri, arguments: "" }, ({ line, fault }) => {
      const error = fault || line.result.error;
      setFault(error ?? "");
      show(error ? null : { contents: line.result.contents, took: line.took_ms, at: Date.now() });
    });
  };
  const subscribe = async (wanted: boolean) => {
    setFault("");
    try {
      await post("/api/subscribe", { uri, wanted });
      await loadOffers();
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <article>
      <h2>
        <Line text={resource.title ?? resource.name} />
      </h2>
      <p>
        <code>{visible(resource.uri)}</code>
      </p>
      <p class="quiet">
        {[resource.mime_type, resource.size === null ? null : bytes(resource.size), resource.server && `of the server ${resource.server}`].filter(Boolean).map((own, at) => (
          <span key={at}>
            {at > 0 && ", "}
            <Line text={own as string} />
          </span>
        ))}
      </p>
      {resource.description && <Block text={resource.description} label="Description" />}
      <form
        id="resource"
        aria-label="Resource"
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          if (!runner.running) {
            void read();
          }
        }}
      >
        {resource.variables.map((name) => (
          <Argument
            key={name}
            kind="resource"
            of={resource.uri}
            name={name}
            required={false}
            completes={resource.completes}
            values={values}
            disabled={runner.running !== null}
            onChange={(value) => (type(null), setValues({ ...values, [name]: value }))}
          />
        ))}
        {resource.is_template && (
          <div class="argument">
            <label for="uri">URI</label>
            <input id="uri" type="text" class="code" required spellcheck={false} value={uri} disabled={runner.running !== null} onInput={(event) => type(event.currentTarget.value)} />
          </div>
        )}
        <p class="acts">
          <button type="button" aria-pressed={isSubscribed} onClick={() => subscribe(!isSubscribed)}>
            {isSubscribed ? "Subscribed" : "Subscribe to changes"}
          </button>
        </p>
      </form>
      {!announces && <p class="quiet">Its server does not declare that it announces changes.</p>}
      <CallBar runner={runner} label="Read" />
      <Waits key={runner.running} runner={runner} />
      <div aria-live="polite">
        {own.length > 0 && (
          <p class={shown && newest > shown.at ? "warn" : "quiet"}>
            Changed {number(own.length)} time{own.length > 1 ? "s" : ""}, last at {new Date(newest).toLocaleTimeString("en-GB")}
            {shown && newest > shown.at ? ", after it was read" : ""}.
          </p>
        )}
        {fault && (
          <p class="bad" role="alert">
            {visible(fault)}
          </p>
        )}
      </div>
      {shown && (
        <section class="result" aria-label="Contents">
          <h3>
            {number(shown.contents.length)} part{shown.contents.length === 1 ? "" : "s"}
          </h3>
          <p class="quiet">{milliseconds(shown.took)}</p>
          {shown.contents.map((part, at) => (
            <Content key={at} part={part} />
          ))}
        </section>
      )}
    </article>
  );
}

function Content({ part }: { part: Contents }) {
  const type = part.mimeType ?? "";
  const text = useMemo(() => (part.text !== undefined && /[/+]json$/.test(type) ? pretty(part.text) : part.text), [part, type]);
  const media = type.startsWith("image/") ? "image" : type.startsWith("audio/") ? "audio" : null;
  return (
    <article class="card">
      <p>
        <code>
          <Line text={part.uri} />
        </code>{" "}
        <Line text={type} class="quiet" />
      </p>
      {text !== undefined ? (
        <>
          <Block text={text} label="Text of the resource" />
          <Copy text={() => part.text ?? ""}>Copy</Copy>
        </>
      ) : media && part.blob !== undefined ? (
        <Part part={{ type: media, mimeType: type, data: part.blob }} />
      ) : (
        <p class="quiet">{bytes(Math.floor(((part.blob?.length ?? 0) * 3) / 4))} of bytes</p>
      )}
    </article>
  );
}
