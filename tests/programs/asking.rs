//! An MCP server over standard streams that asks its client for whatever a call says.
//!
//! It is written against the wire, with nothing of what it tests. `modern` speaks 2026-07-28 alone,
//! else 2025-11-25.

#![allow(clippy::print_stdout, reason = "standard output is where such a server speaks")]

use std::io::{BufRead, Write};

use serde_json::{Value, json};

const STATE: &str = "state: \u{e9} / 7";

#[derive(Default)]
struct Server {
    modern: bool,
    /// The capabilities of the client, by its handshake.
    capabilities: Value,
    /// The call that waits for the answer to a request of the server.
    waiting: Option<Value>,
    /// The number of requests of the server, whose ids it makes.
    asked: u32,
    rounds: u32,
    pages: u32,
}

pub(crate) fn main() {
    let modern = std::env::args().any(|argument| argument == "modern");
    let mut server = Server { modern, ..Server::default() };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            server.receive(&message);
        }
    }
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

fn result(id: &Value, result: &Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn text(id: &Value, text: &str) {
    result(id, &json!({"resultType": "complete", "content": [{"type": "text", "text": text}]}));
}

fn error(id: &Value, code: i32, data: &Value) {
    let error = json!({"code": code, "message": "refused", "data": data});
    say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

impl Server {
    fn receive(&mut self, message: &Value) {
        let id = &message["id"];
        let info = json!({"name": "asking", "version": "1"});
        match message["method"].as_str() {
            Some("server/discover") if self.modern => result(
                id,
                &json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                    "_meta": {"io.modelcontextprotocol/serverInfo": info},
                }),
            ),
            Some("initialize") if !self.modern => {
                self.capabilities = message["params"]["capabilities"].clone();
                result(
                    id,
                    &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}),
                );
            }
            Some("tools/list") => {
                let names = ["ask", "capabilities", "forever", "later", "pages"];
                let tool = |name| json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
                let tools: Vec<Value> = names.into_iter().map(tool).collect();
                let list = json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"});
                result(id, &list);
            }
            Some("tools/call") => self.call(id, &message["params"]),
            Some(_) if id.is_null() => {}
            Some(_) => error(id, -32601, &Value::Null),
            // The answer to a question of a call that was cancelled is for no other call.
            None if *id == self.question() => {
                if let Some(call) = self.waiting.take() {
                    let answer = message.get("result").or(message.get("error"));
                    text(&call, &answer.cloned().unwrap_or_default().to_string());
                }
            }
            None => {}
        }
    }

    fn question(&self) -> String {
        format!("q{}", self.asked)
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let (responses, state) = (params.get("inputResponses"), params["requestState"].as_str());
        let request = |method: &Value, params: &Value| json!({"method": method, "params": params});
        let ask = |requests: Value| {
            let asked = json!({"resultType": "input_required", "inputRequests": requests, "requestState": STATE});
            result(id, &asked);
        };
        let arguments = &params["arguments"];
        let declared = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        match params["name"].as_str() {
            Some("capabilities") if self.modern => text(id, &declared.to_string()),
            Some("capabilities") => text(id, &self.capabilities.to_string()),
            Some("ask") if !self.modern => {
                self.waiting = Some(id.clone());
                self.asked += 1;
                say(
                    &json!({"jsonrpc": "2.0", "id": self.question(), "method": arguments["method"], "params": arguments["params"]}),
                );
            }
            Some("ask") => match responses {
                Some(_) if state != Some(STATE) => error(id, -32602, &Value::Null),
                Some(responses) => text(id, &responses["q"].to_string()),
                None => ask(json!({"q": request(&arguments["method"], &arguments["params"])})),
            },
            Some("forever") => {
                self.rounds += 1;
                let form = json!({"type": "object", "properties": {"a": {"type": "boolean"}}});
                let params =
                    json!({"message": format!("round {}", self.rounds), "requestedSchema": form});
                ask(json!({"q": request(&json!("elicitation/create"), &params)}));
            }
            Some("later") => {
                self.rounds += 1;
                if self.rounds < 4 {
                    result(id, &json!({"resultType": "input_required", "requestState": STATE}));
                } else {
                    text(id, &format!("{} {}", state == Some(STATE), responses.is_none()));
                }
            }
            Some("pages") => {
                self.pages += 1;
                if self.pages % 2 == 1 {
                    let page = json!({"mode": "url", "elicitationId": "e", "message": "Sign in", "url": arguments["url"]});
                    error(id, -32042, &json!({"elicitations": [page]}));
                } else {
                    text(id, "signed in");
                }
            }
            _ => error(id, -32602, &Value::Null),
        }
    }
}
