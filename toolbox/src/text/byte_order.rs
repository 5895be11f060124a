//! The mark with which some programs begin a text, which is no part of it.

/// Returns bytes without a byte order mark at their head.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}
