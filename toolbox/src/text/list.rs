//! Lists of names and values within messages.

use super::push_key;

/// The most names or values that are spelled out.
const NAMED: usize = 12;

/// Returns the first few names in backticks: "`query`, `limit`".
pub(crate) fn names<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    quoted(&mut names)
}

fn quoted(names: &mut dyn Iterator<Item = &str>) -> String {
    let quote = |name| {
        let mut path = String::new();
        push_key(&mut path, name);
        format!("`{path}`")
    };
    let shown: Vec<String> = (&mut *names).take(NAMED).map(quote).collect();
    and_more(&shown, names.count())
}

/// Returns the first few items separated by commas, and the number of further ones.
///
/// The items are behind a pointer, so that the list is compiled once and not for every caller.
pub(crate) fn list(items: &mut dyn Iterator<Item = String>) -> String {
    let shown: Vec<String> = (&mut *items).take(NAMED).collect();
    and_more(&shown, items.count())
}

fn and_more(shown: &[String], more: usize) -> String {
    let text = shown.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}
