//! The secret whoever speaks to the server shows.

use std::fmt;

/// Characters a token has at least: a shorter one could be guessed.
pub const TOKEN_CHARS_MIN: usize = 24;

/// A bearer token. It is printed nowhere, not even for debugging.
#[derive(Clone)]
pub struct Token(String);

/// A token anybody could guess, or that cannot stand in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token has at least {TOKEN_CHARS_MIN} visible ASCII characters and nothing else")]
pub struct WeakToken;

impl Token {
    /// Takes a token, unless it is too short or cannot stand in a header.
    pub fn new(text: &str) -> Result<Self, WeakToken> {
        let text = text.trim();
        let fits =
            TOKEN_CHARS_MIN <= text.len() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.to_owned())).ok_or(WeakToken)
    }

    /// Returns whether `shown` is the token; how long that takes says nothing about where they differ.
    #[must_use]
    pub fn is(&self, shown: &[u8]) -> bool {
        let own = self.0.as_bytes();
        if own.len() != shown.len() {
            return false;
        }
        let differs = own.iter().zip(shown).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differs) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_the_token() {
        let token = Token::new(" 0123456789abcdef01234567\n").expect("long enough");
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
            assert_eq!(Token::new(weak).unwrap_err(), WeakToken, "{weak}");
        }
    }
}
