//! Texts of servers in comments and literals of source.

use std::fmt::Write as _;

/// The most characters of a description in a comment.
const MAX: usize = 4_000;

/// Writes a text as the lines of a doc comment.
///
/// It is a stranger's: no line is code that `cargo test` would run, and no markup is more than
/// text.
pub(crate) fn doc(source: &mut String, indent: &str, text: &str) {
    let text: String = text.chars().take(MAX).collect();
    let mut blank = true;
    let mut lines = Vec::new();
    for line in text.split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}', '\u{85}']) {
        // Without indentation it is no block of code, and without fences neither.
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.replace("```", "``").replace("~~~", "~~");
        if !(line.is_empty() && blank) {
            lines.push(line.clone());
        }
        blank = line.is_empty();
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    for line in lines {
        let line = escaped(&line);
        let space = if line.is_empty() { "" } else { " " };
        let _ = writeln!(source, "{indent}///{space}{line}");
    }
}

/// Returns a line whose HTML and links are text, without characters that hide others.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for c in line.chars().filter(|&c| !is_hidden(c)) {
        if matches!(c, '<' | '[' | ']') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// Returns whether a character is shown as nothing, or changes the direction of others.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns a text as a literal.
pub(crate) fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            c if is_hidden(c) => drop(write!(literal, "\\u{{{:x}}}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
