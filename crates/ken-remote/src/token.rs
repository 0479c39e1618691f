//! What a hub knows its callers by; never shown.

use std::fmt;

/// Bytes a token may have; an access token of an identity provider can be long.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// A secret that travels in a header and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A text that cannot be a token. It says nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token is empty")]
    Empty,
    #[error("the token has more than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    #[error("the token holds a space, a line break or a character outside ASCII")]
    NotGraphic,
}

impl Token {
    /// Reads a token; space around it is not part of it.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if TOKEN_BYTES_MAX < text.len() {
            return Err(TokenError::TooLong);
        }
        if !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(TokenError::NotGraphic);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the secret, for a header or a file only its owner reads.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::parse(" ken_abc\n").expect("a token");
        assert_eq!(token.secret(), "ken_abc");
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn what_cannot_travel_in_a_header_is_no_token() {
        let long = "a".repeat(TOKEN_BYTES_MAX + 1);
        for (text, wrong) in [
            ("", TokenError::Empty),
            (" \n", TokenError::Empty),
            ("a b", TokenError::NotGraphic),
            ("a\r\nx-other: b", TokenError::NotGraphic),
            ("ä", TokenError::NotGraphic),
            (&long, TokenError::TooLong),
        ] {
            assert_eq!(Token::parse(text), Err(wrong));
        }
    }
}
