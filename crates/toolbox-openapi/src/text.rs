//! Texts of others: cut, and without what nobody sees.

/// Returns the beginning of a text that has at most `most` bytes, with `…` where it is cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", text[..end].trim_end())
}

/// Returns a text without control and other invisible characters, and blanks around it.
pub(crate) fn cleaned(text: &str) -> String {
    visible(text).trim().to_owned()
}

/// Returns a text without control and other invisible characters.
pub(crate) fn visible(text: &str) -> String {
    text.replace("\r\n", "\n").chars().filter(|c| !is_invisible(*c)).collect()
}

/// Returns a text with `> ` before each line, so that nothing in it looks like the text around it.
pub(crate) fn quoted(text: &str) -> String {
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let lines = text.split(breaks).map(|line| format!("> {}", cleaned(line)).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the beginning of a text, cleaned, with at most `most` bytes. However long the text is,
/// no more is read than that needs.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    cut(&cleaned(&cut(text, 4 * most)), most)
}

/// Returns a text for a message: one short line.
pub(crate) fn shown(text: &str) -> String {
    let line: String = cleaned(&cut(text, 1_000)).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, 100)
}

/// Returns `true` for what no reader sees: control characters but line breaks and tabs, marks of
/// the writing direction, tags, and spaces without width.
fn is_invisible(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns a text as a part of a URL: everything but letters, digits and `-._~`, and what `keep`
/// names, is percent-encoded.
pub(crate) fn encoded(text: &str, keep: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || keep.as_bytes().contains(&byte)
        {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for digit in [byte >> 4, byte & 15] {
                out.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            }
        }
    }
    out
}
