// The file that the servers are configured in, and its changes.
import { Refusal, get, post } from "../api";
import { Store } from "../store";

/** The entry of a server in the file, without the values of its variables and headers. */
export interface Entry {
  list: string;
  name: string;
  problems: string[];
  /** The keys that are shown by name alone. */
  others: string[];
  command?: string[] | null;
  cwd?: unknown;
  url?: string | null;
  /** `true` if the address has parts that are not shown. */
  hides_url?: boolean;
  environment?: string[];
  headers?: string[];
  enabled?: boolean;
  protocol?: unknown;
  timeout?: string | null;
}

export interface ConfigFile {
  path: string;
  digest?: string;
  is_missing?: boolean;
  read_only?: string | null;
  /** The reason why the file cannot be read. */
  fault?: string;
  problems: string[];
  servers: Entry[];
  protocols?: string[];
  /** What is said of the change that led to it. */
  note?: string | null;
}

/** Values of an entry; what is left out stays, and an empty text removes its key. */
export interface EntryChange {
  command?: string[];
  cwd?: string;
  url?: string;
  protocol?: string;
  timeout?: string;
  environment?: [string, string | null][];
  headers?: [string, string | null][];
}

export type FileChange =
  | { change: "add"; server: string; entry: EntryChange }
  | { change: "set"; list: string; server: string; entry: EntryChange }
  | { change: "enable"; list: string; server: string; on: boolean }
  | { change: "remove"; list: string; server: string }
  | { change: "rename"; list: string; server: string; name: string }
  | { change: "tool"; tool: string; on: boolean };

/** `null` until it is loaded, and where there is none behind the page. */
export const configFile = new Store<ConfigFile | null>(null);

/** The reason why it could not be loaded. */
export const fileFault = new Store("");

export async function loadFile(): Promise<void> {
  try {
    const now = await get<ConfigFile>("/api/config");
    const { note = null, digest } = configFile.value ?? {};
    // The file that a change left is read again, and what was said of the change stays.
    configFile.set(now.digest === digest ? { ...now, note } : now);
    fileFault.set("");
  } catch (error) {
    fileFault.set(error instanceof Error ? error.message : String(error));
  }
}

/** What is said of a change that was refused. */
export interface Refused {
  why: string;
  problems: string[];
}

/** Changes the file that was shown with a digest; returns the reason if it was refused. */
export async function change(digest: string | undefined, wanted: FileChange): Promise<Refused | null> {
  try {
    configFile.set(await post<ConfigFile>("/api/config/change", { digest: digest ?? "", ...wanted }));
    return null;
  } catch (error) {
    if (error instanceof Refusal && error.status === 409) {
      await loadFile();
    }
    const problems = error instanceof Refusal && Array.isArray(error.body?.problems) ? error.body.problems : [];
    return { why: error instanceof Error ? error.message : String(error), problems };
  }
}
