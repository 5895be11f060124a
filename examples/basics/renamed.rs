//! How do I rename a tool and keep its old name?
//!
//! `replaces` names the name that it had before: a call by it runs the tool, and the model learns
//! the new one. `version` is for people and MCP clients.
//!
//! `cargo run -p toolbox-basics --example renamed`

#![allow(clippy::print_stdout, reason = "an example")]

use toolbox::{ToolBox, ToolCall, tool, tools};

/// Searches the notes for a word.
#[tool(version = "2", replaces = "find")]
fn search(
    /// The word
    word: &str,
) -> String {
    format!("2 notes have {word}")
}

#[tokio::main]
async fn main() {
    let toolbox = ToolBox::from(tools![search]);
    let version = search::tool().definition().version().map(String::from);
    println!("{:?}, version {version:?}", toolbox.names());

    // A prompt that names the old one still works.
    let call = ToolCall::new("1", "find", r#"{"word": "rust"}"#);
    println!("{}", toolbox.call(call).await.text());

    // A rule on the old name still holds, for both.
    toolbox.blacklist("find");
    let call = ToolCall::new("2", "search", r#"{"word": "rust"}"#);
    println!("{}", toolbox.call(call).await.text());
}
