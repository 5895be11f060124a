//! Removal of invisible characters from texts of third parties.

use std::borrow::Cow;
use std::str::Chars;

/// Removes invisible characters from a `text` that is shown: escape sequences of terminals, control
/// characters except tab and line breaks, and characters that hide, reorder or smuggle text.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut before = '\0';
    without_sequences(text, |c, rest, kept| match c {
        // Joiners and selectors belong into words of many scripts and into emoji, and nowhere else.
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' if joins(before) => kept.push(c),
        '\r' if rest.starts_with('\n') => {}
        '\r' => kept.push('\n'),
        c if is_invisible(c) => {}
        c => {
            kept.push(c);
            before = c;
        }
    })
}

/// Removes from a `text` that is data what nothing but a terminal and an attack uses: escape
/// sequences, control characters except white space, characters that reorder others, and tags that
/// are no part of a flag. Line breaks of any kind, byte order marks, joiners and spaces without a
/// width stay as they are.
#[allow(dead_code, reason = "for MCP clients")]
pub(crate) fn clean_content(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')) {
        return Cow::Borrowed(text);
    }
    let mut flag = 0;
    without_sequences(text, |c, rest, kept| match c {
        FLAG => {
            flag = flag_tags(rest);
            kept.push(c);
        }
        c if flag > 0 => {
            flag -= 1;
            kept.push(c);
        }
        '\n' | '\t' | '\r' | '\u{b}' | '\u{c}' => kept.push(c),
        c if c.is_control() || REORDERING.iter().any(|range| range.contains(&c)) => {}
        TAG_FIRST..=TAG_LAST => {}
        c => kept.push(c),
    })
}

/// The emoji that tags make the flag of a region.
const FLAG: char = '\u{1f3f4}';
const TAG_FIRST: char = '\u{e0000}';
const TAG_LAST: char = '\u{e007f}';
/// The most tags of a flag, without the last.
const MOST_TAGS: usize = 6;

/// Characters that change the direction of others, or annotate them.
const REORDERING: &[std::ops::RangeInclusive<char>] =
    &['\u{202a}'..='\u{202e}', '\u{2066}'..='\u{206f}', '\u{fff9}'..='\u{fffb}'];

/// Returns the number of tags that make a flag of what is before them: letters and digits, and the
/// last tag.
fn flag_tags(rest: &str) -> usize {
    let of_region = |c: &char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let count = rest.chars().take_while(of_region).take(MOST_TAGS).count();
    if rest.chars().nth(count) == Some(TAG_LAST) { count + 1 } else { 0 }
}

/// Removes the escape sequences of terminals, and gives each other character to `take` with what
/// follows it and what is kept so far.
fn without_sequences(text: &str, mut take: impl FnMut(char, &str, &mut String)) -> Cow<'_, str> {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            '\u{9b}' => skip_until_final(&mut rest),
            c => take(c, rest.as_str(), &mut kept),
        }
    }
    if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

/// Skips the sequence after an escape character: a control sequence, a string up to its end, or one
/// more character.
fn skip_sequence(rest: &mut Chars<'_>) {
    match rest.next() {
        Some('[') => skip_until_final(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // An unterminated string is skipped no further than a title or a link would reach.
            for _ in 0..4096 {
                match rest.next() {
                    None | Some('\u{7}' | '\u{9c}') => return,
                    Some('\u{1b}') => {
                        next_if(rest, |c| c == '\\');
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
fn skip_until_final(rest: &mut Chars<'_>) {
    while next_if(rest, |c| matches!(c, '\u{20}'..='\u{3f}')) {}
    next_if(rest, |c| matches!(c, '\u{40}'..='\u{7e}'));
}

/// Skips the next character if it is one of those, and returns whether it was.
fn next_if(rest: &mut Chars<'_>, is_one: impl Fn(char) -> bool) -> bool {
    let text = rest.as_str();
    let found = text.starts_with(is_one);
    if found {
        rest.next();
    }
    found
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
