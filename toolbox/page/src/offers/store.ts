// The prompts and resources of the box, and the changes of resources.
import { get } from "../api";
import { Store } from "../store";

export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required: boolean;
}

export interface Prompt {
  name: string;
  title: string | null;
  server: string | null;
  description: string;
  arguments: PromptArgument[];
  completes: boolean;
}

export interface Resource {
  uri: string;
  is_template: boolean;
  variables: string[];
  name: string;
  title: string | null;
  server: string | null;
  description: string;
  mime_type: string | null;
  size: number | null;
  completes: boolean;
}

export interface Offers {
  prompts: Prompt[];
  resources: Resource[];
  subscribed: string[];
}

export const offers = new Store<Offers>({ prompts: [], resources: [], subscribed: [] });

export async function loadOffers(): Promise<void> {
  offers.set(await get<Offers>("/api/offers"));
}

/** A change of a resource; without a URI, changes that this page was too slow for. */
export interface Update {
  uri: string | null;
  at: number;
}

const MAX_UPDATES = 500;

/** The changes since this page was opened, the newest first. */
export const updates = new Store<Update[]>([]);

export function updated(uri: string | null): void {
  updates.value.unshift({ uri, at: Date.now() });
  updates.value.length = Math.min(updates.value.length, MAX_UPDATES);
  updates.touch();
}
