//! Servers for display, without what may be secret.

use serde_json::Value;

use super::variables::is_name;
use crate::cli::text::{cut, line};

/// The longest display of one server, in characters.
const LONGEST: usize = 200;

/// Words within the name of an option or header whose value may be secret.
const SECRET: [&str; 7] = ["key", "token", "secret", "password", "auth", "bearer", "credential"];

/// The beginnings of tokens of well-known services.
const TOKENS: [&str; 9] =
    ["sk-", "sk_", "ghp_", "gho_", "github_pat_", "glpat-", "xox", "AKIA", "Bearer "];

const MASK: &str = "***";

/// Formats an entry on one line: its command or address, and the names of its variables and
/// headers.
pub(super) fn entry(value: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(url) = value["url"].as_str() {
        parts.push(address(url));
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
    if TOKENS.iter().any(|start| word.starts_with(start)) {
        return MASK.to_owned();
    }
    let is_variable = |name: &str| is_name(name) && !name.contains(char::is_lowercase);
    match word.split_once(['=', ':']) {
        Some((name, value)) if value.starts_with("//") && !names_secret(name) => address(word),
        Some((name, _)) if names_secret(name) || is_variable(name) => {
            format!("{name}{}{MASK}", &word[name.len()..=name.len()])
        }
        Some((name, url)) if url.contains("://") => format!("{name}={}", address(url)),
        _ => word.to_owned(),
    }
}

/// Returns an address without user, query and fragment. It may begin with a variable.
fn address(url: &str) -> String {
    let public = url.split(['?', '#']).next().unwrap_or_default();
    match public.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => public.to_owned(),
    }
}

/// Shows a value only if it is a reference to a variable.
fn masked(value: &str) -> &str {
    let inner = value.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}'));
    if inner.is_some_and(is_name) { value } else { MASK }
}

fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|word| name.contains(word))
}
