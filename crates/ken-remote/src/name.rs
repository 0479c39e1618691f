//! Names of organizations, workspaces and remotes; all follow one grammar.

use std::fmt;
use std::str::FromStr;

/// A name: `[a-z0-9][a-z0-9._-]{0,62}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HubName(String);

/// Error: a text that is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid name: use up to 63 of a-z, 0-9, `.`, `_` and `-`, starting with a letter or digit"
)]
pub struct HubNameError(String);

impl HubName {
    /// Maximum characters of a name.
    pub const CHARS_MAX: usize = 63;

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HubName {
    type Err = HubNameError;

    fn from_str(text: &str) -> Result<Self, HubNameError> {
        // No slash, no `..` at the start and lower case only: a name is safe as a URL segment and
        // as a file name, also on case-insensitive file systems.
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let first = text.bytes().next().is_some_and(plain);
        let rest = text
            .bytes()
            .all(|byte| plain(byte) || b"._-".contains(&byte));
        if first && rest && text.len() <= Self::CHARS_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(HubNameError(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_table_takes() {
        let long = "a".repeat(HubName::CHARS_MAX);
        for text in ["a", "0", "payments", "a.b_c-d", &long] {
            assert!(text.parse::<HubName>().is_ok(), "{text}");
        }
        let longer = format!("{long}a");
        for text in [
            "", "-a", ".a", "A", "a b", "a/b", "ä", "a\0", "a\n", &longer,
        ] {
            assert!(text.parse::<HubName>().is_err(), "{text:?}");
        }
    }
}
