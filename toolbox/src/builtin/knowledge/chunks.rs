//! Splits documents into pieces.

use crate::text::cut;

/// Splits a text into pieces of at most `most` bytes: whole paragraphs where they fit, else at the
/// end of a sentence, a line or a word, and never within a character.
pub(super) fn chunks(text: &str, most: usize) -> Vec<&str> {
    // A character has up to four bytes.
    let most = most.max(4);
    let mut chunks = Vec::new();
    let mut rest = text.trim();
    while rest.len() > most {
        let window = cut(rest, most);
        // A better boundary is worth a shorter piece, down to a quarter.
        let least = most / 4;
        let end = ["\n\n", "\n", ". ", "。", " "]
            .iter()
            .filter_map(|end| Some(window.rfind(end)? + end.len()))
            .find(|end| *end > least)
            .unwrap_or(window.len());
        chunks.push(rest[..end].trim_end());
        rest = rest[end..].trim_start();
    }
    chunks.push(rest);
    chunks.retain(|chunk| !chunk.is_empty());
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_divided_where_they_pause() {
        let cases: [(&str, usize, &[&str]); 8] = [
            ("", 10, &[]),
            (" \n\n ", 10, &[]),
            ("short", 10, &["short"]),
            ("one two\n\nthree four", 12, &["one two", "three four"]),
            ("One. Two. Three.", 11, &["One. Two.", "Three."]),
            ("abcdefghijkl", 5, &["abcde", "fghij", "kl"]),
            ("ééééé", 5, &["éé", "éé", "é"]),
            ("𝄞𝄞", 1, &["𝄞", "𝄞"]),
        ];
        for (text, most, expected) in cases {
            assert_eq!(chunks(text, most), expected, "{text:?}");
        }
    }
}
