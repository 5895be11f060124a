// The servers of other programs: shown as `toolbox import` shows them, and taken over on a click.
import { useState } from "preact/hooks";
import { post } from "../api";
import { Line, number } from "../text";
import { loadFile } from "./file";

interface Imported {
  name: string;
  state: string;
  target: string;
  why: string | null;
  notes: string[];
}

interface ImportedFile {
  host: string;
  file: string;
  error: string | null;
  servers: Imported[];
  notes: string[];
}

interface Plan {
  files: ImportedFile[];
  not_read: string[];
  unknown: { host: string; file: string }[];
  new?: number;
  digest?: string;
  written: boolean;
  backup: string | null;
}

export function Import() {
  const [project, setProject] = useState(false);
  const [plan, setPlan] = useState<Plan | null>(null);
  const [fault, setFault] = useState("");
  const ask = async (body: object) => {
    setFault("");
    try {
      setPlan(await post<Plan>("/api/config/import", { project, ...body }));
    } catch (error) {
      setPlan(null);
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <details class="import">
      <summary>Servers of other programs</summary>
      <p class="acts">
        <button type="button" onClick={() => ask({})}>
          Look for them
        </button>
        <label>
          <input type="checkbox" checked={project} onChange={(event) => (setProject(event.currentTarget.checked), setPlan(null))} /> files of the project
          in the current directory too, which others may have written
        </label>
      </p>
      {fault && (
        <p class="bad" role="alert">
          <Line text={fault} max={600} />
        </p>
      )}
      {plan && <Shown plan={plan} />}
      {plan && !plan.written && (plan.new ?? 0) > 0 && (
        <p>
          <button
            type="button"
            class="primary"
            onClick={async () => {
              await ask({ write: plan.digest });
              await loadFile();
            }}
          >
            Add {number(plan.new ?? 0)} server{plan.new === 1 ? "" : "s"} to the file
          </button>
        </p>
      )}
      <p role="status">
        {plan?.written && (
          <>
            Written; the file before is <Line text={plan.backup} />
          </>
        )}
        {plan && !plan.written && plan.new === 0 && "Nothing is new"}
      </p>
    </details>
  );
}

function Shown({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.files.length + plan.not_read.length === 0 && <p>No program with servers was found.</p>}
      {plan.files.map((file) => (
        <section key={file.file}>
          <h4>
            {file.host}{" "}
            <span class="quiet">
              <Line text={file.file} />
            </span>
          </h4>
          {file.error && (
            <p class="bad">
              fault <Line text={file.error} max={600} />
            </p>
          )}
          <ul>
            {file.servers.map((server, at) => (
              <li key={at}>
                <span class={server.state === "new" ? "good" : server.state === "refused" ? "bad" : "quiet"}>{server.state}</span>{" "}
                <b>
                  <Line text={server.name} />
                </b>{" "}
                <code>
                  <Line text={server.target} max={600} />
                </code>
                {[...(server.why ? [server.why] : []), ...server.notes].map((note) => (
                  <p key={note} class="quiet">
                    <Line text={note} max={600} />
                  </p>
                ))}
              </li>
            ))}
          </ul>
          {file.notes.map((note) => (
            <p key={note} class="quiet">
              <Line text={note} max={600} />
            </p>
          ))}
        </section>
      ))}
      {[...plan.not_read.map((file) => ({ file, why: "is of a project" })), ...plan.unknown.map(({ file }) => ({ file, why: "has a form that is not known" }))].map(
        ({ file, why }) => (
          <p key={file} class="quiet">
            <Line text={file} /> is not read: it {why}
          </p>
        ),
      )}
    </>
  );
}
