//! Names of tools and of arguments that are unique and that providers take.

use std::collections::HashSet;

/// The longest name that all providers take, in bytes.
const MAX_NAME: usize = 64;

/// Names that are given already.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// Returns a name like `wanted` that is not given yet: letters, digits, `_` and `-`, at most
    /// 64.
    pub(crate) fn tool(&mut self, prefix: Option<&str>, wanted: &str) -> String {
        let wanted =
            prefix.map_or_else(|| wanted.to_owned(), |prefix| format!("{prefix}_{wanted}"));
        self.given(&wanted, safe(&wanted, "-"))
    }

    /// Returns the name of an argument: letters, digits, `_`, `-` and `.`, at most 64.
    pub(crate) fn argument(&mut self, wanted: &str) -> String {
        self.given(wanted, safe(wanted, "-."))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    fn given(&mut self, wanted: &str, safe: String) -> String {
        let safe = if safe.len() > MAX_NAME {
            // The end of a long name tells it apart from others of the same beginning.
            format!("{}_{:08x}", safe[..MAX_NAME - 9].trim_end_matches('_'), hash(wanted))
        } else {
            safe
        };
        let mut name = safe.clone();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
            let end = format!("_{number}");
            name = format!("{}{end}", &safe[..safe.len().min(MAX_NAME - end.len())]);
            number += 1;
        }
        name
    }
}

/// Returns the wanted name of an operation without an id, such as `get_pets_by_id`.
pub(crate) fn of_path(method: &str, path: &str) -> String {
    let words =
        path.split(['/', '{', '}', '.', '?', '#', '=', '&', ':']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    format!(
        "{}_{}",
        method.to_ascii_lowercase(),
        if words.is_empty() { "root".to_owned() } else { words.join("_") }
    )
}

/// Returns a name with `_` in place of each run of other characters than letters, digits, `_` and
/// those of `also`.
fn safe(wanted: &str, also: &str) -> String {
    let mut name = String::new();
    // A name of 10 MB is not longer as a tool.
    for c in wanted.chars().take(1_000) {
        if c.is_ascii_alphanumeric() || c == '_' || also.contains(c) {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let trimmed = name.trim_matches('_');
    // One underscore at the beginning is part of a name such as `_id`.
    let mut name = if wanted.starts_with('_') && !trimmed.is_empty() {
        format!("_{trimmed}")
    } else {
        trimmed.to_owned()
    };
    if name.is_empty() {
        "unnamed".clone_into(&mut name);
    } else if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    name
}

/// FNV-1a with 32 bits.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
