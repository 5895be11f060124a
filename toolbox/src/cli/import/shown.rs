//! Servers for display, without what may be secret.

use serde_json::Value;

use crate::cli::text::{cut, line};
use crate::mcp::config::public_url;

/// The longest display of one server, in characters.
const LONGEST: usize = 200;

/// Words within the name of an option whose value may be secret.
const SECRET: [&str; 7] = ["key", "token", "secret", "password", "auth", "bearer", "credential"];

const MASK: &str = "***";

/// Formats an entry on one line: its command or address, and the names of its variables and
/// headers.
pub(super) fn entry(value: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(url) = value["url"].as_str() {
        parts.push(public_url(url));
    }
    let words = value["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut is_secret = false;
    for word in words {
        parts.push(if is_secret { MASK.to_owned() } else { self::word(word) });
        is_secret = word.starts_with('-') && !word.contains('=') && names_secret(word);
    }
    for key in ["environment", "headers"] {
        for (name, value) in value[key].as_object().into_iter().flatten() {
            parts.push(format!("{name}={}", masked(value.as_str().unwrap_or_default())));
        }
    }
    if value["enabled"] == false {
        parts.push("(disabled)".to_owned());
    }
    cut(&line(&parts.join(" ")), LONGEST)
}

fn word(word: &str) -> String {
    match word.split_once('=') {
        Some((name, _)) if names_secret(name) => format!("{name}={MASK}"),
        _ if word.contains("://") => word_with_address(word),
        _ => word.to_owned(),
    }
}

/// Hides the user, the query and the fragment of an address.
fn word_with_address(word: &str) -> String {
    match word.split_once('=') {
        Some((name, url)) if url.contains("://") => format!("{name}={}", public_url(url)),
        _ => public_url(word),
    }
}

/// Shows a value only if it is a reference to a variable.
fn masked(value: &str) -> &str {
    let inner = value.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}'));
    if inner.is_some_and(super::variables::is_name) { value } else { MASK }
}

fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|word| name.contains(word))
}
