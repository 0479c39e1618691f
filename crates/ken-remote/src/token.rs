//! Access tokens of a hub. They are never printed.

use std::fmt;

/// Maximum bytes of a token; an access token of an identity provider can be long.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// The prefix of a hub's own tokens, and the number of letters and digits after it.
const HUB_TOKEN_PREFIX: &str = "ken_";
const HUB_TOKEN_CHARS: usize = 32;

/// A hub token: a secret that is sent only in a header.
#[derive(Clone, PartialEq, Eq)]
pub struct HubToken(String);

/// Error: a text that cannot be a token. The message does not contain the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HubTokenError {
    #[error("the token is empty")]
    Empty,
    #[error("the token has more than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    #[error("the token contains a space, a line break or a character outside ASCII")]
    NotGraphic,
    #[error(
        "this is not a valid token: a hub token is `ken_` followed by {HUB_TOKEN_CHARS} letters and digits"
    )]
    Form,
}

impl HubToken {
    /// Parses a token; surrounding whitespace is removed.
    pub fn parse(text: &str) -> Result<Self, HubTokenError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(HubTokenError::Empty);
        }
        if trimmed.len() > TOKEN_BYTES_MAX {
            return Err(HubTokenError::TooLong);
        }
        // A line break would let a token add headers to the request.
        if !trimmed.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(HubTokenError::NotGraphic);
        }
        Ok(Self(trimmed.to_owned()))
    }

    /// Returns an error for a form that no hub accepts: neither a hub token nor a JWT access token.
    pub fn check_form(&self) -> Result<(), HubTokenError> {
        let is_own = |rest: &str| {
            rest.len() == HUB_TOKEN_CHARS && rest.bytes().all(|it| it.is_ascii_alphanumeric())
        };
        // A JWT has three Base64url parts, separated by dots.
        let is_part = |it: u8| it.is_ascii_alphanumeric() || b"-_=".contains(&it);
        let parts: Vec<&str> = self.0.split('.').collect();
        let is_access = parts.len() == 3
            && parts
                .iter()
                .all(|part| !part.is_empty() && part.bytes().all(is_part));
        let is_valid = match self.0.strip_prefix(HUB_TOKEN_PREFIX) {
            Some(rest) => is_own(rest),
            None => is_access,
        };
        is_valid.then_some(()).ok_or(HubTokenError::Form)
    }

    /// Returns the secret, for a header or a file that only its owner can read.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HubToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token = HubToken::parse(" ken_abc\n").expect("a token");
        assert_eq!(token.secret(), "ken_abc");
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn what_no_hub_accepts_is_told_from_what_one_may() {
        let own = format!("ken_{}", "0a".repeat(16));
        for text in [own.as_str(), "eyJh.eyJp.c2ln-_"] {
            assert_eq!(HubToken::parse(text).unwrap().check_form(), Ok(()));
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
            let token = HubToken::parse(text).unwrap();
            assert_eq!(token.check_form(), Err(HubTokenError::Form), "{text}");
        }
    }

    #[test]
    fn what_cannot_travel_in_a_header_is_no_token() {
        let long = "a".repeat(TOKEN_BYTES_MAX + 1);
        for (text, wrong) in [
            ("", HubTokenError::Empty),
            (" \n", HubTokenError::Empty),
            ("a b", HubTokenError::NotGraphic),
            ("a\r\nx-other: b", HubTokenError::NotGraphic),
            ("ä", HubTokenError::NotGraphic),
            (&long, HubTokenError::TooLong),
        ] {
            assert_eq!(HubToken::parse(text), Err(wrong));
        }
    }
}
