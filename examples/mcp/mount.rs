//! Mounts an MCP server's tools into a box, and calls one.
//!
//! The server is this program itself, started once more with an argument, so that nothing has to be installed. In a program
//! of yours it would be `ServerConfig::command("uvx").arg("mcp-server-time")` or `ServerConfig::url("https://…")`.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use serde_json::{Value, json};
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::{ToolBox, ToolCall};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return Ok(serve()?);
    }
    let this_program = std::env::current_exe()?;
    let clock = ServerConfig::command(this_program.to_string_lossy()).arg("serve");

    let toolbox = ToolBox::new();
    let servers = Servers::builder().server("clock", clock).mount(&toolbox).await?;
    for status in servers.status() {
        println!("{}: {:?}, with {:?}", status.name, status.state, status.tools);
    }

    let call = ToolCall::new("call_1", "clock_add_hours", r#"{"hour": 22, "hours": 5}"#);
    println!("{}", toolbox.call(call).await.text());

    // The arguments are checked against the server's schema before anything is sent.
    let call = ToolCall::new("call_2", "clock_add_hours", r#"{"hour": "late"}"#);
    println!("{}", toolbox.call(call).await.text());

    servers.close().await;
    Ok(())
}

/// The least that an MCP server is: one answer for each line.
fn serve() -> std::io::Result<()> {
    for line in std::io::stdin().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "clock", "version": "1.0.0"},
            }),
            Some("tools/list") => json!({"tools": [{
                "name": "add_hours",
                "description": "Says what hour it is some hours later.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"hour": {"type": "integer"}, "hours": {"type": "integer"}},
                    "required": ["hour", "hours"],
                },
            }]}),
            Some("tools/call") => {
                let given = &request["params"]["arguments"];
                let [hour, hours] = ["hour", "hours"].map(|name| given[name].as_i64().unwrap_or(0));
                let text = format!("it is {} o'clock then", (hour + hours).rem_euclid(24));
                json!({"content": [{"type": "text", "text": text}]})
            }
            // Notifications get no answer, and the probe for a newer protocol an error.
            _ if request["id"].is_null() => continue,
            _ => {
                let error = json!({"code": -32601, "message": "method not found"});
                println!("{}", json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
                continue;
            }
        };
        println!("{}", json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }
    Ok(())
}
