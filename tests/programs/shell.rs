//! Runs one command with `shell_exec`, as a program of its own that a test can start as another
//! user, and end.
//!
//! It takes one argument, a JSON object, and prints one: whether the call failed, its text, and the
//! guarantees. `HOST` in the command stands for the id of this process.

#![allow(clippy::print_stdout, reason = "the test that starts it reads what it says")]

use std::time::Duration;

use serde_json::{Value, json};
use toolbox::builtin::{Workspace, shell::Shell};
use toolbox::{ToolBox, ToolCall};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> std::io::Result<()> {
    let argument = std::env::args().nth(1).expect("one argument");
    let given: Value = serde_json::from_str(&argument).expect("an object");
    let number = |key: &str| given[key].as_u64();
    let workspace = Workspace::open(given["workspace"].as_str().expect("a folder"))?;
    let mut shell = match given["mode"].as_str() {
        Some("unconfined") => Shell::unconfined(workspace),
        Some("landlock") => Shell::new(workspace)?.without_namespaces(),
        _ => Shell::new(workspace)?,
    };
    if let Some(seconds) = number("seconds") {
        shell = shell.timeout(Duration::from_secs(seconds));
    }
    if let Some(processes) = number("processes") {
        shell = shell.max_processes(processes.try_into().expect("a small number"));
    }
    if let Some(memory) = number("memory") {
        shell = shell.max_memory_bytes(memory);
    }
    let guarantees = shell.guarantees();
    let command = given["command"].as_str().expect("a command");
    let command = command.replace("HOST", &std::process::id().to_string());
    let call = ToolCall::new("1", "shell_exec", json!({"command": command}));
    let result = ToolBox::from(shell).call(call).await;
    let answer =
        json!({"is_error": result.is_error(), "text": result.text(), "guarantees": guarantees});
    println!("{answer}");
    Ok(())
}
