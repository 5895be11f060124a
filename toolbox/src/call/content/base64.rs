//! Base64 as RFC 4648 defines it in section 4: the standard alphabet, padded.

use std::fmt;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The reason why a text is not base64.
///
/// Displays as one sentence, which a tool may return as its error; it holds at most one character
/// of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidBase64Error(Base64Fault);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Base64Fault {
    DataUrl,
    Character { character: char, at: usize },
    Length(usize),
    TrailingBits,
}

impl fmt::Display for InvalidBase64Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the data is not base64: ")?;
        match self.0 {
            Base64Fault::DataUrl => {
                f.write_str("it is a `data:` URL, of which only what follows the comma is")
            }
            Base64Fault::Character { character: '-' | '_', at } => {
                write!(
                    f,
                    "the character at byte {at} is of the URL-safe alphabet, not of the standard one"
                )
            }
            Base64Fault::Character { character, at } => write!(f, "{character:?} at byte {at}"),
            Base64Fault::Length(length) => {
                write!(
                    f,
                    "its length, {length} bytes, is not a multiple of 4; padding may be missing"
                )
            }
            Base64Fault::TrailingBits => {
                f.write_str("bits are set after its last byte; it may have been cut")
            }
        }
    }
}

impl std::error::Error for InvalidBase64Error {}

/// Writes bytes in the standard alphabet, padded.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, &byte| group << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place)) & 0x3f;
            text.push(if place > chunk.len() { '=' } else { char::from(ALPHABET[digit as usize]) });
        }
    }
    text
}

/// Checks that a text is what [`encode`] would write for some bytes.
pub(super) fn check(text: &str) -> Result<(), InvalidBase64Error> {
    if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return Err(InvalidBase64Error(Base64Fault::DataUrl));
    }
    let digits = match text.strip_suffix("==") {
        Some(digits) => digits,
        None => text.strip_suffix('=').unwrap_or(text),
    };
    if let Some(at) = digits.bytes().position(|byte| value(byte).is_none()) {
        let character = digits[at..].chars().next().unwrap_or_default();
        return Err(InvalidBase64Error(Base64Fault::Character { character, at }));
    }
    if !text.len().is_multiple_of(4) {
        return Err(InvalidBase64Error(Base64Fault::Length(text.len())));
    }
    // The last digit holds 4 bits of padding before `==`, 2 before `=`.
    let unused = match text.len() - digits.len() {
        2 => 0b1111,
        1 => 0b11,
        _ => 0,
    };
    match digits.bytes().next_back().and_then(value) {
        Some(last) if last & unused != 0 => Err(InvalidBase64Error(Base64Fault::TrailingBits)),
        _ => Ok(()),
    }
}

/// Base64 in the form that [`encode`] writes, if it came in another, and the MIME type that came
/// with it.
pub(super) type Mended<'a> = (Option<String>, Option<&'a str>);

/// Returns base64 that came as a `data:` URL, with line breaks, in the URL-safe alphabet or without
/// padding in the form that [`encode`] writes; and the MIME type of the URL.
///
/// The form does not change what the text stands for. Anything else is an error.
pub(super) fn mended(text: &str) -> Result<Mended<'_>, InvalidBase64Error> {
    let Err(error) = check(text) else { return Ok((None, None)) };
    let url = text.trim_start().split_once(',').filter(|(head, _)| {
        head.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
            && head.to_ascii_lowercase().ends_with(";base64")
    });
    let (mime, data) = match url {
        Some((head, data)) => (head[5..].split(';').next(), data),
        None => (None, text),
    };
    let mut mended: String = data
        .chars()
        .filter(|character| !character.is_ascii_whitespace())
        .map(|character| match character {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    mended.truncate(mended.trim_end_matches('=').len());
    while !mended.len().is_multiple_of(4) {
        mended.push('=');
    }
    // One digit alone is no byte, which three signs of padding would hide.
    check(&mended).map_err(|_| error)?;
    Ok((Some(mended), mime.filter(|mime| !mime.is_empty())))
}

/// Reads what [`encode`] writes.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, InvalidBase64Error> {
    check(text)?;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.as_bytes().chunks(4) {
        let digits = chunk.iter().map_while(|digit| value(*digit));
        let (count, group) = digits
            .fold((0, 0_u32), |(count, group), digit| (count + 1, group << 6 | u32::from(digit)));
        let group = (group << (6 * (4 - count))).to_be_bytes();
        bytes.extend_from_slice(&group[1..count]);
    }
    Ok(bytes)
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ALPHABET, check, decode, encode, mended, value};

    #[test]
    fn encoding_matches_rfc_4648() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(encode(bytes.as_bytes()), expected);
        }
    }

    #[test]
    fn check_takes_what_encoding_writes() {
        for (digit, at) in ALPHABET.iter().zip(0_u8..) {
            assert_eq!(value(*digit), Some(at));
        }
        for length in 0..9 {
            for byte in 0..=u8::MAX {
                let text = encode(&vec![byte; length]);
                assert_eq!(check(&text), Ok(()), "{text}");
                assert_eq!(decode(&text), Ok(vec![byte; length]), "{text}");
            }
        }
    }

    #[test]
    fn the_form_of_base64_is_mended_and_nothing_else() {
        let whole = encode(&[0xfb, 0xff, 0xbf, 1]);
        assert_eq!(whole, "+/+/AQ==");
        let cases = [
            ("+/+/AQ==", None),
            ("+/+/AQ", None),
            ("-_-_AQ", None),
            ("+/+/\r\nAQ==\n", None),
            (" data:image/png;base64,+/+/AQ==", Some("image/png")),
            ("DATA:image/png;name=x;Base64,-_-_AQ", Some("image/png")),
            ("data:;base64,+/+/AQ==", None),
        ];
        for (text, mime) in cases {
            let mended =
                mended(text).map(|(data, mime)| (data.unwrap_or_else(|| text.to_owned()), mime));
            assert_eq!(mended, Ok((whole.clone(), mime)), "{text:?}");
        }
        for text in ["A", "+/+/A", "a.b", "<svg>", "data:image/png,%89PNG", "AR==", "A=B="] {
            assert!(mended(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn check_refuses_every_other_text_of_four() {
        let bytes = *b"ABQgw+/-_= \n";
        let mut refused = 0;
        let written: std::collections::HashSet<String> = (0..=u8::MAX)
            .flat_map(|a| [vec![a]].into_iter().chain((0..=u8::MAX).map(move |b| vec![a, b])))
            .map(|bytes| encode(&bytes))
            .collect();
        for index in 0..bytes.len().pow(4) {
            let text: String = (0..4_u32)
                .map(|place| char::from(bytes[index / bytes.len().pow(place) % bytes.len()]))
                .collect();
            let is_whole = text.bytes().all(|byte| ALPHABET.contains(&byte));
            assert_eq!(check(&text).is_ok(), is_whole || written.contains(&text), "{text:?}");
            refused += usize::from(check(&text).is_err());
        }
        assert!(refused > 1000);
    }
}
