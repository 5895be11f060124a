//! How do I keep a model from calling some of the tools?
//!
//! What is blacklisted leaves the list that is sent, and is refused when it is called all the same.
//!
//! `cargo run -p toolbox-basics --example blacklist`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use toolbox::context::Decision;
use toolbox::{ToolBox, ToolCall, tool, tools};

/// Reads a file.
#[tool(read_only)]
fn fs_read(path: &str) -> String {
    format!("the text of {path}")
}

/// Deletes a file.
#[tool(destructive)]
fn fs_delete(path: &str) -> String {
    format!("{path} is gone")
}

/// Sends money.
#[tool(approval)]
fn pay(amount: u32) -> String {
    format!("{amount} sent")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let toolbox = ToolBox::builder()
        .tools(tools![fs_read, fs_delete, pay])
        .approver(|request: toolbox::context::ApprovalRequest| async move {
            match request.arguments.parse::<serde_json::Value>() {
                Ok(arguments) if arguments["amount"].as_u64() < Some(100) => Decision::Approve,
                _ => Decision::Deny("more than 99 needs a signature".into()),
            }
        })
        .build()?;
    toolbox.blacklist("fs_d*");
    println!("the model is told of:\n{}\n", toolbox.summaries().join("\n"));
    let calls = [
        ("fs_read", r#"{"path":"a.txt"}"#),
        ("fs_delete", r#"{"path":"a.txt"}"#),
        ("pay", r#"{"amount":20}"#),
        ("pay", r#"{"amount":2000}"#),
    ];
    for (name, arguments) in calls {
        let result = toolbox.call(ToolCall::new("1", name, arguments)).await;
        println!("{name}: {}", result.text());
    }
    Ok(())
}
