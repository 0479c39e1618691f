//! Keys of configuration files: `server.ports[0]`, `dependencies."left.pad"`.

use std::fmt;
use std::str::FromStr;

/// Path from the outermost table to a value. A number is a table key or a list index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigKey {
    text: String,
    parts: Vec<String>,
}

/// A text that is not a valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a key as NAME.NAME[0].\"odd.name\", with at most {} parts",
    ConfigKey::PARTS_MAX
)]
pub struct ConfigKeyError;

impl ConfigKey {
    /// Maximum number of parts. Bounds the depth of lookups in untrusted files.
    pub const PARTS_MAX: usize = 32;

    /// Returns the parts, outermost first.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Splits `KEY=VALUE` at the first `=` outside quotes.
    pub(super) fn split_value(text: &str) -> Option<(&str, &str)> {
        let mut quoted = false;
        for (at, c) in text.char_indices() {
            match c {
                // Quoted names have no escapes, so toggling is enough.
                '"' => quoted = !quoted,
                '=' if !quoted => return Some((&text[..at], &text[at + 1..])),
                _ => {}
            }
        }
        None
    }
}

impl fmt::Display for ConfigKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for ConfigKey {
    type Err = ConfigKeyError;

    fn from_str(text: &str) -> Result<Self, ConfigKeyError> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, remainder) = split_first_part(rest, parts.is_empty())?;
            parts.push(part.to_owned());
            if remainder.is_empty() {
                break;
            }
            rest = remainder;
        }
        if parts.len() > Self::PARTS_MAX {
            return Err(ConfigKeyError);
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }
}

/// Splits off the first part. All parts except the very first start with `.` or `[`.
fn split_first_part(text: &str, first: bool) -> Result<(&str, &str), ConfigKeyError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (index, rest) = rest.split_once(']').ok_or(ConfigKeyError)?;
        let is_index = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
        return if is_index {
            Ok((index, rest))
        } else {
            Err(ConfigKeyError)
        };
    }
    let text = if first {
        text
    } else {
        text.strip_prefix('.').ok_or(ConfigKeyError)?
    };
    // A quoted name may contain dots, brackets and `=`.
    if let Some(rest) = text.strip_prefix('"') {
        return rest.split_once('"').ok_or(ConfigKeyError);
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (part, rest) = text.split_at(end);
    // `=` would make the split into key and value ambiguous.
    let is_plain = !part.is_empty() && !part.contains(['"', ']', '=']);
    if is_plain {
        Ok((part, rest))
    } else {
        Err(ConfigKeyError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_tables_lists_and_odd_names() {
        let table: &[(&str, &[&str])] = &[
            ("a", &["a"]),
            ("a.b-c.d_e", &["a", "b-c", "d_e"]),
            ("a[0].b", &["a", "0", "b"]),
            ("[1]", &["1"]),
            ("a.0.b", &["a", "0", "b"]),
            ("x.\"left.pad=1\".y", &["x", "left.pad=1", "y"]),
            ("\"a\"[2]", &["a", "2"]),
        ];
        for (text, parts) in table {
            let key: ConfigKey = text.parse().unwrap();
            assert_eq!(
                (key.to_string().as_str(), key.parts.as_slice()),
                (*text, &strings(parts)[..])
            );
        }
        for bad in [
            "", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[]", "a]b", "\"a", "a\"b\"", "\"a\"b",
        ] {
            assert!(bad.parse::<ConfigKey>().is_err(), "{bad}");
        }
        assert!(
            "a.".repeat(40)
                .trim_end_matches('.')
                .parse::<ConfigKey>()
                .is_err()
        );
    }

    fn strings(parts: &[&str]) -> Vec<String> {
        parts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_value_follows_the_first_sign_outside_quotes() {
        assert_eq!(ConfigKey::split_value("a=b=c"), Some(("a", "b=c")));
        assert_eq!(ConfigKey::split_value("\"a=b\"=c"), Some(("\"a=b\"", "c")));
        assert_eq!(ConfigKey::split_value("a"), None);
    }
}
