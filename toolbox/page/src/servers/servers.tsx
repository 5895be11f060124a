// The tab *Servers*: those that run, and the file that they are configured in.
import { useState } from "preact/hooks";
import { program } from "../state";
import type { ServerStatus } from "../state";
import { useStore } from "../store";
import { Line, number } from "../text";
import { EntryForm } from "./entry-form";
import { configFile, fileFault } from "./file";
import type { Entry } from "./file";
import { Import } from "./import";
import { Problems, isTroubled } from "./problems";
import { Server } from "./server";

/** A server of the file, of the program, or of both. */
interface Known {
  key: string;
  name: string;
  entry: Entry | null;
  status: ServerStatus | null;
}

/** Returns all servers, the troubled ones first. */
function known(entries: Entry[], statuses: ServerStatus[]): Known[] {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const all: Known[] = entries.map((entry, at) => {
    const status = byName.get(entry.name) ?? null;
    return { key: `${at} ${entry.list} ${entry.name}`, name: entry.name, entry, status };
  });
  const names = new Set(entries.map((entry) => entry.name));
  for (const status of statuses.filter((status) => !names.has(status.name))) {
    all.push({ key: status.name, name: status.name, entry: null, status });
  }
  const rank = (own: Known) => (isTroubled(own.status, own.entry) ? 0 : 1);
  return all.sort((one, other) => rank(one) - rank(other));
}

/** Returns the number of servers that somebody has to look at. */
export function useTroubled(): number {
  const state = useStore(program);
  const file = useStore(configFile);
  const all = known(file?.servers ?? [], state?.servers ?? []);
  return all.filter(({ status, entry }) => isTroubled(status, entry)).length;
}

export function Servers() {
  const state = useStore(program);
  const file = useStore(configFile);
  const fault = useStore(fileFault);
  const [adds, setAdds] = useState(false);
  const stamp = state?.config_file ?? null;
  const own = stamp === null ? null : file;
  const all = known(own?.servers ?? [], state?.servers ?? []);
  const troubled = useTroubled();
  const writes = own !== null && own.digest !== undefined && !own.read_only;
  return (
    <div class="one">
      <h2>Servers</h2>
      <p class="quiet" role="status">
        {number(all.length)} server{all.length === 1 ? "" : "s"}
        {troubled > 0 && `, ${number(troubled)} to look at`}
      </p>
      {fault && (
        <p class="bad" role="alert">
          <Line text={fault} max={600} />
        </p>
      )}
      {own && (
        <>
          <p>
            They are kept in{" "}
            <code>
              <Line text={own.path} />
            </code>
            {own.is_missing && ", which is not there yet: the first server makes it"}
          </p>
          <p role="status" class="warn">
            <Line text={own.note} max={600} />
          </p>
          {own.read_only && (
            <p class="warn">
              <Line text={own.read_only} max={600} />
            </p>
          )}
          {own.fault && (
            <p class="bad" role="alert">
              The file cannot be read: <Line text={own.fault} max={600} />
            </p>
          )}
          <Problems problems={own.problems} />
        </>
      )}
      <ul class="cards">
        {all.map(({ key, entry, status }) => (
          <Server key={key} entry={entry} status={status} lock={state?.lock_file ?? false} writes={writes} />
        ))}
      </ul>
      {all.length === 0 && <p class="empty">There is no server.</p>}
      {own && writes && (
        <>
          {adds ? (
            <section aria-label="New server">
              <h3>New server</h3>
              <EntryForm onDone={() => setAdds(false)} />
            </section>
          ) : (
            <p>
              <button type="button" class="primary" onClick={() => setAdds(true)}>
                Add a server
              </button>
            </p>
          )}
          <Import />
        </>
      )}
    </div>
  );
}
