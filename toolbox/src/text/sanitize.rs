//! Removal of invisible characters from texts of third parties.

use std::borrow::Cow;

/// Removes invisible characters from `text`: escape sequences of terminals, control characters
/// except tab and line breaks, and characters that hide, reorder or smuggle text.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut before = '\0';
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            '\u{9b}' => skip_until_final(&mut rest),
            // Joiners and selectors belong into words of many scripts and into emoji, and nowhere
            // else.
            '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' if joins(before) => kept.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => kept.push('\n'),
            c if is_invisible(c) => {}
            c => {
                kept.push(c);
                before = c;
            }
        }
    }
    if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

/// Skips the sequence after an escape character: a control sequence, a string up to its end, or one
/// more character.
fn skip_sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => skip_until_final(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // An unterminated string is skipped no further than a title or a link would reach.
            for _ in 0..4096 {
                match rest.next() {
                    None | Some('\u{7}' | '\u{9c}') => return,
                    Some('\u{1b}') => {
                        rest.next_if_eq(&'\\');
                        return;
                    }
                    Some(_) => {}
                }
            }
        }
        Some('(' | ')' | '#' | '%') => {
            rest.next();
        }
        _ => {}
    }
}

/// Skips a control sequence up to the character that ends it.
fn skip_until_final(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while rest.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
    rest.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
}

fn joins(before: char) -> bool {
    !before.is_ascii() || matches!(before, '0'..='9' | '#' | '*')
}

/// Separators and joiners, marks of direction, selectors and tags.
const INVISIBLE: &[std::ops::RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff9}'..='\u{fffb}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Returns `true` if a character is invisible and can hide or reorder others: control characters
/// except tab and line break, separators, marks of direction, tags.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if INVISIBLE.iter().any(|range| range.contains(&c)) => true,
        c => c.is_control(),
    }
}
