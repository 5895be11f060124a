//! Paths of values within arguments, such as `filters[2].since`.

use std::fmt::Write as _;

use super::quote;

/// A longer key is cut.
const LONGEST_KEY: usize = 64;

/// Appends a key to a path; a key that is no identifier is written `["odd key"]`.
pub(crate) fn push_key(path: &mut String, key: &str) {
    let plain = key.len() <= LONGEST_KEY
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && key.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if plain {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        let quoted = key.chars().take(LONGEST_KEY + 1).collect::<String>();
        let quoted = quote(&quoted, LONGEST_KEY).replace('"', "\\\"");
        let _ = write!(path, "[\"{quoted}\"]");
    }
}

/// Returns the path of an argument.
pub(crate) fn argument_path(name: &str) -> String {
    let mut path = String::new();
    push_key(&mut path, name);
    path
}

/// Appends an index to a path.
pub(crate) fn push_index(path: &mut String, index: usize) {
    let _ = write!(path, "[{index}]");
}

/// Puts `inner` below `outer`.
pub(crate) fn join(outer: &str, inner: &str) -> String {
    let dot = !(outer.is_empty() || inner.is_empty() || inner.starts_with('['));
    format!("{outer}{}{inner}", if dot { "." } else { "" })
}
