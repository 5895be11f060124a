//! Text to words, and words to the terms that are compared.
//!
//! A word is a run of letters and digits. An identifier is taken apart where its case or its kind
//! of character changes (`createPullRequest`, `HTTPServer2`), and stays findable as a whole as
//! well. Scripts that put no space between words (Chinese, Japanese, Korean, Thai and their
//! neighbours) are taken as overlapping pairs of characters, which needs no dictionary and is as
//! good as one for ranking.

use std::borrow::Cow;

use snowball_stemmers_rs::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::text::cut;

/// Words longer than this, in bytes, are cut: nothing that long is a word somebody looks for.
pub(super) const MAX_WORD: usize = 64;

/// The part of its word that a term stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermKind {
    /// A part of an identifier, or a word that has only one part.
    Part,
    /// An identifier of several parts, joined.
    Whole,
    /// Two characters in a row of a script without spaces, or the only one there is.
    Pair,
    /// One character of a run of several.
    Single,
}

/// A normalized word, or a part of one, as it is compared.
#[derive(Clone, Copy)]
pub(super) struct Term<'t> {
    /// The part of the word in the one spelling for all.
    pub(super) folded: &'t str,
    /// The part of its word that it stands for.
    pub(super) kind: TermKind,
    stemmer: &'t Stemmer,
}

impl<'t> Term<'t> {
    /// Returns what is compared: the stem of a part, and anything else as it is.
    pub(super) fn text(&self) -> Cow<'t, str> {
        if self.kind == TermKind::Part && is_plain(self.folded) && !is_stem(self.folded) {
            self.stemmer.stem(self.folded)
        } else {
            self.folded.into()
        }
    }
}

/// Returns `true` if the stemmer leaves a plain word as it is, as the word is short or has none of
/// the endings that the stemmer knows. Their last two letters stand here.
pub(super) fn is_stem(word: &str) -> bool {
    match word.as_bytes() {
        [.., before, last] if word.len() > 2 => match last {
            b'c' => *before != b'i',
            b'd' => *before != b'e',
            b'g' => *before != b'n',
            b'l' => !b"alu".contains(before),
            b't' => !b"ns".contains(before),
            b'm' => *before != b's',
            b'n' => *before != b'o',
            b'r' => !b"eo".contains(before),
            b'e' | b'i' | b's' | b'y' => false,
            _ => true,
        },
        _ => true,
    }
}

/// Returns `true` if a word consists of lower-case English letters only.
pub(super) fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns the words of a text.
pub(super) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// The words of a text that are still to come.
#[derive(Debug, Clone)]
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    #[inline]
    fn next(&mut self) -> Option<&'t str> {
        let start = run(self.text, self.at, BETWEEN);
        self.at = run(self.text, start, IN_WORD);
        (self.at > start).then(|| &self.text[start..self.at])
    }
}

/// Returns where a run of characters that are all in a word, or all between words, ends.
#[inline]
fn run(text: &str, mut at: usize, kind: u8) -> usize {
    // Almost all text is ASCII, where a byte is a character.
    while let Some(&byte) = text.as_bytes().get(at) {
        let own = BYTES[usize::from(byte)];
        if own == kind {
            at += 1;
        } else if own == WIDE {
            match wide(text, at) {
                Some((own, len)) if own == kind => at += len,
                _ => return at,
            }
        } else {
            return at;
        }
    }
    at
}

/// Returns the kind and the length of a character that is more than a byte.
fn wide(text: &str, at: usize) -> Option<(u8, usize)> {
    let c = text[at..].chars().next()?;
    let kind = if c.is_alphanumeric() || is_combining_mark(c) { IN_WORD } else { BETWEEN };
    Some((kind, c.len_utf8()))
}

/// A character between words.
const BETWEEN: u8 = 0;
/// A character of a word.
const IN_WORD: u8 = 1;
/// A part of a character of several bytes.
const WIDE: u8 = 2;

/// The kind of each byte.
const BYTES: [u8; 256] = {
    let mut table = [WIDE; 256];
    let mut byte = 0;
    while byte < 128 {
        #[expect(clippy::cast_possible_truncation, reason = "there are 128 of them")]
        let is_in_word = (byte as u8).is_ascii_alphanumeric();
        table[byte] = if is_in_word { IN_WORD } else { BETWEEN };
        byte += 1;
    }
    table
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    /// A script without spaces.
    Dense,
    /// A mark belongs to the character before it.
    Mark,
}

#[inline]
fn class(c: char) -> Class {
    match c {
        '0'..='9' => Class::Digit,
        'A'..='Z' => Class::Upper,
        _ if c.is_ascii() => Class::Lower,
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_uppercase() => Class::Upper,
        _ if is_dense(c) => Class::Dense,
        _ if is_combining_mark(c) => Class::Mark,
        _ => Class::Lower,
    }
}

fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF           // Thai, Lao
        | 0x1000..=0x109F         // Myanmar
        | 0x1100..=0x11FF         // Hangul letters
        | 0x1780..=0x17FF         // Khmer
        | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x31F0..=0x31FF // Japanese
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF // Han
        | 0xAC00..=0xD7AF         // Hangul syllables
        | 0xFF66..=0xFF9F         // half-width Katakana
        | 0x20000..=0x3FFFF) // Han, further planes
}

/// Turns words into terms, with buffers that are used again.
pub(super) struct Terms {
    stemmer: Stemmer,
    bounds: Vec<usize>,
    part: String,
    whole: String,
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terms")
    }
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            bounds: Vec::new(),
            part: String::new(),
            whole: String::new(),
        }
    }
}

impl Terms {
    /// Calls `visit` with each term of one word: its parts in order, then the whole if it has
    /// several.
    pub(super) fn of_word(&mut self, word: &str, visit: &mut dyn FnMut(Term<'_>)) {
        let word = cut(word, MAX_WORD);
        self.bounds.clear();
        split(word, &mut self.bounds);
        self.whole.clear();
        let mut from = 0;
        let mut parts = 0;
        for index in 0..self.bounds.len() {
            let to = self.bounds[index];
            let part = &word[from..to];
            from = to;
            if part.chars().next().is_some_and(is_dense) {
                pairs(part, &mut self.part, &self.stemmer, visit);
                continue;
            }
            fold(part, &mut self.part);
            parts += 1;
            self.whole.push_str(&self.part);
            visit(Term { folded: &self.part, kind: TermKind::Part, stemmer: &self.stemmer });
        }
        if parts > 1 {
            let folded = singular(&self.whole);
            visit(Term { folded, kind: TermKind::Whole, stemmer: &self.stemmer });
        }
    }

    /// Returns the only term of a word that is plain.
    pub(super) fn of_plain<'t>(&'t self, word: &'t str) -> Term<'t> {
        Term { folded: word, kind: TermKind::Part, stemmer: &self.stemmer }
    }

    /// Calls `visit` with each part of a word in lower case, not stemmed; scripts without spaces
    /// are left out.
    pub(super) fn parts_of(&mut self, word: &str, visit: &mut dyn FnMut(&str)) {
        let word = cut(word, MAX_WORD);
        self.bounds.clear();
        split(word, &mut self.bounds);
        let mut from = 0;
        for &to in &self.bounds {
            let part = &word[from..to];
            from = to;
            if !part.chars().next().is_some_and(is_dense) {
                fold(part, &mut self.part);
                visit(&self.part);
            }
        }
    }

    /// Returns the terms of several words written as one.
    pub(super) fn joined(&mut self, words: &[&str]) -> String {
        let mut joined = String::new();
        for word in words {
            self.of_word(word, &mut |term| {
                if matches!(term.kind, TermKind::Part | TermKind::Pair) {
                    joined.push_str(&term.text());
                }
            });
        }
        joined
    }
}

/// Returns a compound without the `s` of a plural. A stemmer would cost more, and knows no
/// compounds.
pub(super) fn singular(folded: &str) -> &str {
    match folded.strip_suffix('s') {
        Some(stem) if stem.len() > 3 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => folded,
    }
}

/// Writes where each part of a word ends.
fn split(word: &str, bounds: &mut Vec<usize>) {
    if is_plain(word) {
        bounds.extend(Some(word.len()).filter(|&len| len > 0));
        return;
    }
    let mut chars = word.char_indices().map(|(at, c)| (at, c, class(c)));
    let mut ahead = chars.next();
    let mut last = None;
    while let Some((at, c, now)) = ahead {
        ahead = chars.next();
        if now == Class::Mark {
            continue;
        }
        let next = ahead.map(|(.., next)| next);
        let boundary = match (last, now) {
            (Some(Class::Lower), Class::Upper) => true,
            // The last capital of a row begins the next part (`HTTPServer`), unless a plural `s` is
            // all that follows.
            (Some(Class::Upper), Class::Upper) => {
                next == Some(Class::Lower) && !plural(&word[at + c.len_utf8()..])
            }
            (None, _) | (Some(Class::Upper), Class::Lower) => false,
            (Some(before), now) => before != now,
        };
        if boundary {
            bounds.push(at);
        }
        last = Some(now);
    }
    if !word.is_empty() {
        bounds.push(word.len());
    }
}

/// Returns `true` if an acronym is followed by the `s` of a plural and nothing else in lower case:
/// `URLs`, `getIDsOfUsers`.
fn plural(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('s') && chars.next().is_none_or(|c| class(c) != Class::Lower)
}

/// Writes one spelling for all to `out`: lower case, without accents, compatible forms (full width,
/// ligatures) made plain.
pub(super) fn fold(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
        return;
    }
    for c in word.nfkd().filter(|&c| !is_accent(c)) {
        match c {
            // The dotless letter is the dotted one without its dot, and a capital `I` may stand for
            // both.
            'ı' => out.push('i'),
            'ß' => out.push_str("ss"),
            'ø' | 'Ø' => out.push('o'),
            'đ' | 'Đ' => out.push('d'),
            'ł' | 'Ł' => out.push('l'),
            'æ' | 'Æ' => out.push_str("ae"),
            'œ' | 'Œ' => out.push_str("oe"),
            _ => out.extend(c.to_lowercase().filter(|&c| !is_accent(c))),
        }
    }
}

/// Returns `true` if a mark changes only the spelling of a letter, not the letter. Vowel signs of
/// Indic scripts change the letter.
fn is_accent(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036F | 0x064B..=0x0652)
}

/// Visits the overlapping pairs of characters of a run and each character, or the one character it
/// has.
fn pairs(run: &str, scratch: &mut String, stemmer: &Stemmer, visit: &mut dyn FnMut(Term<'_>)) {
    scratch.clear();
    scratch.extend(run.nfkc());
    let run = scratch.as_str();
    let mut visit = |folded, kind| visit(Term { folded, kind, stemmer });
    let mut last: Option<usize> = None;
    let ends = run.char_indices().map(|(at, c)| (at, at + c.len_utf8()));
    let alone = run.chars().nth(1).is_none();
    for (at, end) in ends {
        if let Some(last) = last {
            visit(&run[last..end], TermKind::Pair);
        }
        visit(&run[at..end], if alone { TermKind::Pair } else { TermKind::Single });
        last = Some(at);
    }
}

/// Returns `true` if a piece of Chinese or Japanese is mostly grammar, or a way to ask: particles,
/// pronouns, `please`.
pub(super) fn is_grammar(piece: &str) -> bool {
    const FAINT: &str = "的了我你您请吗呢吧把和与及是在有想帮要这那个下们并为将对给能可以";
    let hiragana = |c: char| matches!(u32::from(c), 0x3040..=0x309F);
    piece.chars().any(|c| FAINT.contains(c)) || piece.chars().all(hiragana)
}
