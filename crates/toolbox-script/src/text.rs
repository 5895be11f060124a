//! Texts that are cut to a length.

/// Returns the beginning of a text, of at most so many bytes.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
