//! Calls in one line.

use toolbox::{ToolBox, ToolCall, ToolResult};

pub(crate) async fn call(
    toolbox: &ToolBox,
    tool: &str,
    arguments: serde_json::Value,
) -> ToolResult {
    toolbox.call(ToolCall::new("call", tool, arguments)).await
}
