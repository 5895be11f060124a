//! Unguessable names.

use crate::sync::Mutex;
use crate::text::hex;

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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_token_repeats() {
        let tokens: HashSet<String> = (0..10_000).map(|_| token()).collect();
        assert_eq!(tokens.len(), 10_000);
        assert!(tokens.iter().all(|token| token.len() == 32));
    }
}
