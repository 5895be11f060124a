//! Lists of names and values within messages.

use super::push_key;

/// The most names or values that are spelled out.
const NAMED: usize = 12;

/// Returns the first few names in backticks: "`query`, `limit`".
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    list(names.map(|name| {
        let mut path = String::new();
        push_key(&mut path, name);
        format!("`{path}`")
    }))
}

/// Returns the first few items separated by commas, and the number of further ones.
pub(crate) fn list(mut items: impl Iterator<Item = String>) -> String {
    let first: Vec<String> = items.by_ref().take(NAMED).collect();
    let text = first.join(", ");
    match items.count() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
