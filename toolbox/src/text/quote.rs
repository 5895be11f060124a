//! Quotation of texts of third parties within messages.

use super::is_invisible;

/// The most characters of a third party's name, value or identifier that a message repeats.
pub(crate) const QUOTED: usize = 128;

/// Quotes a third party's text for a message: on one line, in at most `limit` characters, with
/// every character escaped that moves a cursor, colours a terminal, or hides or reorders the text
/// around it.
///
/// Every message that repeats text of a model, a server or a client uses it.
pub(crate) fn quote(text: &str, limit: usize) -> String {
    let mut quoted = String::new();
    let (mut width, mut cut) = (0, 0);
    for c in text.chars() {
        let start = quoted.len();
        if matches!(c, '\n' | '\t') || is_invisible(c) {
            quoted.extend(c.escape_default());
            width += quoted.len() - start;
        } else {
            quoted.push(c);
            width += 1;
        }
        if width > limit {
            quoted.truncate(cut);
            quoted.push('…');
            return quoted;
        }
        // One character is reserved for the mark.
        if width < limit {
            cut = quoted.len();
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_one_line_of_what_can_be_seen() {
        for (text, limit, expected) in [
            ("plain", 9, "plain"),
            ("größer 日本", 99, "größer 日本"),
            ("a\u{202e}b\u{200b}c", 99, r"a\u{202e}b\u{200b}c"),
            ("\u{61c}\u{ad}\u{180e}", 99, r"\u{61c}\u{ad}\u{180e}"),
            ("\u{e0041}\u{e01ef}\u{fe0f}", 99, r"\u{e0041}\u{e01ef}\u{fe0f}"),
            ("a\nb\tc\r\u{1b}[31m\u{9b}", 99, r"a\nb\tc\r\u{1b}[31m\u{9b}"),
            ("\u{2028}\u{2029}\u{85}", 99, r"\u{2028}\u{2029}\u{85}"),
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "abcd…"),
            ("ab\u{202e}", 5, "ab…"),
            ("", 0, ""),
        ] {
            assert_eq!(quote(text, limit), expected, "{text:?}");
        }
        let all: String = ('\0'..=char::MAX).filter(|c| is_invisible(*c)).collect();
        assert!(!quote(&all, usize::MAX).contains(is_invisible));
    }
}
