//! Unguessable names.

use std::fmt::Write;

/// Returns 128 random bits as hexadecimal digits.
///
/// # Panics
///
/// If the operating system has no randomness.
pub(super) fn token() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    hex(&bytes)
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
