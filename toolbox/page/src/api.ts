// Requests to the program. Each carries the half of the session that is no cookie.

const KEY = "toolbox-page-key";

/** A refusal of the program, with its sentence for the person at the page. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly body: any,
  ) {
    super(message);
  }
}

export function hasKey(): boolean {
  return localStorage.getItem(KEY) !== null;
}

export function forgetKey(): void {
  localStorage.removeItem(KEY);
}

function headers(more: Record<string, string> = {}): Record<string, string> {
  return { "x-toolbox-page": localStorage.getItem(KEY) ?? "", ...more };
}

async function refusal(response: Response): Promise<Refusal> {
  const text = await response.text();
  let body: any = null;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  const message = typeof body?.error === "string" ? body.error : text.slice(0, 300) || `status ${response.status}`;
  return new Refusal(response.status, message, body);
}

/** Exchanges the token of a link, or that of the program, for a session. */
export async function openSession(token: string): Promise<void> {
  const response = await fetch("/api/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (!response.ok) {
    throw await refusal(response);
  }
  localStorage.setItem(KEY, (await response.json()).key);
}

export async function get<T>(path: string): Promise<T> {
  const response = await fetch(path, { headers: headers() });
  if (!response.ok) {
    throw await refusal(response);
  }
  return response.json();
}

/** Returns the answer to a request with a body. */
async function answer(path: string, body: unknown): Promise<Response> {
  const response = await fetch(path, {
    method: "POST",
    headers: headers({ "content-type": "application/json" }),
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw await refusal(response);
  }
  return response;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await answer(path, body)).json();
}

/** Returns the bytes of an answer. */
export async function download(path: string, body: unknown): Promise<Blob> {
  return (await answer(path, body)).blob();
}

/** Makes a call; `visit` gets each line of the answer. */
export async function stream(path: string, body: unknown, visit: (line: any) => void): Promise<void> {
  const response = await answer(path, body);
  if (!response.body) {
    throw await refusal(response);
  }
  await pieces(response.body, "\n", (line) => visit(JSON.parse(line)));
}

/** Calls `visit` with each piece of a text that is not empty and ends with a mark. */
async function pieces(body: ReadableStream<Uint8Array>, mark: string, visit: (piece: string) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as any).getReader();
  // A long piece comes in many chunks, and is put together once.
  let rest: string[] = [];
  // The mark may begin in one chunk and end in the next.
  let end = "";
  for (;;) {
    const { done, value } = (await reader.read()) as ReadableStreamReadResult<string>;
    if (done) {
      return;
    }
    rest.push(value);
    end += value;
    if (end.includes(mark)) {
      const all = rest.join("").split(mark);
      end = all.pop() ?? "";
      rest = [end];
      all.filter((piece) => piece !== "").forEach(visit);
    }
    end = end.slice(end.length + 1 - mark.length);
  }
}

export interface StreamHandler {
  event(name: string, data: any): void;
  state(state: "open" | "lost" | "ended"): void;
}

/** Follows the events of the program, and connects anew for as long as the page is open. */
export function follow(handler: StreamHandler): () => void {
  let stopped = false;
  let last = "";
  let wait = 250;
  let abort = new AbortController();
  let wake: (() => void) | undefined;
  const nudge = () => {
    wait = 250;
    wake?.();
  };
  const run = async () => {
    while (!stopped) {
      abort = new AbortController();
      try {
        const more: Record<string, string> = last ? { "last-event-id": last } : {};
        const response = await fetch("/api/events", { headers: headers(more), signal: abort.signal });
        if (response.status === 401) {
          handler.state("ended");
          wait = 2000;
        } else if (response.ok && response.body) {
          handler.state("open");
          wait = 250;
          await read(response.body, (name, data, id) => {
            last = id || last;
            handler.event(name, data);
          });
          handler.state("lost");
        } else {
          handler.state("lost");
        }
      } catch {
        if (!stopped) {
          handler.state("lost");
        }
      }
      if (!stopped) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, wait);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wait = Math.min(wait * 2, 4000);
      }
    }
  };
  // Another tab that opened a new link has a new key.
  const changed = (event: StorageEvent) => {
    if (event.key === KEY) {
      nudge();
    }
  };
  window.addEventListener("storage", changed);
  window.addEventListener("online", nudge);
  void run();
  return () => {
    stopped = true;
    abort.abort();
    wake?.();
    window.removeEventListener("storage", changed);
    window.removeEventListener("online", nudge);
  };
}

function read(body: ReadableStream<Uint8Array>, visit: (name: string, data: any, id: string) => void): Promise<void> {
  return pieces(body, "\n\n", (piece) => {
    let name = "message";
    let data = "";
    let id = "";
    for (const line of piece.split("\n")) {
      if (line.startsWith("event: ")) {
        name = line.slice(7);
      } else if (line.startsWith("data: ")) {
        data += line.slice(6);
      } else if (line.startsWith("id: ")) {
        id = line.slice(4);
      }
    }
    if (data) {
      visit(name, JSON.parse(data), id);
    }
  });
}
