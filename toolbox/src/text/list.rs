//! Lists of names and values within messages.

use super::push_key;

/// More names or values than this are not spelled out.
const NAMED: usize = 12;

/// Names in backticks, a few: "`query`, `limit`".
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    list(names.map(|name| {
        let mut path = String::new();
        push_key(&mut path, name);
        format!("`{path}`")
    }))
}

/// A few items with commas between, and how many more there are.
pub(crate) fn list(mut items: impl Iterator<Item = String>) -> String {
    let first: Vec<String> = items.by_ref().take(NAMED).collect();
    let text = first.join(", ");
    match items.count() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
