//! What models leave around the names of tools.

/// Returns the name within the marks that models leave around it: `functions.x`, `x<|channel|>..`,
/// `.. to=functions.x`, `x:0`.
pub(crate) fn without_marks(name: &str) -> &str {
    let name = match name.rsplit_once("to=") {
        Some((_, name)) if name.starts_with("functions.") => name,
        _ => name,
    };
    let name = name.split("<|").next().unwrap_or_default().trim();
    let name = name.split_ascii_whitespace().next().unwrap_or_default();
    let name = ["functions.", "function.", "tools.", "functions:", "default_api."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    match name.rsplit_once(':') {
        Some((name, count)) if !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()) => {
            name
        }
        _ => name,
    }
}
