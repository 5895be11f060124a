//! The parts of a request that are values for a tool, and say little about which tool is meant:
//! quoted text, and names of several words such as `New York`.

use std::ops::Range;

use super::lists::known;
use super::term::key;
use super::vocabulary::Vocabulary;
use super::weights::Weights;
use super::words::{self, Terms, words};

/// The maximum number of quotations of one request, also of those that do not end, and of
/// names in one sentence.
const MAX_VALUES: usize = 64;

/// The values within a request.
#[derive(Debug, Default)]
pub(super) struct Payload {
    /// The address of the text, which those of its words are compared with.
    start: usize,
    quoted: Vec<Range<usize>>,
    /// Two or more words in a row of the sentence that begin with a capital.
    proper: Vec<Range<usize>>,
    joined: String,
    terms: Terms,
}

impl Payload {
    /// Finds the values within a text.
    pub(super) fn read(&mut self, text: &str, vocabulary: &Vocabulary) {
        self.start = text.as_ptr() as usize;
        self.quoted.clear();
        self.proper.clear();
        quotations(text, &mut self.quoted);
        if self.quoted.is_empty() {
            return;
        }
        // Where nothing else is asked for, the quotation is what is asked for.
        let mut outside = words(text).filter(|word| {
            let at = word.as_ptr() as usize - self.start;
            !self.quoted.iter().any(|range| range.contains(&at))
        });
        let mut asks = |word: &str| {
            let known = known(&self.terms.joined(&[word]));
            known.is_none_or(|known| !known.stop && !known.request)
        };
        if !outside.any(&mut asks) {
            self.quoted.clear();
        }
        // The name of a tool is no value.
        self.quoted.retain(|range| vocabulary.named(&key(&text[range.clone()])).is_empty());
    }

    /// Finds the names within a sentence of the text.
    pub(super) fn read_sentence(&mut self, sentence: &str, vocabulary: &Vocabulary) {
        self.proper.clear();
        let capitals = sentence.bytes().filter(u8::is_ascii_uppercase).count();
        if capitals < 2 && sentence.is_ascii() {
            return;
        }
        let mut proper = std::mem::take(&mut self.proper);
        names(sentence, &mut proper);
        proper.retain(|range| !self.is_of_tool(&sentence[range.clone()], vocabulary));
        let offset = sentence.as_ptr() as usize - self.start;
        for range in &mut proper {
            *range = range.start + offset..range.end + offset;
        }
        self.proper = proper;
    }

    /// Returns `true` if two neighbours of these words are neighbours in the name of a tool.
    fn is_of_tool(&mut self, proper: &str, vocabulary: &Vocabulary) -> bool {
        let folded = |word: &str, joined: &mut String| {
            let mut folded = String::new();
            words::fold(word, &mut folded);
            joined.push_str(&folded);
        };
        words(proper).zip(words(proper).skip(1)).any(|(first, second)| {
            self.joined.clear();
            folded(first, &mut self.joined);
            folded(second, &mut self.joined);
            vocabulary.compound(&self.joined).is_some()
        })
    }

    /// Returns the weight of a word of the text: less than 1 within a value.
    pub(super) fn weight_of(&self, word: &str, weights: &Weights) -> f32 {
        let at = word.as_ptr() as usize - self.start;
        if self.quoted.iter().any(|range| range.contains(&at)) {
            weights.quoted
        } else if self.proper.iter().any(|range| range.contains(&at) && at + word.len() < range.end)
        {
            // The last word says what it is more often than not: `Ogallala Aquifer`.
            weights.proper
        } else {
            1.0
        }
    }
}

/// Writes the parts of a text between quotation marks, in order.
fn quotations(text: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    let mut before = ' ';
    let mut left = MAX_VALUES;
    while let Some(c) = text[at..].chars().next() {
        let inner = at + c.len_utf8();
        if let Some(close) = closing(c)
            && !(c == close && before.is_alphanumeric())
        {
            if left == 0 {
                return;
            }
            left -= 1;
            if let Some(len) = end(&text[inner..], close) {
                found.push(inner..inner + len);
                at = inner + len + close.len_utf8();
                before = close;
                continue;
            }
        }
        before = c;
        at = inner;
    }
}

/// Returns the mark that ends a quotation.
fn closing(open: char) -> Option<char> {
    Some(match open {
        '"' => '"',
        '\'' => '\'',
        '`' => '`',
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        _ => return None,
    })
}

/// Returns where a quotation ends: at a closing mark that no letter follows.
fn end(text: &str, close: char) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find(close).map(|at| from + at) {
        let after = text[at + close.len_utf8()..].chars().next();
        let apart =
            !matches!(close, '"' | '\'' | '`' | '’') || !after.is_some_and(char::is_alphanumeric);
        if apart && at > 0 {
            return Some(at);
        }
        from = at + close.len_utf8();
    }
    None
}

/// Writes the names of several words within a sentence.
fn names(sentence: &str, found: &mut Vec<Range<usize>>) {
    let begin = sentence.as_ptr() as usize;
    let place = |word: &str| word.as_ptr() as usize - begin;
    let (mut all, mut capital) = (0, 0);
    for word in words(sentence) {
        all += 1;
        capital += usize::from(is_capital(word));
    }
    // A title, or a language that writes all nouns with a capital.
    if capital < 2 || capital * 2 > all {
        return;
    }
    let mut run: Option<(usize, usize, usize)> = None;
    let close = |run: &mut Option<(usize, usize, usize)>, found: &mut Vec<Range<usize>>| {
        if let Some((start, end, 2..)) = run.take()
            && found.len() < MAX_VALUES
        {
            found.push(start..end);
        }
    };
    for (at, word) in words(sentence).enumerate() {
        let start = place(word);
        if at == 0 || !is_capital(word) {
            close(&mut run, found);
            continue;
        }
        run = match run {
            Some((from, end, count)) if sentence[end..start].chars().all(|c| c == ' ') => {
                Some((from, start + word.len(), count + 1))
            }
            _ => {
                close(&mut run, found);
                Some((start, start + word.len(), 1))
            }
        };
    }
    close(&mut run, found);
}

fn is_capital(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.next().is_some_and(char::is_lowercase)
}
