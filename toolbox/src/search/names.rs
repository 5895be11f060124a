//! Names of tools: their spellings, and the words of those that are written without separators.

use super::fields::qualified;
use super::lists::{is_word, known};
use super::term::push_key;
use super::words::{self, Terms, words};

use crate::text::cut;

/// Words of a name that are shorter are not taken apart.
const MIN_LEN: usize = 6;

/// The letters of a word that makes a word of what is left.
const LONG: usize = 5;

/// The fewest letters of what is left.
const MIN_REST: usize = 3;

/// The most words that one is taken apart into; more are a coincidence.
const MAX_PARTS: usize = 6;

/// Visits the names of a tool without case and separators: as it is, without the server that it
/// begins with, and with the server that it is from.
pub(super) fn keys(
    name: &str,
    server: Option<&str>,
    key: &mut String,
    visit: &mut dyn FnMut(&str),
) {
    // All of them are ends of one text.
    key.clear();
    push_key(server.unwrap_or_default(), key);
    let whole = key.len();
    let (prefix, bare) = qualified(name);
    push_key(prefix.unwrap_or_default(), key);
    let unqualified = key.len();
    push_key(bare, key);
    let mut visit = |key: &str| {
        if !key.is_empty() {
            visit(key);
        }
    };
    visit(&key[whole..]);
    if unqualified > whole {
        visit(&key[unqualified..]);
    }
    if whole > 0 {
        visit(key);
    }
}

/// Takes words of names apart, with buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    terms: Terms,
    word: String,
    own: String,
    /// For each end within the word the number of parts up to there, and where the last begins.
    ends: Vec<Option<(usize, usize)>>,
}

impl Splitter {
    /// Visits the words that a word of a name consists of, last first: `getfilelist` by `get`,
    /// `file` and `list`.
    ///
    /// The words are those of the tool's own description and of general English, so that what a
    /// tool is found by depends on that tool alone. A word that is one of these itself is left
    /// as it is; `is_known` says that its stem is.
    pub(super) fn split(
        &mut self,
        word: &str,
        is_known: bool,
        description: &str,
        visit: &mut dyn FnMut(&str),
    ) {
        let bytes = word.as_bytes();
        if is_known
            || !(MIN_LEN..=words::MAX_WORD).contains(&bytes.len())
            || !bytes[0].is_ascii_alphabetic()
            || !bytes[1..].iter().all(u8::is_ascii_lowercase)
        {
            return;
        }
        words::fold(word, &mut self.word);
        if is_word(&self.word) {
            return;
        }
        words::fold(cut(description, super::fields::MAX_SUMMARY), &mut self.own);
        let Self { terms, word, own, ends, .. } = self;
        // Most words have a letter that is not in this one.
        let others = !letters(word);
        let is_within = |own: &&str| letters(own) & others == 0 && word.contains(own);
        let own: Vec<&str> = words(own).filter(|own| own.len() > 2).filter(is_within).collect();
        let is_own = |part: &str| own.contains(&part);
        let is_stop = |part: &str| known(part).is_some_and(|known| known.stop);
        ends.clear();
        ends.resize(word.len() + 1, None);
        ends[0] = Some((0, 0));
        for end in 2..=word.len() {
            for start in 0..end - 1 {
                let Some((parts, _)) = ends[start] else { continue };
                let part = &word[start..end];
                let is_inner = start > 0 && end < word.len();
                let is_part = part.len() < word.len()
                    && parts < MAX_PARTS
                    && ends[end].is_none_or(|(best, _)| parts + 1 < best)
                    && ((part.len() > 2 && !(start == 0 && is_stop(part)) || is_inner)
                        && is_word(part)
                        || is_own(part));
                if is_part {
                    ends[end] = Some((parts + 1, start));
                }
            }
        }
        if ends[word.len()].is_none() {
            // One word that is long enough is no coincidence, and the rest is one too.
            let is_long =
                |part: &str| part.len() >= LONG && known(&terms.of_plain(part).text()).is_some();
            let rests = MIN_REST..=word.len().saturating_sub(LONG);
            let split = rests
                .clone()
                .find(|&at| is_long(&word[at..]))
                .or_else(|| rests.map(|rest| word.len() - rest).find(|&at| is_long(&word[..at])));
            if let Some(at) = split {
                visit(&word[at..]);
                visit(&word[..at]);
            }
            return;
        }
        let mut end = word.len();
        while let Some((1.., start)) = ends[end] {
            visit(&word[start..end]);
            end = start;
        }
    }
}

/// Returns a bit for each letter of a word; other characters share the bits.
fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |letters, byte| letters | 1 << (byte % 32))
}

#[cfg(test)]
mod tests {
    use super::Splitter;
    use crate::search::lists::known;
    use crate::search::words::Terms;

    #[test]
    fn names_without_separators_are_taken_apart() {
        let cases: [(&str, &str, &[&str]); 13] = [
            ("getmatchesbycity", "Matches of a city", &["get", "matches", "by", "city"]),
            ("Carparkfinder", "Finds a carpark; a finder", &["carpark", "finder"]),
            ("zomidictionary", "Zomi words", &["zomi", "dictionary"]),
            ("loginuser", "", &["login", "user"]),
            ("deployscript", "Runs it", &["deploy", "script"]),
            ("generating", "Text", &[]),
            ("weather", "", &[]),
            ("geometry", "Of a circle", &[]),
            ("getqzx", "Gets it", &[]),
            ("forget", "Loses it", &[]),
            ("getUser", "", &[]),
            ("文案分析工具", "", &[]),
            ("aaaaaaaaaaaa", "a aa", &[]),
        ];
        let mut splitter = Splitter::default();
        for (word, description, expected) in cases {
            let mut parts = Vec::new();
            let is_known = known(&Terms::default().joined(&[word])).is_some();
            let mut visit = |part: &str| parts.insert(0, part.to_owned());
            splitter.split(word, is_known, description, &mut visit);
            assert_eq!(parts, expected, "{word}");
        }
    }
}
