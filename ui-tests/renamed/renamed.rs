//! A program that depends on `toolbox` under another name.

#![allow(clippy::unused_async, clippy::unused_self, reason = "tools for show")]

use kit::{ToolBox, ToolCall, tool, tools, toolset};

/// Adds two numbers.
#[tool(crate = kit, example(a = 1, b = 2))]
async fn add(#[arg(range = 0..=9)] a: i64, #[arg(default = 5)] b: i64) -> Result<i64, String> {
    Ok(a + b)
}

struct Words;

#[toolset(crate = kit)]
impl Words {
    /// Counts letters.
    #[tool]
    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

#[tokio::test]
async fn a_renamed_dependency_needs_nothing_but_its_name() {
    let toolbox = ToolBox::from(tools![add]);
    toolbox.register(Words);
    assert_eq!(toolbox.call(ToolCall::new("1", "add", r#"{"a":1}"#)).await.text(), "6");
    assert_eq!(toolbox.call(ToolCall::new("2", "count", r#"{"text":"abc"}"#)).await.text(), "3");
}
