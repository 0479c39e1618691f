//! Read access to the files of one version of a repository.

use std::sync::Arc;

/// Files by path. Paths are relative to the repository root and use `/`, as anchors spell them.
pub trait FileTree {
    /// Returns the paths of all tracked files, sorted.
    fn paths(&self) -> Result<Arc<[String]>, FileTreeError>;

    /// Returns the content of a file, or `None` if the file does not exist.
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, FileTreeError>;
}

/// An existing file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{path}`: {why}")]
pub struct FileTreeError {
    pub path: String,
    pub why: String,
}
