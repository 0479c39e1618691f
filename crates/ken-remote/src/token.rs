//! What a hub knows its callers by; never shown.

use std::fmt;

/// Bytes a token may have; an access token of an identity provider can be long.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// How a hub's own tokens begin, and how many letters and digits follow.
const OWN_PREFIX: &str = "ken_";
const OWN_CHARS: usize = 32;

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
    #[error("this is no token: a hub's own is `ken_` and {OWN_CHARS} letters and digits")]
    Form,
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

    /// Refuses what no hub accepts: neither a token of its own nor an access token of an identity provider (a JWT).
    pub fn check_form(&self) -> Result<(), TokenError> {
        let is_own = |rest: &str| {
            rest.len() == OWN_CHARS && rest.bytes().all(|it| it.is_ascii_alphanumeric())
        };
        let is_part = |it: u8| it.is_ascii_alphanumeric() || b"-_=".contains(&it);
        let parts: Vec<&str> = self.0.split('.').collect();
        let is_access = parts.len() == 3
            && parts
                .iter()
                .all(|part| !part.is_empty() && part.bytes().all(is_part));
        let fits = match self.0.strip_prefix(OWN_PREFIX) {
            Some(rest) => is_own(rest),
            None => is_access,
        };
        fits.then_some(()).ok_or(TokenError::Form)
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
    fn what_no_hub_accepts_is_told_from_what_one_may() {
        let own = format!("ken_{}", "0a".repeat(16));
        for text in [own.as_str(), "eyJh.eyJp.c2ln-_"] {
            assert_eq!(Token::parse(text).unwrap().check_form(), Ok(()));
        }
        let long = format!("{own}0");
        for text in [
            "notatoken",
            "ken_",
            "a.b",
            "a..b",
            "a.b.c!",
            &own[1..],
            &long,
        ] {
            let token = Token::parse(text).unwrap();
            assert_eq!(token.check_form(), Err(TokenError::Form), "{text}");
        }
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
