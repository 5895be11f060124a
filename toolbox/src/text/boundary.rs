//! Texts cut at boundaries of characters.

/// Returns the last boundary of a character at or before a byte.
pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the first boundary of a character at or after a byte.
pub(crate) fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Cuts a text to at most so many bytes.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..floor_boundary(text, bytes)]
}
