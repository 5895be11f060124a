//! The entry of a server that is started by a command, in the form of each program.

use std::path::Path;

use serde_json::{Map, Value, json};

/// Returns the path of this program in full: programs of a desktop know few variables.
pub(in crate::cli) fn own_path() -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of toolbox: {error}"))?;
    text_of(&own)
}

pub(in crate::cli) fn text_of(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is no text", path.display()))
}

/// Returns the entry with which a program starts a command.
pub(in crate::cli) fn entry(
    host: &str,
    command: &str,
    words: &[String],
    variables: &Map<String, Value>,
) -> Value {
    let mut entry = match host {
        "opencode" => {
            let all: Vec<&str> =
                std::iter::once(command).chain(words.iter().map(String::as_str)).collect();
            json!({"type": "local", "command": all})
        }
        "vscode" | "claude-code" => json!({"type": "stdio", "command": command, "args": words}),
        "zed" => json!({"source": "custom", "command": command, "args": words, "env": {}}),
        _ => json!({"command": command, "args": words}),
    };
    if !variables.is_empty() {
        let key = if host == "opencode" { "environment" } else { "env" };
        entry[key] = Value::Object(variables.clone());
    }
    entry
}
