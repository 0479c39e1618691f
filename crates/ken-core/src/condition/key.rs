//! Where a value stands in a configuration file: `server.ports[0]`, `dependencies."left.pad"`.

use std::fmt;
use std::str::FromStr;

/// Names from the outermost table to the value; a number also counts into a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    text: String,
    parts: Vec<String>,
}

/// A text that names no place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key reads NAME.NAME[0].\"odd.name\", with at most {} parts",
    Key::PARTS_MAX
)]
pub struct KeyError;

impl Key {
    /// How deep a key may reach.
    pub const PARTS_MAX: usize = 32;

    /// Returns the names, outermost first.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Splits `KEY=VALUE` at the first `=` outside of quotes.
    pub(super) fn split_value(text: &str) -> Option<(&str, &str)> {
        let mut quoted = false;
        for (at, c) in text.char_indices() {
            match c {
                '"' => quoted = !quoted,
                '=' if !quoted => return Some((&text[..at], &text[at + 1..])),
                _ => {}
            }
        }
        None
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, behind) = first_part(rest, parts.is_empty())?;
            parts.push(part.to_owned());
            if behind.is_empty() {
                break;
            }
            rest = behind;
        }
        if Self::PARTS_MAX < parts.len() {
            return Err(KeyError);
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }
}

/// Splits off the first part; all but the very first begin with `.` or `[`.
fn first_part(text: &str, first: bool) -> Result<(&str, &str), KeyError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (index, rest) = rest.split_once(']').ok_or(KeyError)?;
        let digits = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
        return if digits {
            Ok((index, rest))
        } else {
            Err(KeyError)
        };
    }
    let text = if first {
        text
    } else {
        text.strip_prefix('.').ok_or(KeyError)?
    };
    if let Some(rest) = text.strip_prefix('"') {
        return rest.split_once('"').ok_or(KeyError);
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (part, rest) = text.split_at(end);
    let plain = !part.is_empty() && !part.contains(['"', ']', '=']);
    if plain {
        Ok((part, rest))
    } else {
        Err(KeyError)
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
            let key: Key = text.parse().unwrap();
            assert_eq!(
                (key.to_string().as_str(), key.parts.as_slice()),
                (*text, &strings(parts)[..])
            );
        }
        for bad in [
            "", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[]", "a]b", "\"a", "a\"b\"", "\"a\"b",
        ] {
            assert!(bad.parse::<Key>().is_err(), "{bad}");
        }
        assert!(
            "a.".repeat(40)
                .trim_end_matches('.')
                .parse::<Key>()
                .is_err()
        );
    }

    fn strings(parts: &[&str]) -> Vec<String> {
        parts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_value_follows_the_first_sign_outside_quotes() {
        assert_eq!(Key::split_value("a=b=c"), Some(("a", "b=c")));
        assert_eq!(Key::split_value("\"a=b\"=c"), Some(("\"a=b\"", "c")));
        assert_eq!(Key::split_value("a"), None);
    }
}
