// The tab *Prompts*: prompts filled in, and the messages that they become.
import { useState } from "preact/hooks";
import { Part } from "../result";
import { CallBar, Waits, useRunner } from "../running";
import { route } from "../state";
import { useStore } from "../store";
import { Block, Copy, Line, milliseconds, number, visible } from "../text";
import { Argument } from "./argument";
import { Picker } from "./picker";
import { offers } from "./store";
import type { Prompt } from "./store";

interface Rendered {
  description?: string;
  messages: { role: string; content: any }[];
}

export function Prompts() {
  const { prompts } = useStore(offers);
  const [, name = ""] = useStore(route);
  const prompt = prompts.find((own) => own.name === name);
  return (
    <Picker
      tab="prompts"
      what="prompts"
      items={prompts}
      chosen={name}
      keyOf={(own) => own.name}
      texts={(own) => [own.name, own.title, own.description]}
      marks={(own) => (own.arguments.length ? [`${own.arguments.length} argument${own.arguments.length > 1 ? "s" : ""}`] : [])}
      empty="There are no prompts."
    >
      {prompt ? <Chosen key={prompt.name} prompt={prompt} /> : <p class="empty">There is no prompt of this name.</p>}
    </Picker>
  );
}

function Chosen({ prompt }: { prompt: Prompt }) {
  const runner = useRunner("prompt");
  const [values, setValues] = useState<Record<string, string>>({});
  const [fault, setFault] = useState("");
  const [shown, show] = useState<{ rendered: Rendered; took: number } | null>(null);
  const get = () => {
    setFault("");
    // An argument without a text is not given.
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
    return runner.run({ kind: "prompt", tool: prompt.name, arguments: JSON.stringify(given) }, ({ line, fault }) => {
      const error = fault || line.result.error;
      setFault(error ?? "");
      show(error ? null : { rendered: line.result, took: line.took_ms });
    });
  };
  return (
    <article>
      <h2>
        <Line text={prompt.name} />
      </h2>
      {prompt.title && prompt.title !== prompt.name && (
        <p>
          <Line text={prompt.title} />
        </p>
      )}
      {prompt.description && <Block text={prompt.description} label="Description" />}
      {prompt.server && (
        <p class="quiet">
          Of the server <Line text={prompt.server} />
        </p>
      )}
      <form
        id="prompt"
        aria-label="Arguments"
        autocomplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          if (!runner.running) {
            void get();
          }
        }}
      >
        {prompt.arguments.map((own) => (
          <Argument
            key={own.name}
            kind="prompt"
            of={prompt.name}
            name={own.name}
            label={own.title ?? own.name}
            description={own.description}
            required={own.required}
            completes={prompt.completes}
            values={values}
            disabled={runner.running !== null}
            onChange={(value) => setValues({ ...values, [own.name]: value })}
          />
        ))}
      </form>
      <CallBar runner={runner} label="Get the prompt" />
      <Waits key={runner.running} runner={runner} />
      <div aria-live="polite">
        {fault && (
          <p class="bad" role="alert">
            {visible(fault)}
          </p>
        )}
      </div>
      {shown && <Messages rendered={shown.rendered} took={shown.took} />}
    </article>
  );
}

function Messages({ rendered, took }: { rendered: Rendered; took: number }) {
  return (
    <section class="result" aria-label="Messages">
      <h3>
        {number(rendered.messages.length)} message{rendered.messages.length === 1 ? "" : "s"}
      </h3>
      <p class="quiet">
        {milliseconds(took)}. <Line text={rendered.description} max={600} />
      </p>
      <Copy text={() => JSON.stringify(rendered, null, 2)}>Copy as JSON</Copy>
      {rendered.messages.map((message, at) => (
        <article key={at} class="card" aria-label={`Message ${at + 1}`}>
          <h4>
            <Line text={message.role} max={40} />
          </h4>
          {message.content?.type === "text" ? <Block text={message.content.text} label="Text" /> : <Part part={message.content} />}
        </article>
      ))}
    </section>
  );
}
