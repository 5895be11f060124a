//! Settings of programs that restrict the tools of servers by their names.

use std::path::Path;

use serde_json::{Map, Value};

/// A setting that restricts tools: the program, the path of its keys (`*` is any key), and what
/// stands before the name of a server.
type LimitSetting = (&'static str, &'static [&'static str], &'static str);

const LIMITS: &[LimitSetting] = &[
    ("claude-code", &["permissions", "deny"], "mcp__"),
    ("claude-code", &["permissions", "ask"], "mcp__"),
    ("cursor", &["permissions", "deny"], "Mcp("),
    ("opencode", &["tools"], ""),
    ("opencode", &["permission"], ""),
    ("opencode", &["agent", "*", "tools"], ""),
    ("opencode", &["agent", "*", "permission"], ""),
    ("opencode", &["mode", "*", "tools"], ""),
    ("zed", &["agent", "profiles", "*", "context_servers"], ""),
    ("zed", &["agent", "tool_permissions", "tools"], "mcp:"),
    ("amp", &["amp.mcpPermissions"], ANY),
    ("amp", &["amp.permissions"], "mcp__"),
    ("amp", &["amp.tools.disable"], "mcp__"),
    ("gemini", &["excludeTools"], ANY),
    ("gemini", &["tools", "exclude"], ANY),
];

/// The names of tools stand without that of their server.
const ANY: &str = "*";

/// The tools of Gemini CLI itself; it knows them by the names of their classes, too.
const OF_GEMINI: [&str; 16] = [
    "activate_skill",
    "ask_user",
    "codebase_investigator",
    "edit",
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "replace",
    "run_shell_command",
    "save_memory",
    "search_file_content",
    "web_fetch",
    "write_file",
];

/// The settings of a program that restrict tools.
#[derive(Debug, Default)]
pub(super) struct LimitSettings(Vec<FoundLimit>);

#[derive(Debug)]
struct FoundLimit {
    value: Value,
    prefix: &'static str,
    /// The setting and its file.
    place: String,
}

impl LimitSettings {
    /// Takes the settings of a file of a program.
    pub(super) fn take(&mut self, host: &str, path: &Path, settings: &Map<String, Value>) {
        for (_, keys, prefix) in LIMITS.iter().filter(|(program, ..)| *program == host) {
            for value in at(settings, keys) {
                let place = place(&keys.join("."), path);
                self.0.push(FoundLimit { value: value.clone(), prefix, place });
            }
        }
    }

    /// Returns the setting that restricts a server.
    pub(super) fn of(&self, server: &str) -> Option<&str> {
        let found = self.0.iter().find(|limit| meets(&limit.value, limit.prefix, server));
        found.map(|limit| limit.place.as_str())
    }
}

/// Returns the text that names a setting of a file.
pub(super) fn place(key: &str, path: &Path) -> String {
    format!("`{key}` in {}", path.display())
}

fn at<'a>(settings: &'a Map<String, Value>, keys: &[&str]) -> Vec<&'a Value> {
    let [key, rest @ ..] = keys else { return Vec::new() };
    let values = settings.iter().filter(|(name, _)| *key == "*" || name == key);
    values
        .flat_map(|(_, value)| match (rest, value) {
            ([], value) => vec![value],
            (rest, Value::Object(below)) => at(below, rest),
            _ => Vec::new(),
        })
        .collect()
}

/// Returns whether a setting has a name of the server, or of one of its tools, that it restricts.
fn meets(setting: &Value, prefix: &str, server: &str) -> bool {
    match setting {
        Value::Array(items) => items.iter().any(|item| match item {
            Value::String(name) => is_of(name, prefix, server),
            // A rule, with the tool that it is for; one of Amp is for servers without it.
            Value::Object(rule) => {
                let tool = rule.get("tool").and_then(Value::as_str);
                rule.get("action").is_some_and(restricts)
                    && tool.is_none_or(|tool| is_of(tool, prefix, server))
            }
            _ => false,
        }),
        Value::Object(rules) => {
            rules.iter().any(|(name, rule)| is_of(name, prefix, server) && restricts(rule))
        }
        // One word for all tools, like `"permission": "ask"`.
        Value::String(_) => restricts(setting),
        _ => false,
    }
}

/// Returns whether a rule is more than a permission.
fn restricts(rule: &Value) -> bool {
    match rule {
        Value::Bool(allows) => !allows,
        Value::String(word) => word != "allow",
        Value::Array(rules) => rules.iter().any(restricts),
        Value::Object(rules) => rules.values().any(restricts),
        Value::Null | Value::Number(_) => false,
    }
}

/// Returns whether a name or pattern may be of a tool of the server.
fn is_of(name: &str, prefix: &str, server: &str) -> bool {
    if prefix == ANY {
        let name = name.split('(').next().unwrap_or(name);
        return !OF_GEMINI.contains(&name) && !name.ends_with("Tool");
    }
    let Some(rest) = name.strip_prefix(prefix) else {
        // `*` and `mcp*` are all of them.
        return name.split_once('*').is_some_and(|(before, _)| prefix.starts_with(before));
    };
    let (literal, is_pattern) = match rest.find(['*', '?']) {
        Some(end) => (&rest[..end], true),
        None => (rest, false),
    };
    // In the names of tools, other characters are `_`.
    let fitting = server.replace(|char: char| !char.is_ascii_alphanumeric() && char != '-', "_");
    [server, &fitting].into_iter().any(|server| {
        let after = literal.strip_prefix(server);
        is_pattern && server.starts_with(literal)
            || after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    })
}
