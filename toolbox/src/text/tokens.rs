//! An estimate of the tokens of a text.
//!
//! Tokenizers of today's models agree on the rough form: a common word with the space before it is
//! one token, a long or rare one several; digits go by threes; runs of punctuation share tokens;
//! an ideograph is most of a token. The weights below are fitted to `o200k_base`
//! (`benches/tokens`), in sixteenths of a token.

/// The letters of a word that cost nothing beyond its first token.
const WORD: usize = 8;

/// Returns the estimated number of tokens of a text.
pub(crate) fn estimate(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut sum) = (0, 0);
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {
                // `camelCase` and `HTTPServer` are taken apart where the case rises.
                let upper = byte.is_ascii_uppercase();
                at += 1;
                if upper {
                    while bytes.get(at).is_some_and(u8::is_ascii_uppercase) {
                        at += 1;
                    }
                }
                let capitals = at - start;
                while bytes.get(at).is_some_and(u8::is_ascii_lowercase) {
                    at += 1;
                }
                let length = at - start;
                sum += if capitals == length && length > 1 {
                    10 + 5 * length
                } else {
                    16 + 3 * length.saturating_sub(WORD)
                };
            }
            b'0'..=b'9' => {
                while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                    at += 1;
                }
                sum += 16 * (at - start).div_ceil(3);
            }
            b' ' | b'\t' | b'\n' | b'\r' => {
                while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
                {
                    at += 1;
                }
                // A space belongs to the word after it.
                if at - start > 1 || byte != b' ' {
                    sum += 14;
                }
            }
            0x80.. => {
                let rest = &text[at..];
                let Some(letter) = rest.chars().next() else { break };
                at += letter.len_utf8();
                sum += match u32::from(letter) {
                    // Letters of Europe and the Near East come in pieces of words.
                    0x80..=0x24f => 12,
                    0x370..=0x5ff => 6,
                    0x600..=0x1fff => 8,
                    // Dashes, quotes, arrows.
                    0x2000..=0x2bff => 16,
                    0x2e80..=0x9fff | 0xf900..=0xfaff => 11,
                    0xac00..=0xd7af => 10,
                    _ => 32,
                };
            }
            _ => {
                while bytes.get(at).is_some_and(u8::is_ascii_punctuation) {
                    at += 1;
                }
                // A control character.
                at = at.max(start + 1);
                let length = at - start;
                let repeats = bytes[start..at].iter().all(|other| *other == byte);
                sum += if repeats { 12 + length } else { 9 + 4 * length };
            }
        }
    }
    sum.div_ceil(16)
}
