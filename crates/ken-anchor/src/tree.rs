//! The files of one version of a repository, whoever holds them.

use std::sync::Arc;

/// Files by path: relative to the repository's root, with `/`, as anchors spell them.
pub trait Tree {
    /// Returns the paths of all tracked files, sorted.
    fn paths(&self) -> Result<Arc<[String]>, TreeError>;

    /// Returns what a file holds, if it is there.
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError>;
}

/// A file that cannot be read, though it is there.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{path}`: {why}")]
pub struct TreeError {
    pub path: String,
    pub why: String,
}
