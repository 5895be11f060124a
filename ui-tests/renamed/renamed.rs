//! A program that depends on `toolbox` under another name.

#![allow(clippy::unused_async, clippy::unused_self, reason = "tools for show")]

use kit::{ToolBox, ToolCall, prompt, resource, tool, tools, toolset};

/// Adds two numbers.
#[tool(example(a = 1, b = 2))]
async fn add(#[arg(range = 0..=9)] a: i64, #[arg(default = 5)] b: i64) -> Result<i64, String> {
    Ok(a + b)
}

/// Doubles a number.
#[tool(crate = kit)]
fn double(a: i64) -> i64 {
    2 * a
}

/// Asks for a review.
#[prompt]
fn review(title: &str) -> String {
    title.to_owned()
}

/// The manual.
#[resource("docs://manual")]
fn manual() -> String {
    String::new()
}

struct Words;

#[toolset]
impl Words {
    /// Counts letters.
    #[tool]
    fn count(&self, #[arg(default = "x")] text: &str) -> usize {
        text.len()
    }
}

#[tokio::test]
async fn a_renamed_dependency_is_found_in_the_manifest() {
    let toolbox = ToolBox::builder()
        .tools(tools![add, double])
        .prompts(kit::prompts![review])
        .resources(kit::resources![manual])
        .build()
        .expect("distinct names");
    toolbox.register(Words);
    for (name, arguments, text) in
        [("add", r#"{"a":1}"#, "6"), ("double", r#"{"a":4}"#, "8"), ("count", "{}", "1")]
    {
        let result = toolbox.call(ToolCall::new("1", name, arguments)).await;
        assert_eq!(result.text(), text, "{name}");
    }
}
