//! Unguessable names.

use crate::sync::Mutex;

/// Random bytes that were asked for in advance: one question to the system for many tokens.
static READY: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Returns 128 random bits as hexadecimal digits.
///
/// # Panics
///
/// If the operating system has no randomness.
pub(super) fn token() -> String {
    let mut ready = READY.lock();
    if ready.len() < 16 {
        ready.resize(1024, 0);
        getrandom::fill(&mut ready).expect("the operating system has randomness");
    }
    // No byte is used twice.
    let at = ready.len() - 16;
    let token = hex(&ready[at..]);
    ready.truncate(at);
    token
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_token_repeats() {
        let tokens: HashSet<String> = (0..10_000).map(|_| token()).collect();
        assert_eq!(tokens.len(), 10_000);
        assert!(tokens.iter().all(|token| token.len() == 32));
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
