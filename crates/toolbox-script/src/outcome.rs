//! The end of a script, and the text that the model reads of it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolbox::{ToolCall, ToolResult};

use crate::engine::ScriptError;
use crate::host::Console;
use crate::text::beginning;

/// The most calls that the report of a failure lists.
const LISTED_CALLS: usize = 20;

/// The longest arguments that it shows of each, in bytes.
const SHOWN_ARGUMENTS: usize = 80;

/// The end of a script: the last reply of its run, as JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    #[serde(default)]
    value: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ScriptError>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    console: String,
    #[serde(default)]
    omitted: usize,
    #[serde(default)]
    calls: Vec<MadeCall>,
}

/// A call that a script made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MadeCall {
    tool: String,
    arguments: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

impl MadeCall {
    pub(crate) fn of((call, result): (&ToolCall, &ToolResult)) -> Self {
        Self {
            tool: cut(&call.name, SHOWN_ARGUMENTS),
            arguments: cut(call.arguments.as_str(), SHOWN_ARGUMENTS),
            code: result.is_error().then(|| result.code().unwrap_or("failed").to_owned()),
        }
    }
}

impl Outcome {
    pub(crate) fn new(
        end: Result<String, ScriptError>,
        console: Console,
        calls: Vec<MadeCall>,
    ) -> Self {
        let Console { text: console, omitted } = console;
        let read = |json: String| {
            serde_json::from_str(&json)
                .map_err(|error| ScriptError::new(format!("the value is no JSON: {error}")))
        };
        let (value, error) = match end.and_then(read) {
            Ok(value) => (value, None),
            Err(error) => (Value::Null, Some(error)),
        };
        let calls = if error.is_some() { calls } else { Vec::new() };
        Self { value, error, console, omitted, calls }
    }

    pub(crate) fn failed(error: ScriptError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    pub(crate) fn to_json(&self) -> String {
        // Serializing such a value cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the result of the call that ran the script.
    pub(crate) fn into_result(self, script: &str) -> ToolResult {
        let mut text = match &self.error {
            None => match &self.value {
                Value::String(text) => text.clone(),
                Value::Null if self.console.is_empty() => {
                    "null (the script returned nothing: use `return`)".to_owned()
                }
                value => value.to_string(),
            },
            Some(error) => self.report(error, script),
        };
        if !self.console.is_empty() {
            let _ = write!(text, "\n\nconsole:\n{}", self.console.trim_end());
        }
        if self.omitted > 0 {
            let _ = write!(text, "\n({} bytes of the console were left out)", self.omitted);
        }
        match self.error {
            None => ToolResult::new(text),
            Some(_) => ToolResult::error(text),
        }
    }

    fn report(&self, error: &ScriptError, script: &str) -> String {
        let mut text = format!("the script failed at {error}");
        if error.line.is_none() {
            text = format!("the script failed: {error}");
        }
        let line = error.line.and_then(|line| script.lines().nth(line.checked_sub(1)? as usize));
        if let (Some(number), Some(line)) = (error.line, line) {
            let _ = write!(text, "\n{number} | {}", cut(line.trim(), SHOWN_ARGUMENTS * 2));
        }
        if self.calls.is_empty() {
            text.push_str("\nno call was made");
            return text;
        }
        text.push_str("\ncalls that were made, which a new script need not repeat:");
        for call in self.calls.iter().take(LISTED_CALLS) {
            let end = call.code.as_deref().unwrap_or("ok");
            let _ = write!(text, "\n- {} {}: {end}", call.tool, call.arguments);
        }
        if let Some(more @ 1..) = self.calls.len().checked_sub(LISTED_CALLS) {
            let _ = write!(text, "\n- and {more} more");
        }
        text
    }
}

/// Cuts a text to a length in bytes.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", beginning(text, most))
}
