//! How do I let an MCP host (an editor, a desktop client, an agent) call my functions?
//!
//! Put the program into the host's configuration: `{"mcpServers": {"calculator": {"command":
//! "/path/to/serve"}}}`.

use toolbox::{ToolBox, mcp, tool, tools};

/// Adds two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), mcp::ServeError> {
    mcp::serve_stdio_as(ToolBox::from(tools![add]), toolbox::server_info!()).await
}
