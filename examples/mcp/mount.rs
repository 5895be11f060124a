//! How do I give a model the tools of an MCP server?
//!
//! The server is this program itself, started once more with an argument, so that nothing has to be
//! installed. In a program of yours it would be
//! `ServerConfig::command("uvx").arg("mcp-server-time")` or `ServerConfig::url("https://…")`.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use toolbox::mcp::{self, ServerConfig, Servers};
use toolbox::{ToolBox, ToolCall, tool, tools};

/// Says what hour it is some hours later.
#[tool(read_only)]
fn add_hours(#[arg(range = 0..=23)] hour: u32, hours: u32) -> String {
    format!("it is {} o'clock then", (hour + hours % 24) % 24)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return Ok(mcp::serve_stdio(ToolBox::from(tools![add_hours])).await?);
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
