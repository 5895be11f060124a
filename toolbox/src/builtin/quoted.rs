//! Quotes texts written by others for a model.

use crate::text::is_invisible;

/// Returns a text with `> ` before each line, so that nothing in it looks like the text around it.
///
/// Control characters of terminals and of the writing direction are removed.
pub(super) fn quoted(text: &str) -> String {
    let shown = |c: &char| !is_invisible(*c);
    let line = |line: &str| {
        let line: String = line.chars().filter(shown).collect();
        format!("> {line}").trim_end().to_owned()
    };
    let breaks = ['\n', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let lines: Vec<_> =
        text.trim_end().replace("\r\n", "\n").replace('\r', "\n").split(breaks).map(line).collect();
    lines.join("\n")
}
