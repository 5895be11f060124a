// The page's end of the connection with an app: JSON-RPC by messages of its frame.
import { MOST_TEXT, Pace, isMessage } from "./bounds";

/** The version of the extension. */
const VERSION = "2026-01-26";

/** The requests of an app that are worked on at once. */
const AT_ONCE = 8;

/** The time for an app to end, and for its frame to begin. */
const END_MS = 1000;
const BEGIN_MS = 10_000;

export interface AppHtml {
  /** The address of the proxy. */
  frame: string;
  /** The tool, as its server names it. */
  tool: { name: string; description: string; inputSchema: object };
  html: string | null;
  blob: string | null;
  csp: Record<string, string[]>;
  /** The origins that it declared and does not get. */
  refused: string[];
  permissions: string[];
}

/** What an app may give a conversation. */
export interface AppChat {
  /** Sends a message once the person agrees; `false` if it is not sent. */
  send(text: string): Promise<boolean>;
  /** Replaces what the model reads of the app before the next message; returns the reason why it is refused. */
  give(text: string): string;
}

/** What the page does for an app. */
export interface AppHost {
  context(): Record<string, unknown>;
  input(): Record<string, unknown>;
  result(): Record<string, unknown>;
  call(name: string, given: Record<string, unknown>): Promise<object>;
  read(uri: string): Promise<object>;
  openLink(url: URL): Promise<boolean>;
  /** The conversation that the app stands in, if it does. */
  chat?: AppChat;
  resize(height: number): void;
  /** The app has begun, and has its input and result. */
  begun(): void;
  /** It is to be taken away. */
  ended(reason: string): void;
}

/** An error of JSON-RPC. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

function htmlOf(app: AppHtml): string {
  if (app.html !== null) {
    return app.html;
  }
  return new TextDecoder().decode(Uint8Array.from(atob(app.blob ?? ""), (one) => one.charCodeAt(0)));
}

/** Returns the text of content blocks; the page takes no others. */
function textOf(content: unknown): string {
  const blocks = Array.isArray(content) ? content : content === undefined ? [] : [content];
  return blocks
    .map((block) => {
      if (block?.type !== "text" || typeof block.text !== "string") {
        throw new RpcError(-32602, "the page takes text alone");
      }
      return block.text;
    })
    .join("\n\n");
}

function bounded(text: string): string {
  const size = new TextEncoder().encode(text).length;
  if (size > MOST_TEXT) {
    throw new RpcError(-32602, `the text has ${size} bytes, and at most ${MOST_TEXT} are taken`);
  }
  return text;
}

export class Bridge {
  #origin: string;
  #pace = new Pace();
  /** The ids of requests that are worked on. */
  #open = new Set<string>();
  #state: "waiting" | "loaded" | "initialized" | "begun" | "closed" = "waiting";
  #torn: (() => void) | null = null;
  #timer: ReturnType<typeof setTimeout>;

  constructor(
    private frame: HTMLIFrameElement,
    private app: AppHtml,
    private host: AppHost,
  ) {
    this.#origin = new URL(app.frame).origin;
    window.addEventListener("message", this.#hear);
    this.#timer = setTimeout(() => this.#end("its frame did not answer within 10 seconds"), BEGIN_MS);
  }

  /** Tells the app of a change of its surroundings. */
  changed(context: Record<string, unknown>): void {
    if (this.#state === "begun") {
      this.#send({ method: "ui/notifications/host-context-changed", params: context });
    }
  }

  /** Lets the app end by itself, for a second at most, and then hears nothing of it any more. */
  async close(reason: string): Promise<void> {
    if (this.#state === "begun") {
      const torn = new Promise<void>((done) => (this.#torn = done));
      this.#send({ id: "teardown", method: "ui/resource-teardown", params: { reason } });
      await Promise.race([torn, new Promise((done) => setTimeout(done, END_MS))]);
    }
    this.#stop();
  }

  #stop(): void {
    this.#state = "closed";
    clearTimeout(this.#timer);
    window.removeEventListener("message", this.#hear);
  }

  #end(reason: string): void {
    if (this.#state !== "closed") {
      this.#stop();
      this.host.ended(reason);
    }
  }

  #send(message: object): void {
    if (this.#state !== "closed") {
      this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, this.#origin);
    }
  }

  #hear = (event: MessageEvent): void => {
    if (event.source !== this.frame.contentWindow || event.origin !== this.#origin) {
      return;
    }
    if (!this.#pace.take()) {
      this.#end("it sent too many messages");
    } else if (isMessage(event.data)) {
      const { id, method, params } = event.data;
      const own = params !== null && typeof params === "object" && !Array.isArray(params) ? params : {};
      if (typeof method !== "string") {
        // An answer: only one request is ever made.
        if (id === "teardown") {
          this.#torn?.();
        }
      } else if (id === undefined) {
        this.#notified(method, own);
      } else if ((typeof id === "string" && id.length <= 200) || typeof id === "number") {
        void this.#asked(id, method, own);
      }
    }
  };

  #notified(method: string, params: any): void {
    switch (method) {
      case "ui/notifications/sandbox-proxy-ready":
        if (this.#state === "waiting") {
          this.#state = "loaded";
          clearTimeout(this.#timer);
          const { csp } = this.app;
          this.#send({ method: "ui/notifications/sandbox-resource-ready", params: { html: htmlOf(this.app), csp, permissions: {} } });
        }
        break;
      case "ui/notifications/sandbox-closed":
        this.#end(String(params.reason).slice(0, 200));
        break;
      case "ui/notifications/initialized":
        if (this.#state === "initialized") {
          this.#state = "begun";
          this.#send({ method: "ui/notifications/tool-input", params: { arguments: this.host.input() } });
          this.#send({ method: "ui/notifications/tool-result", params: this.host.result() });
          this.host.begun();
        }
        break;
      case "ui/notifications/size-changed":
        if (this.#state === "begun" && Number.isFinite(params.height)) {
          this.host.resize(params.height);
        }
        break;
    }
  }

  async #asked(id: string | number, method: string, params: any): Promise<void> {
    const key = JSON.stringify(id);
    if (this.#open.has(key) || this.#open.size >= AT_ONCE) {
      const message = this.#open.has(key) ? "a request of this id is open" : `at most ${AT_ONCE} requests are open at once`;
      // Under the id of another request its answer would be taken for that of the other.
      if (!this.#open.has(key)) {
        this.#send({ id, error: { code: -32600, message } });
      }
      return;
    }
    this.#open.add(key);
    try {
      const result = await this.#answer(method, params);
      this.#send({ id, result });
    } catch (error) {
      const code = error instanceof RpcError ? error.code : -32000;
      this.#send({ id, error: { code, message: error instanceof Error ? error.message : String(error) } });
    } finally {
      this.#open.delete(key);
    }
  }

  async #answer(method: string, params: any): Promise<object> {
    if (method === "ping") {
      return {};
    }
    if (method === "ui/initialize") {
      if (this.#state !== "loaded") {
        throw new RpcError(-32600, "the app is initialized");
      }
      this.#state = "initialized";
      const sandbox = { permissions: {}, csp: this.app.csp };
      const chat = this.host.chat && { message: { text: {} }, updateModelContext: { text: {}, structuredContent: {} } };
      return {
        protocolVersion: VERSION,
        hostInfo: { name: "toolbox", version: "1" },
        hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, sandbox, ...chat },
        hostContext: this.host.context(),
      };
    }
    if (this.#state !== "begun") {
      throw new RpcError(-32600, "the app is not initialized");
    }
    switch (method) {
      case "tools/call": {
        const given = params.arguments ?? {};
        if (typeof params.name !== "string" || typeof given !== "object" || Array.isArray(given)) {
          throw new RpcError(-32602, "a call has a name, and an object of arguments");
        }
        return this.host.call(params.name, given);
      }
      case "resources/read":
        if (typeof params.uri !== "string") {
          throw new RpcError(-32602, "a resource has a URI");
        }
        return this.host.read(params.uri);
      case "ui/open-link": {
        const url = URL.canParse(params.url) ? new URL(params.url) : null;
        if (!url || !["http:", "https:"].includes(url.protocol) || url.href.length > 2000) {
          throw new RpcError(-32000, "Invalid URL");
        }
        if (!(await this.host.openLink(url))) {
          throw new RpcError(-32000, "Link opening denied by user");
        }
        return {};
      }
      case "ui/message":
        return this.#message(params);
      case "ui/update-model-context":
        return this.#give(params);
      case "ui/request-display-mode":
        return { mode: "inline" };
      default:
        throw new RpcError(-32601, "the page has no such method");
    }
  }

  get #chat(): AppChat {
    if (!this.host.chat) {
      throw new RpcError(-32601, "no conversation is here: the call was made by hand");
    }
    return this.host.chat;
  }

  async #message(params: any): Promise<object> {
    const chat = this.#chat;
    const text = bounded(textOf(params.content));
    if (params.role !== "user" || text.trim() === "") {
      throw new RpcError(-32602, "a message has the role user, and a text");
    }
    return (await chat.send(text)) ? {} : { isError: true };
  }

  #give(params: any): object {
    const chat = this.#chat;
    const { content, structuredContent } = params;
    const structured = structuredContent === undefined ? [] : [{ type: "text", text: JSON.stringify(structuredContent) }];
    const texts = [textOf(content), textOf(structured)].filter((text) => text.trim() !== "");
    const why = chat.give(bounded(texts.join("\n\n")));
    if (why) {
      throw new RpcError(-32000, why);
    }
    return {};
  }
}
