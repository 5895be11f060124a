//! Servers for display. Only what is known to be no secret is shown: the program, the package that
//! it starts, names of options, and references to variables.

use serde_json::Value;

use super::variables::is_name;
use crate::cli::text::{cut, line};

/// The longest display of one server, in characters.
const LONGEST: usize = 200;

/// The longest name of an option that is shown, in characters.
const LONGEST_OPTION: usize = 40;

/// Programs whose first argument that belongs to no option is what they start.
const STARTERS: [&str; 15] = [
    "bun", "bunx", "cargo", "deno", "docker", "node", "npm", "npx", "pipx", "pnpm", "pnpx",
    "podman", "python", "python3", "uv",
];

/// Words that mean the same to each program that takes them, and take no value.
const WORDS: [&str; 22] = [
    "--",
    "--init",
    "--interactive",
    "--rm",
    "--stdio",
    "--tty",
    "--yes",
    "-i",
    "-it",
    "-m",
    "-t",
    "-ti",
    "-y",
    "dlx",
    "exec",
    "install",
    "mcp",
    "run",
    "serve",
    "start",
    "stdio",
    "tool",
];

/// Options whose value is a path.
const PATHS: [&str; 2] = ["--config", "--directory"];

/// Segments of the path of an address that name an endpoint.
const SEGMENTS: [&str; 9] = ["api", "http", "mcp", "messages", "rpc", "sse", "v1", "v2", "v3"];

/// The beginnings of tokens of well-known services, which look like names of packages.
const TOKENS: [&str; 12] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "npm_",
    "xox",
    "AKIA",
];

const MASK: &str = "***";

/// Formats an entry on one line: its command or address, and the names of its variables and
/// headers.
pub(super) fn entry(value: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(url) = value["url"].as_str() {
        parts.push(address(url));
    }
    let words: Vec<&str> =
        value["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    parts.extend(command(&words));
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

/// Formats arguments of a program as a list.
pub(super) fn arguments(program: &str, words: &[&str]) -> String {
    let all: Vec<&str> = std::iter::once(program).chain(words.iter().copied()).collect();
    let shown = command(&all).into_iter().skip(1).collect::<Vec<_>>();
    cut(&line(&serde_json::json!(shown).to_string()), LONGEST)
}

/// Returns the words of a command.
fn command(words: &[&str]) -> Vec<String> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let mut starts = starts_another(program);
    let mut shown = vec![if is_token(program) { MASK.to_owned() } else { (*program).to_owned() }];
    let mut may_be_value = false;
    for (before, word) in words.iter().zip(rest) {
        let is_known = WORDS.contains(word);
        if is_known || (PATHS.contains(before) && is_package(word)) {
            shown.push((*word).to_owned());
        } else if word.starts_with('-') {
            shown.push(option(word));
        } else if word.contains("://") && !may_be_value {
            shown.push(address(word));
            starts = false;
        } else if starts && !may_be_value && is_package(word) {
            shown.push((*word).to_owned());
            starts = false;
        } else {
            shown.push(masked(word).to_owned());
            starts &= may_be_value;
        }
        // Of an option that is not known, the next word may be the value.
        may_be_value = !is_known && word.starts_with('-') && !word.contains('=');
    }
    shown
}

fn starts_another(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name);
    STARTERS.contains(&name) || name == "uvx"
}

/// Returns an option without its value, which may follow its letter at once.
pub(super) fn option(word: &str) -> String {
    let name = word.split('=').next().unwrap_or_default();
    let letters = name.trim_start_matches('-');
    let is_plain = !letters.is_empty()
        && letters.len() <= LONGEST_OPTION
        && letters.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_');
    match word.strip_prefix("--") {
        Some(_) if !is_plain => format!("--{MASK}"),
        None if letters.chars().count() > 1 => {
            let first = letters.chars().next().unwrap_or_default();
            format!("-{first}{MASK}")
        }
        _ if name.len() < word.len() => format!("{name}={MASK}"),
        _ => name.to_owned(),
    }
}

/// Returns whether a word has the form of a package, an image or a file.
fn is_package(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@/._:-\\".contains(c);
    word.chars().all(is_plain) && !is_token(word)
}

fn is_token(word: &str) -> bool {
    TOKENS.iter().any(|start| word.starts_with(start))
}

/// Returns an address without user, query and fragment, and without the segments of its path that
/// name no endpoint. It may begin with a variable.
fn address(url: &str) -> String {
    let public = url.split(['?', '#']).next().unwrap_or_default();
    if let Some((variable, path)) = url.strip_prefix("{env:").and_then(|rest| rest.split_once('}'))
    {
        let name = variable.split(':').next().unwrap_or_default();
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let name = if is_name(name) { format!("{{env:{name}}}") } else { MASK.to_owned() };
        return format!("{name}{}", endpoint(path));
    }
    let Some((scheme, rest)) = public.split_once("://") else { return MASK.to_owned() };
    let is_scheme = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{}://{host}{}", if is_scheme { scheme } else { MASK }, endpoint(path))
}

/// Returns a path without the segments that name no endpoint.
fn endpoint(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment {
        known if known.is_empty() || SEGMENTS.contains(&known) => known,
        _ => MASK,
    });
    segments.collect::<Vec<_>>().join("/")
}

/// Shows a value only if it is a reference to a variable.
fn masked(value: &str) -> &str {
    let inner = value.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}'));
    if inner.is_some_and(is_name) { value } else { MASK }
}
