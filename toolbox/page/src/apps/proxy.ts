// The proxy between the page and an app, in a document of another origin. It loads the HTML into a frame without an
// origin, which inherits the policy of this document, and hands messages on both ways.
import { Pace, isMessage } from "./bounds";

const page = document.documentElement.dataset.page ?? "";
const LEFT = "it left the document that its server sent";
const pace = new Pace();
let app: HTMLIFrameElement | null = null;
let loads = 0;

function tell(method: string, params: object = {}): void {
  parent.postMessage({ jsonrpc: "2.0", method, params }, page);
}

/** Takes the app away, and says why. */
function close(reason: string): void {
  app?.remove();
  app = null;
  tell("ui/notifications/sandbox-closed", { reason });
}

function load(html: string): void {
  app = document.createElement("iframe");
  app.title = "App";
  // Without an origin of its own it has no cookies and no storage, and cannot reach this document.
  app.setAttribute("sandbox", "allow-scripts allow-forms");
  app.referrerPolicy = "no-referrer";
  app.addEventListener("load", () => {
    loads += 1;
    if (loads > 1) {
      close(LEFT);
    }
  });
  app.srcdoc = html;
  document.body.append(app);
}

function fromPage(message: any): void {
  if (message.method === "ui/notifications/sandbox-resource-ready") {
    if (!app && loads === 0 && typeof message.params?.html === "string") {
      load(message.params.html);
    }
  } else if (!String(message.method ?? "").startsWith("ui/notifications/sandbox-")) {
    // The frame has no origin that could be named.
    app?.contentWindow?.postMessage(message, "*");
  }
}

function fromApp(message: unknown): void {
  if (!pace.take()) {
    close("it sent too many messages");
  } else if (isMessage(message) && !String(message.method ?? "").startsWith("ui/notifications/sandbox-")) {
    parent.postMessage(message, page);
  }
}

addEventListener("message", (event) => {
  if (event.source === parent && event.origin === page) {
    fromPage(event.data);
  } else if (app && event.source === app.contentWindow && event.origin === "null") {
    fromApp(event.data);
  }
});
// The policy keeps the frame from other documents, also before the first is loaded.
addEventListener("securitypolicyviolation", (event) => {
  if (event.effectiveDirective === "frame-src") {
    close(LEFT);
  }
});
if (parent !== window && page) {
  tell("ui/notifications/sandbox-proxy-ready");
}
