//! Anchors: code locations in this repository, written `path`, `path#symbol` or `path:start-end`.
//!
//! An anchor is stored as written, together with an optional fingerprint of the code. Resolving it
//! against the working tree is the job of `ken-anchor`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::text_form::text_form;

/// A code location: a path relative to the repository root, with `/` as separator, and a part of
/// that file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeLocation {
    path: String,
    part: FilePart,
}

/// The part of a file that a [`CodeLocation`] refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilePart {
    /// The whole file.
    File,
    /// A named symbol.
    Symbol(String),
    /// Lines `first` to `last`, counted from 1, both included.
    Lines { first: u32, last: u32 },
}

/// A [`CodeLocation`] and, once computed, the fingerprint of the code there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// `src/pay.rs#Ledger::charge`, `src/pay.rs:10-20` or `src/pay.rs`.
    pub at: CodeLocation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// The reason a text is not a valid anchor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnchorError {
    #[error("anchor `{0}`: write a path relative to the repository, with `/` and without `..`")]
    Path(String),
    #[error("anchor `{0}`: write lines as FIRST-LAST, counted from 1")]
    Lines(String),
    #[error("anchor `{0}`: the symbol is empty or has leading or trailing spaces")]
    Symbol(String),
}

impl CodeLocation {
    /// Maximum length of the path in bytes.
    pub const BYTES_MAX: usize = 1024;

    /// Returns whether `path` is this file, a folder that contains it, or a file below it.
    pub fn overlaps(&self, path: &str) -> bool {
        let (one, other) = (self.path.trim_end_matches('/'), path.trim_end_matches('/'));
        // The `/` keeps `src/pay` from matching the sibling `src/payroll`.
        let below = |path: &str, folder: &str| {
            let rest = path.strip_prefix(folder);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        below(one, other) || below(other, one)
    }

    /// Returns the same part of another file.
    pub fn with_path(&self, path: &str) -> Result<Self, AnchorError> {
        Ok(Self {
            path: parse_repo_path(path)?,
            part: self.part.clone(),
        })
    }

    /// Returns another part of the same file.
    #[must_use]
    pub fn with_part(&self, spot: FilePart) -> Self {
        Self {
            path: self.path.clone(),
            part: spot,
        }
    }

    /// Returns the path relative to the repository root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the symbol, if the location is one.
    pub fn symbol(&self) -> Option<&str> {
        match &self.part {
            FilePart::Symbol(name) => Some(name),
            FilePart::File | FilePart::Lines { .. } => None,
        }
    }

    /// Returns the part of the file.
    pub fn part(&self) -> &FilePart {
        &self.part
    }
}

impl From<CodeLocation> for Anchor {
    fn from(at: CodeLocation) -> Self {
        Self {
            at,
            fingerprint: None,
        }
    }
}

impl fmt::Display for CodeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            FilePart::File => f.write_str(&self.path),
            FilePart::Symbol(name) => write!(f, "{}#{name}", self.path),
            FilePart::Lines { first, last } => write!(f, "{}:{first}-{last}", self.path),
        }
    }
}

impl FromStr for CodeLocation {
    type Err = AnchorError;

    fn from_str(text: &str) -> Result<Self, AnchorError> {
        // `#` is tested first because symbols such as `Ledger::charge` contain `:`.
        if let Some((path, symbol)) = text.split_once('#') {
            let plain = !symbol.chars().any(char::is_control);
            if symbol.is_empty() || symbol.trim() != symbol || !plain {
                return Err(AnchorError::Symbol(text.to_owned()));
            }
            return Ok(Self {
                path: parse_repo_path(path)?,
                part: FilePart::Symbol(symbol.to_owned()),
            });
        }
        match text.rsplit_once(':') {
            None => Ok(Self {
                path: parse_repo_path(text)?,
                part: FilePart::File,
            }),
            Some((path, lines)) => {
                let spot = parse_lines(lines).ok_or_else(|| AnchorError::Lines(text.to_owned()))?;
                Ok(Self {
                    path: parse_repo_path(path)?,
                    part: spot,
                })
            }
        }
    }
}

// Returns `None` for leading zeros, so each range has exactly one spelling.
fn parse_lines(text: &str) -> Option<FilePart> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()) && !part.starts_with('0');
    if !is_number(first) || !is_number(last) {
        return None;
    }
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(FilePart::Lines { first, last })
}

fn parse_repo_path(text: &str) -> Result<String, AnchorError> {
    let path = text.strip_prefix("./").unwrap_or(text);
    // An empty part rejects absolute paths; `..` would let an anchor read outside the repository.
    let is_part = |p: &str| !p.is_empty() && p != "." && p != "..";
    // `:` also rejects Windows drive letters.
    let is_plain = !path.contains(['\\', ':', '#']) && !path.chars().any(char::is_control);
    if path.len() > CodeLocation::BYTES_MAX || !is_plain || !path.split('/').all(is_part) {
        return Err(AnchorError::Path(path.to_owned()));
    }
    Ok(path.to_owned())
}

text_form!(
    CodeLocation,
    "Target",
    r"^[^#:\\]+(#.+|:[1-9][0-9]*-[1-9][0-9]*)?$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_name_paths_symbols_and_lines() {
        for good in [
            "src/pay.rs",
            "src/pay.rs#Ledger::charge",
            "src/pay.rs:10-20",
        ] {
            assert_eq!(good.parse::<CodeLocation>().unwrap().to_string(), good);
        }
        assert_eq!(
            "./src/a.rs:7".parse::<CodeLocation>().unwrap().to_string(),
            "src/a.rs:7-7"
        );
    }

    #[test]
    fn paths_outside_the_repository_are_refused() {
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
            assert!(bad.parse::<CodeLocation>().is_err(), "{bad}");
        }
    }
}
