//! `{env:NAME}` and `{env:NAME:-default}` in texts.

/// What a text with a variable looks like, for the schema.
pub(super) const PATTERN: &str = r"\{env:[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}";

const OPENING: &str = "{env:";

/// What is wrong with a variable in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not set, and has no default.
    Missing(String),
    /// No `}` ends it, or its name is none.
    Malformed(String),
}

/// Puts the values of variables into a text, or says what is wrong with each of them.
///
/// What a variable holds is not looked at again: a value cannot name another variable.
pub(super) fn expand(
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Vec<Fault>> {
    let mut expanded = String::with_capacity(text.len());
    let mut faults = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPENING) {
        expanded.push_str(&rest[..start]);
        let inner = &rest[start + OPENING.len()..];
        let Some(end) = inner.find('}') else {
            faults.push(Fault::Malformed(rest[start..].to_owned()));
            return Err(faults);
        };
        let (name, default) = match inner[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&inner[..end], None),
        };
        if is_name(name) {
            // As in a shell, a variable that is empty counts as one that is not set.
            match environment(name).filter(|value| !value.is_empty()) {
                Some(value) => expanded.push_str(&value),
                None => match default {
                    Some(default) => expanded.push_str(default),
                    None => faults.push(Fault::Missing(name.to_owned())),
                },
            }
        } else {
            faults.push(Fault::Malformed(rest[start..=start + OPENING.len() + end].to_owned()));
        }
        rest = &inner[end + 1..];
    }
    expanded.push_str(rest);
    if faults.is_empty() { Ok(expanded) } else { Err(faults) }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
