//! Pointers into this repository: `path`, `path#symbol` or `path:start-end`.
//!
//! An anchor is stored as it was written, with room for the fingerprint of what it pointed at.
//! Whether it resolves is not decided here.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_form::text_form;

/// Where an anchor points, always relative to the repository's root and with `/` as separator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    path: String,
    spot: Spot,
}

/// What inside the file is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spot {
    /// The whole file.
    File,
    /// A named symbol.
    Symbol(String),
    /// Lines `first` to `last`, counted from 1, both included.
    Lines { first: u32, last: u32 },
}

/// A [`Target`] and, once taken, the fingerprint of what stood there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// `src/pay.rs#Ledger::charge`, `src/pay.rs:10-20` or `src/pay.rs`.
    pub at: Target,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// Why a text is no anchor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnchorError {
    #[error("anchor `{0}`: the path is relative to the repository, with `/`, without `..`")]
    Path(String),
    #[error("anchor `{0}`: lines read FIRST-LAST, counted from 1")]
    Lines(String),
    #[error("anchor `{0}`: the symbol is empty or has spaces at its ends")]
    Symbol(String),
}

impl Target {
    /// Bytes an anchor may have.
    pub const BYTES_MAX: usize = 1024;

    /// Returns whether `path` is the file meant, or one is a folder around the other.
    pub fn covers(&self, path: &str) -> bool {
        let (one, other) = (self.path.trim_end_matches('/'), path.trim_end_matches('/'));
        let below = |path: &str, folder: &str| {
            let rest = path.strip_prefix(folder);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        below(one, other) || below(other, one)
    }

    /// Returns the same spot of another file.
    pub fn with_path(&self, path: &str) -> Result<Self, AnchorError> {
        Ok(Self {
            path: repo_path(path)?,
            spot: self.spot.clone(),
        })
    }

    /// Returns another spot of the same file.
    #[must_use]
    pub fn with_spot(&self, spot: Spot) -> Self {
        Self {
            path: self.path.clone(),
            spot,
        }
    }

    /// Returns the path below the repository's root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns what inside the file is meant.
    pub fn spot(&self) -> &Spot {
        &self.spot
    }
}

impl From<Target> for Anchor {
    fn from(at: Target) -> Self {
        Self {
            at,
            fingerprint: None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spot {
            Spot::File => f.write_str(&self.path),
            Spot::Symbol(name) => write!(f, "{}#{name}", self.path),
            Spot::Lines { first, last } => write!(f, "{}:{first}-{last}", self.path),
        }
    }
}

impl FromStr for Target {
    type Err = AnchorError;

    fn from_str(text: &str) -> Result<Self, AnchorError> {
        if let Some((path, symbol)) = text.split_once('#') {
            let plain = !symbol.chars().any(char::is_control);
            if symbol.is_empty() || symbol.trim() != symbol || !plain {
                return Err(AnchorError::Symbol(text.to_owned()));
            }
            return Ok(Self {
                path: repo_path(path)?,
                spot: Spot::Symbol(symbol.to_owned()),
            });
        }
        match text.rsplit_once(':') {
            None => Ok(Self {
                path: repo_path(text)?,
                spot: Spot::File,
            }),
            Some((path, lines)) => {
                let spot = parse_lines(lines).ok_or_else(|| AnchorError::Lines(text.to_owned()))?;
                Ok(Self {
                    path: repo_path(path)?,
                    spot,
                })
            }
        }
    }
}

fn parse_lines(text: &str) -> Option<Spot> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit()) && !part.starts_with('0');
    if !plain(first) || !plain(last) {
        return None;
    }
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(Spot::Lines { first, last })
}

fn repo_path(text: &str) -> Result<String, AnchorError> {
    let text = text.strip_prefix("./").unwrap_or(text);
    let part = |p: &str| !p.is_empty() && p != "." && p != "..";
    let plain = !text.contains(['\\', ':', '#']) && !text.chars().any(char::is_control);
    if Target::BYTES_MAX < text.len() || !plain || !text.split('/').all(part) {
        return Err(AnchorError::Path(text.to_owned()));
    }
    Ok(text.to_owned())
}

text_form!(
    Target,
    "Target",
    r"^[^#:\\]+(#.+|:[1-9][0-9]*-[1-9][0-9]*)?$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ent_05_anchors_name_paths_symbols_and_lines() {
        for good in [
            "src/pay.rs",
            "src/pay.rs#Ledger::charge",
            "src/pay.rs:10-20",
        ] {
            assert_eq!(good.parse::<Target>().unwrap().to_string(), good);
        }
        assert_eq!(
            "./src/a.rs:7".parse::<Target>().unwrap().to_string(),
            "src/a.rs:7-7"
        );
    }

    #[test]
    fn sec_02_paths_outside_the_repository_are_refused() {
        for bad in [
            "/etc/passwd",
            "../x",
            "a/../b",
            "c:\\x",
            "a//b",
            "",
            "a:",
            "a:0-1",
            "a:3-2",
            "a#",
            "a# b",
        ] {
            assert!(bad.parse::<Target>().is_err(), "{bad}");
        }
    }
}
