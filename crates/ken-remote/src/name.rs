//! What an organisation, a workspace or a remote is called: one grammar for all of them.

use std::fmt;
use std::str::FromStr;

/// A name: `[a-z0-9][a-z0-9._-]{0,62}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name: up to 63 of a-z, 0-9, `.`, `_` and `-`, a letter or digit first")]
pub struct NameError(String);

impl Name {
    /// Characters a name may have.
    pub const CHARS_MAX: usize = 63;

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let first = text.bytes().next().is_some_and(plain);
        let rest = text
            .bytes()
            .all(|byte| plain(byte) || b"._-".contains(&byte));
        if first && rest && text.len() <= Self::CHARS_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_table_takes() {
        let long = "a".repeat(Name::CHARS_MAX);
        for text in ["a", "0", "payments", "a.b_c-d", &long] {
            assert!(text.parse::<Name>().is_ok(), "{text}");
        }
        let longer = format!("{long}a");
        for text in [
            "", "-a", ".a", "A", "a b", "a/b", "ä", "a\0", "a\n", &longer,
        ] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
        }
    }
}
