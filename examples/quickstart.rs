//! First steps.
use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Search the documentation.
#[tool(read_only, example(query = "derive macros", limit = 3))]
async fn search(
    /// Words to look for
    query: &str,
    /// How many hits to return
    #[arg(default = 10, range = 1..=50)]
    limit: u32,
    tags: Option<Vec<String>>,
    context: &ToolContext,
) -> Result<Vec<String>, String> {
    if query.is_empty() {
        return Err("empty query".into());
    }
    Ok(vec![format!("{query} {limit} {tags:?} {}", context.call_id())])
}

#[tokio::main]
async fn main() {
    let toolbox = ToolBox::from(tools![add, search]);
    for tool in toolbox.tools() {
        println!("{}", serde_json::to_string_pretty(tool.definition()).unwrap());
    }
    for (name, args) in [
        ("add", r#"{"a":1,"b":2}"#),
        ("add", r#"{"a":1,"b":"2"}"#),
        ("add", r#"{"a":1,"c":2.5}"#),
        ("search", r#"{"query":"x\ny"}"#),
        ("search", r#"{"query":"x","limit":null,"tags":null}"#),
        ("search", r#"{"query":"x","limit":99}"#),
        ("search", r#"{"query":"","limit":9}"#),
        ("serch", "{}"),
    ] {
        let result = toolbox.call(ToolCall::new("c1", name, args)).await;
        println!("{name} {args} => {result:?} {:?}", result.repairs());
    }
}
