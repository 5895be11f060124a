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

#[test]
fn a_renamed_dependency_without_its_name_is_one_error() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("--version").output().expect("rustc runs");
    // The snapshots are those of one compiler, as in `../ui.rs`.
    if String::from_utf8_lossy(&output.stdout).contains(" 1.95.") {
        trybuild::TestCases::new().compile_fail("fail/*.rs");
    }
}
