//! What does the model see when a tool fails, and what does my program see?
//!
//! `cargo run -p toolbox-basics --example errors`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::error::Error;
use std::fmt;
use std::time::Duration;

use toolbox::{ToolBox, ToolCall, ToolError, tool, tools};

/// An error with a cause: both reach the model.
#[derive(Debug)]
struct ReadError {
    file: String,
    source: std::io::Error,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read {}", self.file)
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Reads a file.
#[tool(blocking)]
fn read_file(file: String) -> Result<String, ReadError> {
    std::fs::read_to_string(&file).map_err(|source| ReadError { file, source })
}

/// Looks up the weather.
#[tool]
fn weather(city: &str) -> Result<String, String> {
    Err(format!("city not found: {city}"))
}

/// Asks a service that is down: nothing the model could change.
#[tool]
fn forecast() -> Result<String, ToolError> {
    let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "10.1.2.3 refused");
    Err(ToolError::infrastructure(refused).with_message("the weather service is down"))
}

/// Divides; by zero, it panics.
#[tool]
fn divide(a: i64, b: i64) -> i64 {
    a / b
}

/// Never answers.
#[tool(timeout = "50ms")]
async fn oracle() -> String {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    "42".into()
}

#[tokio::main]
async fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let toolbox = ToolBox::from(tools![read_file, weather, forecast, divide, oracle]);
    let calls = [
        ("read_file", r#"{"file":"/no/such/file"}"#),
        ("weather", r#"{"city":"Atlantis"}"#),
        ("forecast", "{}"),
        ("divide", r#"{"a":1,"b":0}"#),
        ("divide", r#"{"a":true,"c":1}"#),
        ("oracle", "{}"),
        ("missing", "{}"),
    ];
    let calls = calls.into_iter().enumerate();
    let calls = calls.map(|(id, (name, args))| ToolCall::new(format!("call_{id}"), name, args));
    for result in toolbox.call_all(calls).await {
        println!("{} [{}]", result.call_id(), result.code().unwrap_or("ok"));
        println!("  the model reads: {}", result.text().replace('\n', "\n  "));
        if let Some(source) = result.source() {
            println!("  the log may say: {source}");
        }
    }
}
