//! Digests of the bytes of files.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Returns the digest of bytes in the form of skills: `sha256:` and 64 hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Formats bytes as hexadecimal digits in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
