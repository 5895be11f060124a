// A call that runs: its progress, what it waits for, and its end.
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal, post, stream } from "./api";
import { href, waiting } from "./state";
import { useStore } from "./store";
import { Line, number } from "./text";

export interface Progress {
  done: number;
  total: number | null;
  message: string | null;
}

/** The end of a call: the last line that the program wrote, or the reason why there is none. */
export interface Ended {
  line: any | null;
  fault: string;
}

export interface Runner {
  /** The id of the call that runs. */
  running: string | null;
  progress: Progress | null;
  /** Makes a call; `done` gets its end in the step in which it no longer counts as running. */
  run(call: { kind: "tool" | "prompt" | "resource"; tool: string; arguments: string }, done: (ended: Ended) => void): Promise<void>;
  cancel(): void;
  /** `false` once the component is gone. */
  alive(): boolean;
}

/** Makes calls of the page, one at a time. */
export function useRunner(): Runner {
  const [running, setRunning] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const alive = useRef(true);
  useEffect(() => () => void (alive.current = false), []);
  return {
    running,
    progress,
    alive: () => alive.current,
    async run(call, done) {
      const id = `page-${crypto.randomUUID()}`;
      const ended: Ended = { line: null, fault: "" };
      setRunning(id);
      setProgress(null);
      try {
        await stream("/api/calls", { id, ...call }, (line) => {
          if (line.progress && alive.current) {
            setProgress(line.progress);
          }
          if (line.result) {
            ended.line = line;
          }
        });
        if (!ended.line) {
          ended.fault = "The connection ended before the result.";
        }
      } catch (error) {
        ended.fault = error instanceof Refusal ? error.message : "The program cannot be reached.";
      }
      if (alive.current) {
        setRunning(null);
        setProgress(null);
      }
      done(ended);
    },
    cancel() {
      if (running) {
        post("/api/cancel", { id: running }).catch(() => {});
      }
    },
  };
}

/** One line about the call that runs. */
export function Running({ runner, approval }: { runner: Runner; approval?: boolean }) {
  const entries = useStore(waiting);
  const { progress } = runner;
  if (!runner.running) {
    return null;
  }
  return (
    <p class="running">
      {progress ? (
        <>
          <progress value={progress.total ? progress.done : undefined} max={progress.total ?? undefined} aria-label="Progress of the call" />{" "}
          <Line text={progress.message ?? `${progress.done}${progress.total ? ` of ${progress.total}` : ""}`} />
        </>
      ) : approval ? (
        "Runs, or waits for an approval: see the tab Approvals"
      ) : (
        "Runs"
      )}
      {entries.length > 0 && (
        <>
          {". "}
          <a href={href("approvals")}>
            {number(entries.length)} {entries.length > 1 ? "wait" : "waits"} for you in Approvals
          </a>
        </>
      )}
    </p>
  );
}
