//! Lists of names and values within messages.

use super::push_key;

/// The most names or values that are spelled out.
const NAMED: usize = 12;

/// Returns the first few names in backticks: "`query`, `limit`".
pub(crate) fn names<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    quoted(&mut names)
}

fn quoted(names: &mut dyn Iterator<Item = &str>) -> String {
    list(&mut names.map(|name| {
        let mut path = String::new();
        push_key(&mut path, name);
        format!("`{path}`")
    }))
}

/// Returns the first few items separated by commas, and the number of further ones.
///
/// The items are behind a pointer, so that the list is compiled once and not for every caller.
pub(crate) fn list(items: &mut dyn Iterator<Item = String>) -> String {
    let (mut text, mut more) = (String::new(), 0);
    for (at, item) in items.enumerate() {
        if at >= NAMED {
            more += 1;
            continue;
        }
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(&item);
    }
    if more > 0 { format!("{text} and {more} more") } else { text }
}
