//! Paths of the repository in addresses.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that stay as they are in a segment: the unreserved ones of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A path below the repository root; empty for the root itself.
///
/// Invariant: no segment is empty, `.` or `..`, and none contains a backslash or a control
/// character.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepoPath(String);

/// Error: a text that is not a path below the repository root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a path relative to the repository, with `/` and without `..`")]
pub struct RepoPathError;

impl RepoPath {
    /// Maximum bytes of a path.
    pub const BYTES_MAX: usize = 1_024;

    pub(super) fn from_segments(segments: &[&str]) -> Result<Self, RepoPathError> {
        let is_plain = |segment: &&str| {
            !matches!(*segment, "" | "." | "..")
                && !segment.contains(['/', '\\'])
                && !segment.chars().any(char::is_control)
        };
        let path = segments.join("/");
        if segments.iter().all(is_plain) && path.len() <= Self::BYTES_MAX {
            Ok(Self(path))
        } else {
            Err(RepoPathError)
        }
    }

    /// Returns the path with `/` as separator.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the root of the repository.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns this path and every folder that contains it, from the top, without the root.
    pub fn ancestors(&self) -> Vec<Self> {
        let ends = self.0.match_indices('/').map(|(at, _)| at);
        let mut all: Vec<Self> = ends.map(|at| Self(self.0[..at].to_owned())).collect();
        if !self.is_root() {
            all.push(self.clone());
        }
        all
    }

    /// Returns the last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Returns the path with every segment encoded as in an address.
    pub(crate) fn encoded(&self) -> String {
        self.href("").trim_start_matches('/').to_owned()
    }

    /// Parses the form of [`Self::encoded`].
    pub(crate) fn decode(text: &str) -> Option<Self> {
        percent_decode_str(text).decode_utf8().ok()?.parse().ok()
    }

    pub(super) fn href(&self, prefix: &str) -> String {
        let mut href = prefix.to_owned();
        if self.is_root() {
            return href;
        }
        for segment in self.0.split('/') {
            href.push('/');
            href.push_str(&encode_segment(segment));
        }
        href
    }
}

impl FromStr for RepoPath {
    type Err = RepoPathError;

    fn from_str(text: &str) -> Result<Self, RepoPathError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        Self::from_segments(&text.split('/').collect::<Vec<_>>())
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Encodes one segment of an address.
pub(crate) fn encode_segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}
