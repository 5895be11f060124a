//! The functions that a text of JavaScript names.

/// Returns the names that follow `tools` in a text, in order: `tools.name` and `tools["name"]`. Those
/// of other functions than tools are left out.
pub(crate) fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("tools").filter_map(|(at, word)| {
        let rest = text[at + word.len()..].trim_start();
        let rest = rest.strip_prefix("?.").or_else(|| rest.strip_prefix('.')).unwrap_or(rest);
        let name = match rest.strip_prefix('[').map(str::trim_start) {
            Some(quoted) => {
                let quote = quoted.chars().next().filter(|quote| "\"'`".contains(*quote))?;
                quoted[1..].split_once(quote)?.0
            }
            None => {
                let is_other = |c: char| !(c.is_alphanumeric() || c == '_' || c == '$');
                &rest[..rest.find(is_other).unwrap_or(rest.len())]
            }
        };
        (!name.is_empty() && !["search", "types", "then"].contains(&name)).then_some(name)
    })
}
