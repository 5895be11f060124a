// A call as a command or a test, to be pasted elsewhere.
import { visible } from "./text";

/** Returns JSON in ASCII, so that nothing in it is hidden or of another direction. */
function ascii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
}

function quoted(text: string): string {
  return "'" + text.replace(/'/g, "'\\''") + "'";
}

function rust(text: string): string {
  let hashes = "#";
  while (text.includes('"' + hashes)) {
    hashes += "#";
  }
  return `r${hashes}"${text}"${hashes}`;
}

/** Returns JSON on one line, with its numbers as they are written. */
function oneLine(json: string): string {
  let out = "";
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const sign = json[at]!;
    if (inString && sign === "\\") {
      out += sign + (json[++at] ?? "");
      continue;
    }
    if (sign === '"') {
      inString = !inString;
    }
    if (inString || !/\s/.test(sign)) {
      out += sign;
    }
  }
  return ascii(out);
}

export function asCommand(tool: string, json: string): string {
  return `toolbox call ${quoted(tool)} ${quoted(oneLine(json))}`;
}

export function asCurl(tool: string, json: string, url: string | null): string {
  const name = JSON.stringify(tool);
  const meta =
    '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}';
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${name},"arguments":${oneLine(json)},"_meta":${meta}}}`;
  return [
    url ? "" : "# while `toolbox serve --http 8080 --no-gateway` runs\n",
    `curl -s ${quoted(url ?? "http://127.0.0.1:8080/mcp")}`,
    "-H 'content-type: application/json' -H 'accept: application/json, text/event-stream'",
    `-H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: tools/call' -H ${quoted("mcp-name: " + tool)}`,
    `-d ${quoted(body)}`,
  ]
    .join(" ")
    .trim();
}

export function asTest(tool: string, json: string, text: string | null): string {
  const name = tool.toLowerCase().replace(/[^a-z0-9]+/g, "_");
  const lines = [
    "#[tokio::test]",
    `async fn ${name}_answers() {`,
    "    let toolbox = toolbox(); // the box of your program",
    `    let call = toolbox::ToolCall::new("1", ${JSON.stringify(tool)}, ${rust(oneLine(json))});`,
    "    let result = toolbox.call(call).await;",
    '    assert!(!result.is_error(), "{}", result.text());',
  ];
  if (text !== null && text.length <= 2000 && visible(text) === text) {
    lines.push(`    assert_eq!(result.text(), ${rust(text)});`);
  }
  lines.push("}");
  return lines.join("\n") + "\n";
}
