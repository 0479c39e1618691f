//! Bearer tokens of the HTTP transport.

use std::fmt;

/// Minimum characters of a token; a shorter one could be guessed.
pub const TOKEN_CHARS_MIN: usize = 24;

/// A bearer token. It is never printed, not even by `Debug`.
#[derive(Clone)]
pub struct BearerToken(String);

/// Error: a token that is too short or not valid in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token needs at least {TOKEN_CHARS_MIN} characters, all of them visible ASCII")]
pub struct WeakToken;

impl BearerToken {
    /// Validates a token: its length, and that it is valid in a header.
    pub fn new(text: &str) -> Result<Self, WeakToken> {
        let trimmed = text.trim();
        let is_valid =
            trimmed.len() >= TOKEN_CHARS_MIN && trimmed.bytes().all(|byte| byte.is_ascii_graphic());
        is_valid.then(|| Self(trimmed.to_owned())).ok_or(WeakToken)
    }

    /// Compares in constant time: the duration does not reveal the position of a difference.
    #[must_use]
    pub fn is(&self, presented: &[u8]) -> bool {
        let own = self.0.as_bytes();
        // The length is not secret; only the content has to be compared in constant time.
        if own.len() != presented.len() {
            return false;
        }
        // All bytes are compared, and `black_box` keeps the compiler from returning early.
        let differs = own
            .iter()
            .zip(presented)
            .fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differs) == 0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_the_token() {
        let token = BearerToken::new(" 0123456789abcdef01234567\n").expect("long enough");
        assert!(token.is(b"0123456789abcdef01234567"));
        for other in ["", "0123456789abcdef01234568", "0123456789abcdef012345677"] {
            assert!(!token.is(other.as_bytes()), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn a_token_that_can_be_guessed_is_none() {
        for weak in [
            "",
            "secret",
            &"x".repeat(TOKEN_CHARS_MIN - 1),
            &"ü".repeat(30),
            "0123456789 abcdef 0123456789",
        ] {
            assert_eq!(BearerToken::new(weak).unwrap_err(), WeakToken, "{weak}");
        }
    }
}
