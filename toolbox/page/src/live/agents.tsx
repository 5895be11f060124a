// Agents as a tree: their steps, what their models said, their calls, and the agents below.
import { useState } from "preact/hooks";
import { Block, Line, milliseconds, number } from "../text";
import { duration } from "./duration";
import type { AgentRun, Call, LiveLog } from "./log";

/** The most runs that are drawn at once. */
const MAX_RUNS = 50;

export function AgentTree({ log, choose }: { log: LiveLog; choose(call: Call): void }) {
  const [shown, show] = useState(MAX_RUNS);
  const roots = log.agents.filter((agent) => agent.path.length === 1).reverse();
  if (roots.length === 0) {
    return <p class="empty">No agent ran yet.</p>;
  }
  return (
    <div class="one">
      {roots.slice(0, shown).map((agent) => (
        <div key={agent.key} class="sideways">
          <Agent agent={agent} log={log} choose={choose} />
        </div>
      ))}
      {roots.length > shown && (
        <button type="button" onClick={() => show(shown + MAX_RUNS)}>
          {number(roots.length - shown)} older runs
        </button>
      )}
    </div>
  );
}

function Agent({ agent, log, choose }: { agent: AgentRun; log: LiveLog; choose(call: Call): void }) {
  const steps = [...new Set([...agent.turns.map((turn) => turn.step), ...agent.calls.map((call) => call.step)])].sort((a, b) => a - b);
  const end = agent.failed ? "failed" : (agent.reason ?? "running");
  return (
    <details class="card agent" open>
      <summary>
        <b>
          <Line text={agent.name} />
        </b>{" "}
        <span class={agent.failed ? "bad" : agent.reason === "answered" ? "good" : agent.reason ? "warn" : "quiet"}>{end.replace(/_/g, " ")}</span>{" "}
        <span class="quiet">
          {agent.turns.length} request{agent.turns.length === 1 ? "" : "s"}
          {agent.ended !== null && `, ${milliseconds(agent.ended - agent.began)}, ${number(agent.input)} + ${number(agent.output)} tokens`}
          {agent.cost && `, ${agent.cost}`}
        </span>
      </summary>
      {agent.failed && (
        <p class="bad">
          <Line text={agent.failed} max={600} />
        </p>
      )}
      {agent.notes.length > 0 && (
        <ul>
          {agent.notes.map((note, at) => (
            <li key={at}>
              <Line text={note} max={600} />
            </li>
          ))}
        </ul>
      )}
      <ol class="steps">
        {steps.map((step) => (
          <li key={step} value={step}>
            {agent.turns
              .filter((turn) => turn.step === step)
              .map((turn, at) => (
                <div key={at}>
                  <span class="quiet">
                    <Line text={turn.model} />{" "}
                    {turn.failed ? (
                      <span class="bad">
                        failed (<Line text={turn.failed} />)
                      </span>
                    ) : turn.took === null ? (
                      "writes"
                    ) : (
                      `${milliseconds(turn.took)}, ${number(turn.input)} + ${number(turn.output)} tokens, ${turn.finish}`
                    )}
                    {turn.cost && `, ${turn.cost}`}
                    {at > 0 && ", tried again"}
                  </span>
                  {turn.prefix && (
                    <div class="warn">
                      <Line text={turn.prefix} max={300} />
                    </div>
                  )}
                  {turn.reasoning && (
                    <details>
                      <summary class="quiet">reasoning</summary>
                      <Block text={turn.reasoning} label="Reasoning of the model" />
                    </details>
                  )}
                  {turn.text && <Block text={turn.text} label="Text of the model" />}
                </div>
              ))}
            <ul class="stepcalls">
              {agent.calls
                .filter((call) => call.step === step)
                .map((call) => (
                  <li key={call.number}>
                    <button type="button" onClick={() => choose(call)}>
                      <span class={`state ${call.state}`}>{call.state}</span> <Line text={call.tool} /> <span class="quiet">{duration(call)}</span>
                    </button>
                    {log.agents
                      .filter((below) => below.parentCall === call.id && below.run === agent.run && below.path.length === agent.path.length + 1)
                      .map((below) => (
                        <Agent key={below.key} agent={below} log={log} choose={choose} />
                      ))}
                  </li>
                ))}
            </ul>
          </li>
        ))}
      </ol>
    </details>
  );
}
