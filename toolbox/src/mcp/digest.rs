//! Digests of the bytes of files.

use sha2::{Digest as _, Sha256};

use crate::text::hex;

/// Returns the digest of bytes in the form of skills: `sha256:` and 64 hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}
