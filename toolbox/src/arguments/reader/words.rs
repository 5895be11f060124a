//! Text searched, copied and compared eight bytes at a time.

/// The bytes that are unescaped at once.
pub(super) const PIECE: usize = 1024;
/// The bytes without an escape behind which another way to search is faster.
const RUN: usize = 8 * WORD;
/// The bytes that are searched for an escape: a run, and the letter of an escape at its end.
const WINDOW: usize = RUN + 1;

/// Unescapes text into `piece`; returns the bytes that it filled, and the rest of the text.
///
/// It ends at a quote, at an escape of more than one letter, before a long run without escapes, and
/// where the piece is full.
#[inline(never)]
pub(super) fn unescape<'a>(mut text: &'a [u8], piece: &mut [u8; PIECE]) -> (usize, &'a [u8]) {
    let mut len = 0;
    while let Some(room) = piece[len..].first_chunk_mut() {
        let last;
        let window = match text.first_chunk() {
            Some(window) => window,
            None => {
                last = last_window(text);
                &last
            }
        };
        let Some((at, letter)) = copy_run(window, room) else { break };
        len += at;
        let (Some(letter), Some(behind)) = (letter, text.get(at + 2..)) else {
            text = &text[at..];
            break;
        };
        piece[len] = letter;
        len += 1;
        text = behind;
    }
    (len, text)
}

/// Copies text up to the first quote or backslash; returns its position, and the character of its
/// escape if that has one letter.
///
/// Whole words are copied, so what is behind that position is to be overwritten.
#[inline]
fn copy_run(text: &[u8; WINDOW], room: &mut [u8; RUN]) -> Option<(usize, Option<u8>)> {
    let words = text.as_chunks().0.iter().zip(room.as_chunks_mut().0);
    for (index, (word, copy)) in words.enumerate() {
        *copy = *word;
        if let Some(at) = first_quote_or_backslash(*word) {
            let at = index * WORD + at;
            let is_escape = text[at] == b'\\';
            return Some((at, simple_escape(text[at + 1]).filter(|_| is_escape)));
        }
    }
    None
}

/// Returns the last bytes of a text as a window, which quotes fill.
#[inline(never)]
fn last_window(text: &[u8]) -> [u8; WINDOW] {
    let mut window = [b'"'; WINDOW];
    window[..text.len()].copy_from_slice(text);
    window
}

/// Returns the character of an escape of one letter.
#[inline]
pub(super) fn simple_escape(letter: u8) -> Option<u8> {
    const BYTES: [u8; 256] = {
        let mut bytes = [0; 256];
        let pairs = *b"n\n\"\"\\\\t\tr\r//b\x08f\x0c";
        let mut at = 0;
        while at < pairs.len() {
            bytes[pairs[at] as usize] = pairs[at + 1];
            at += 2;
        }
        bytes
    };
    let byte = BYTES[usize::from(letter)];
    (byte != 0).then_some(byte)
}

pub(super) const WORD: usize = 8;
/// A one in every byte of a word.
const ONES: u64 = u64::MAX / 0xff;

/// A key in quotes and its colon, as they stand before a value, behind the brace or comma before
/// them.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    pub(super) text: Box<str>,
    /// The first word of the text, and the mask of its bits that count: most keys are matched by a
    /// comparison of two numbers.
    word: u64,
    mask: u64,
}

impl Lead {
    /// Returns the lead of an argument that is no field by itself, which nothing starts with.
    pub(crate) fn none() -> Self {
        Self { text: Box::default(), word: 1, mask: 0 }
    }

    /// Returns the lead of the first argument of an object, or of another one.
    pub(crate) fn of(name: &str, is_first: bool) -> Self {
        let before = if is_first { '{' } else { ',' };
        let text = format!("{before}\"{name}\":").into_boxed_str();
        let len = text.len().min(WORD);
        let mut word = [0; WORD];
        word[..len].copy_from_slice(&text.as_bytes()[..len]);
        let mask = u64::MAX >> (8 * (WORD - len));
        Self { text, word: u64::from_le_bytes(word), mask }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    #[inline]
    pub(super) fn starts(&self, bytes: &[u8]) -> bool {
        match bytes.first_chunk() {
            Some(first) => {
                u64::from_le_bytes(*first) & self.mask == self.word
                    && (self.text.len() <= WORD || bytes.starts_with(self.text.as_bytes()))
            }
            None => !self.is_empty() && bytes.starts_with(self.text.as_bytes()),
        }
    }
}

/// Returns the position of the first quote or backslash of a word; see [`first_special`].
#[inline]
pub(super) fn first_quote_or_backslash(word: [u8; WORD]) -> Option<usize> {
    let word = u64::from_le_bytes(word);
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero(word ^ (ONES * u64::from(b'"')));
    let backslash = zero(word ^ (ONES * u64::from(b'\\')));
    let found = (quote | backslash) & (ONES * 0x80);
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

/// Returns the position of the first quote, backslash or control character of a word.
///
/// Each of the three terms sets the high bit of the bytes it looks for; a borrow can set more, but
/// only above the first.
#[inline]
pub(super) fn first_special(word: [u8; WORD]) -> Option<usize> {
    let word = u64::from_le_bytes(word);
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero(word ^ (ONES * u64::from(b'"')));
    let backslash = zero(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let found = (quote | backslash | control) & (ONES * 0x80);
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}
