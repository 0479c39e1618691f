//! The real git of one worktree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::disk::Stat;
use crate::git::{GitError, GitView};
use crate::place::GitDirs;

/// A worktree on disk and the `git` program.
#[derive(Debug)]
pub struct RealGit {
    root: PathBuf,
    dirs: GitDirs,
}

impl RealGit {
    /// Looks at the worktree whose top is `root`.
    pub fn new(root: &Path, dirs: &GitDirs) -> Self {
        Self {
            root: root.to_owned(),
            dirs: dirs.clone(),
        }
    }
}

impl GitView for RealGit {
    fn worktree(&self) -> String {
        unimplemented!("next commit")
    }

    fn head_token(&self) -> String {
        unimplemented!("next commit")
    }

    fn branch(&self) -> String {
        unimplemented!("next commit")
    }

    fn index_stat(&self) -> Option<Stat> {
        unimplemented!("next commit")
    }

    fn index_paths(&self) -> Result<BTreeSet<String>, GitError> {
        unimplemented!("next commit")
    }
}
