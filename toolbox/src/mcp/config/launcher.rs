//! Programs that start others, and read variables by themselves.

use jsonc_parser::ast::{Object, Value};

/// Returns whether the program of a server expands variables in its arguments: a shell, and
/// `mcp-remote` in its headers.
pub(super) fn expands_itself(server: &Object<'_>) -> bool {
    let words = ["command", "args"].into_iter().flat_map(|key| match server.get(key) {
        Some(property) => match &property.value {
            Value::StringLit(word) => vec![word.value.as_ref()],
            Value::Array(words) => words
                .elements
                .iter()
                .filter_map(Value::as_string_lit)
                .map(|word| word.value.as_ref())
                .collect(),
            _ => Vec::new(),
        },
        None => Vec::new(),
    });
    words.enumerate().any(|(at, word)| (at == 0 && is_shell(word)) || is_mcp_remote(word))
}

/// Returns whether a program is a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    ["sh", "bash", "dash", "zsh", "fish", "ksh", "cmd", "powershell", "pwsh"].contains(&name)
}

/// Returns whether a word names the package `mcp-remote`, with or without a version.
pub(crate) fn is_mcp_remote(word: &str) -> bool {
    word.strip_prefix("mcp-remote").is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}
