//! A struct whose fields are the arguments.
use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::{ToolBox, ToolCall, tool, tools};

#[derive(Deserialize, JsonSchema)]
struct Request {
    /// Words to look for
    query: String,
    #[serde(default)]
    limit: u32,
}

/// Searches.
#[tool]
async fn search(#[arg(flatten)] request: Request, exact: bool) -> String {
    format!("{} {} {exact}", request.query, request.limit)
}

/// Finds.
#[tool]
fn find(#[arg(flatten)] request: &Request) -> String {
    request.query.clone()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![search, find]);
    let result = toolbox.call(ToolCall::new("1", "search", r#"{"query":"x","exact":true}"#)).await;
    assert_eq!(result.text(), "x 0 true");
    assert_eq!(toolbox.call(ToolCall::new("1", "find", r#"{"query":"x"}"#)).await.text(), "x");
}
