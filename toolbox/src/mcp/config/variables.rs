//! Expansion of `{env:NAME}` and `{env:NAME:-default}` in strings; the same after a `$`, as editors
//! write it.

/// The pattern of a string with a variable, for the schema.
pub(super) const PATTERN: &str = r"\{env:[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}";

const OPENING: &str = "{env:";

/// A fault in a variable reference.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VariableFault {
    /// The variable is not set, and has no default.
    Missing(String),
    /// The closing `}` is missing, or the name is invalid.
    Malformed(String),
}

/// Expands the variables in a string, or returns all faults.
///
/// Values are not expanded again: a value cannot reference another variable.
pub(super) fn expand(
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Vec<VariableFault>> {
    let mut expanded = String::with_capacity(text.len());
    let mut faults = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPENING) {
        let before = &rest[..start];
        expanded.push_str(before.strip_suffix('$').unwrap_or(before));
        let inner = &rest[start + OPENING.len()..];
        let Some(end) = inner.find('}') else {
            faults.push(VariableFault::Malformed(rest[start..].to_owned()));
            return Err(faults);
        };
        let (name, default) = match inner[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&inner[..end], None),
        };
        if is_name(name) {
            // As in a shell, an empty variable counts as unset.
            match environment(name).filter(|value| !value.is_empty()) {
                Some(value) => expanded.push_str(&value),
                None => match default {
                    Some(default) => expanded.push_str(default),
                    None => faults.push(VariableFault::Missing(name.to_owned())),
                },
            }
        } else {
            faults.push(VariableFault::Malformed(
                rest[start..=start + OPENING.len() + end].to_owned(),
            ));
        }
        rest = &inner[end + 1..];
    }
    expanded.push_str(rest);
    if faults.is_empty() { Ok(expanded) } else { Err(faults) }
}

/// Expands the variables in a string by the environment of the process.
///
/// # Errors
///
/// A text that names the first fault.
#[cfg(feature = "cli")]
pub(crate) fn expanded(text: &str) -> Result<String, String> {
    expand(text, &|name| std::env::var(name).ok()).map_err(|faults| match faults.first() {
        Some(VariableFault::Missing(name)) => {
            format!("the environment variable `{name}` is not set")
        }
        _ => "a variable is not well formed: write {env:NAME} or {env:NAME:-default}".to_owned(),
    })
}

pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
