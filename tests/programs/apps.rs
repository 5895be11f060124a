//! An MCP server over standard streams whose tools have apps, well-behaved or hostile.
//!
//! It speaks 2025-11-25, and is written against the wire, with nothing of what it tests.

#![allow(clippy::print_stdout, reason = "standard output is where such a server speaks")]

use std::io::{BufRead, Write};

use serde_json::{Value, json};

const FRIENDLY: &str = include_str!("apps/friendly.html");
const HOSTILE: &str = include_str!("apps/hostile.html");
const TALKING: &str = include_str!("apps/talking.html");
const FLOODING: &str = include_str!("apps/flooding.html");

/// More bytes than an app may have.
const TOO_MUCH: usize = 5 * 1024 * 1024 + 1;

/// The tools that have an app.
const APPS: [&str; 11] = [
    "show",
    "talk",
    "attack",
    "flood",
    "leave",
    "submit",
    "spin",
    "large",
    "text_type",
    "declares",
    "old_key",
];

struct AppServer {
    /// The extension that the client declared.
    declared: Value,
    /// The calls that were made, but those of `calls`.
    calls: Vec<String>,
}

pub(crate) fn main() {
    let mut server = AppServer { declared: Value::Null, calls: Vec::new() };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if let Ok(message) = serde_json::from_str::<Value>(&line)
            && !message["id"].is_null()
        {
            let answer = match server.answer(&message) {
                Ok(result) => json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
                Err(error) => json!({"jsonrpc": "2.0", "id": message["id"],
                    "error": {"code": -32602, "message": error}}),
            };
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
        }
    }
}

impl AppServer {
    fn answer(&mut self, message: &Value) -> Result<Value, &'static str> {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let extensions = &params["capabilities"]["extensions"];
                self.declared = extensions["io.modelcontextprotocol/ui"].clone();
                Ok(json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}, "resources": {}},
                    "serverInfo": {"name": "apps", "version": "1"},
                }))
            }
            "tools/list" => Ok(json!({"tools": tools()})),
            "tools/call" => Ok(self.call(params)),
            "resources/list" => Ok(json!({"resources": [
                {"uri": "facts://today", "name": "facts"},
            ]})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
            "resources/read" => read(params["uri"].as_str().unwrap_or_default()),
            "ping" => Ok(json!({})),
            _ => Err("no such method"),
        }
    }

    fn call(&mut self, params: &Value) -> Value {
        let name = params["name"].as_str().unwrap_or_default();
        let given = &params["arguments"];
        if name != "calls" {
            self.calls.push(name.to_owned());
        }
        let text = match name {
            "calls" => self.calls.join(" "),
            "declared" => self.declared.to_string(),
            "more" => format!("more of {}", given["of"].as_str().unwrap_or_default()),
            _ => format!("text of {name}"),
        };
        json!({
            "content": [{"type": "text", "text": text}],
            "structuredContent": {"of": name, "given": given},
            "_meta": {"example.com/for-the-app": name},
        })
    }
}

fn tools() -> Vec<Value> {
    let schema = json!({"type": "object", "properties": {"of": {"type": "string"}}});
    let tool = |name: &str, meta: Value| {
        json!({"name": name, "description": format!("The tool {name}."), "inputSchema": schema,
            "_meta": meta})
    };
    let with_app = |name: &&str| {
        let uri = format!("ui://apps/{name}");
        let meta = match *name {
            "old_key" => json!({"ui/resourceUri": uri}),
            _ => json!({"ui": {"resourceUri": uri}}),
        };
        tool(name, meta)
    };
    let mut tools: Vec<Value> = APPS.iter().map(with_app).collect();
    tools.extend([
        tool("more", json!({"ui": {"visibility": ["app"]}})),
        tool("ended", json!({"ui": {"visibility": ["app"]}})),
        tool("for_models", json!({"ui": {"visibility": ["model"]}})),
        tool("for_nobody", json!({"ui": {"visibility": []}})),
        tool("forbidden", json!({})),
        tool("calls", json!({})),
        tool("declared", json!({})),
    ]);
    tools
}

fn read(uri: &str) -> Result<Value, &'static str> {
    let html =
        |text: &str| json!({"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": text});
    let part = match uri {
        "facts://today" => json!({"uri": uri, "mimeType": "text/plain", "text": "a fact"}),
        "ui://apps/show" => html(FRIENDLY),
        "ui://apps/talk" => html(TALKING),
        "ui://apps/attack" => html(HOSTILE),
        "ui://apps/flood" => html(FLOODING),
        "ui://apps/leave" => html("<script>location = 'http://127.0.0.1:9/left'</script>"),
        "ui://apps/submit" => html(
            "<form action='http://127.0.0.1:9/sent'></form><script>document.forms[0].submit()</script>",
        ),
        "ui://apps/spin" => html("<p>spins<script>setTimeout(() => { for (;;); }, 100)</script>"),
        "ui://apps/large" => html(&"x".repeat(TOO_MUCH)),
        "ui://apps/text_type" => json!({"uri": uri, "mimeType": "text/html", "text": "<p>no app"}),
        // A blob: the base64 of a paragraph.
        "ui://apps/old_key" => json!({"uri": uri, "mimeType": "text/html;profile=mcp-app",
            "blob": "PHA+b2YgYnl0ZXM8L3A+"}),
        "ui://apps/declares" => {
            let mut part = html("<p>declares");
            part["_meta"] = json!({"ui": {
                "permissions": {"camera": {}, "clipboardWrite": {}},
                "csp": {
                    "connectDomains": ["https://api.example.com", "wss://*.example.com:8443",
                        "http://127.0.0.1:80", "https://127.0.0.1", "https://2130706433.",
                        "https://0x7f.1", "https://localhost", "https://a.localhost", "*",
                        "https:", "https://*", "https://a.example; script-src *",
                        "https://a.example/path", "https://user@a.example", 7],
                    "resourceDomains": ["https://cdn.example.com", "data:", "'unsafe-eval'"],
                    "frameDomains": ["https://player.example.com"],
                    "baseUriDomains": ["https://base.example.com"],
                },
            }});
            part
        }
        _ => return Err("no such resource"),
    };
    Ok(json!({"contents": [part]}))
}
