// Faults of servers and of the file, and refusals of changes.
import type { ServerStatus } from "../state";
import { Block, Line } from "../text";
import type { Entry, Refused } from "./file";

/** Returns `true` for a server that somebody has to look at. */
export function isTroubled(status: ServerStatus | null, entry: Entry | null): boolean {
  const fails = status !== null && (status.state === "failed" || status.error !== null || status.wants_sign_in);
  return fails || (status !== null && status.withheld.length + status.notices.length > 0) || (entry?.problems.length ?? 0) > 0;
}

/** Faults as `toolbox check` shows them. */
export function Problems({ problems }: { problems: string[] }) {
  return (
    <>
      {problems.map((problem) => (
        <Block key={problem} text={problem} label="Fault of the file" wrap={false} />
      ))}
    </>
  );
}

/** The reason why a change was refused, with the faults that the file would have. */
export function Refusal({ refused }: { refused: Refused | null }) {
  return (
    <div role="alert">
      {refused && (
        <>
          <p class="bad">
            <Line text={refused.why} max={600} />
          </p>
          <Problems problems={refused.problems} />
        </>
      )}
    </div>
  );
}
