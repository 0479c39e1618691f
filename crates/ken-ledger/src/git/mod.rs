//! The port to git ([`GitView`]) and its real implementation.
//!
//! Most queries need only the metadata or content of two or three small files ([`real`]). The `git`
//! program runs only if those do not suffice (`run.rs`). Simulated disks provide their own
//! [`GitView`]; operations they do not support return `GitError::Unsupported`.

mod objects;
pub mod real;
mod run;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Dir, Stat};

pub use objects::{CatFileMode, GitObject, GitObjectReader};
pub use real::RealGit;
pub use run::GitRunner;

/// One worktree of a repository. Paths are relative to the top of the worktree.
pub trait GitView: fmt::Debug + Send + Sync {
    /// Returns the name of this worktree within its repository.
    fn worktree(&self) -> String;

    /// Returns a token that changes whenever HEAD, its reflog or the stash changes.
    ///
    /// It may change more often: sealing a segment too early is harmless, sealing it too late is
    /// not.
    fn head_token(&self) -> String;

    /// Returns the full name of the branch, or `detached_name:` and the start of the commit id.
    fn branch(&self) -> String;

    /// Returns the metadata of the index file, `None` if there is none.
    fn index_stat(&self) -> Option<Stat>;

    /// Returns the paths below `.ken` in the index.
    fn index_paths(&self) -> Result<BTreeSet<String>, GitError>;

    /// Returns the git operation in progress, if any.
    fn operation_under_way(&self) -> Option<GitOperation> {
        None
    }

    /// Returns the paths below `.ken` in HEAD's commit; none before the first commit.
    fn head_paths(&self) -> Result<BTreeSet<String>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the content of a file in HEAD's commit.
    fn head_file(&self, _path: &str) -> Result<Option<Vec<u8>>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the paths below `.ken` that differ between worktree, index and HEAD.
    fn changed_paths(&self) -> Result<BTreeSet<String>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Adds and removes files in the index.
    fn stage(&self, _change: &TreeChange<'_>) -> Result<(), GitError> {
        Err(GitError::NotOffered)
    }

    /// Commits exactly these paths as they are in the worktree.
    fn commit_only(&self, _change: &TreeChange<'_>) -> Result<(), GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the number of commits on any ref that touch one of `paths`.
    fn commits_touching(&self, _paths: &[String]) -> Result<u64, GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the full names of all branches.
    fn branches(&self) -> Result<BTreeSet<String>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Calls `visit` with the path and content of every version of every file below `.ken` that is
    /// reachable from any ref, stash or worktree HEAD. Objects missing from this clone are skipped.
    fn each_reachable_file(&self, _visit: &mut dyn FnMut(&str, &[u8])) -> Result<(), GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the `.ken` directories of the repository's other worktrees.
    fn other_ledgers(&self) -> Result<Vec<Arc<dyn Dir>>, GitError> {
        Err(GitError::NotOffered)
    }
}

/// Files to add and remove in one commit.
#[derive(Clone, Copy, Debug)]
pub struct TreeChange<'a> {
    pub added: &'a [String],
    pub removed: &'a [String],
    pub message: &'a str,
}

/// A git operation in progress, during which Ken must not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitOperation {
    Merge,
    CherryPick,
    Revert,
    Rebase,
    ApplyMailbox,
    Sequence,
    /// Another git process holds the index lock, or crashed while holding it.
    IndexLocked,
}

/// Failure of a git query.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot run `git {command}`")]
    Run { command: String, source: io::Error },
    #[error("`git {command}` failed: {message}")]
    Failed { command: String, message: String },
    #[error("`git {command}` gave unexpected output")]
    Answer { command: String },
    #[error("this git backend does not support the operation")]
    NotOffered,
}

impl fmt::Display for GitOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "a merge is in progress",
            Self::CherryPick => "a cherry-pick is in progress",
            Self::Revert => "a revert is in progress",
            Self::Rebase => "a rebase is in progress",
            Self::ApplyMailbox => "`git am` or a rebase is in progress",
            Self::Sequence => "a sequence of cherry-picks or reverts is in progress",
            Self::IndexLocked => "the index is locked by another git process",
        })
    }
}

/// Returns the operation in progress in the worktree that `git_dir` belongs to.
///
/// A bisection does not count: it moves HEAD but leaves index and worktree to the user.
pub fn operation_in_progress(git_dir: &Path) -> Option<GitOperation> {
    [
        ("MERGE_HEAD", GitOperation::Merge),
        ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
        ("REVERT_HEAD", GitOperation::Revert),
        ("rebase-merge", GitOperation::Rebase),
        ("rebase-apply", GitOperation::ApplyMailbox),
        ("sequencer", GitOperation::Sequence),
        ("index.lock", GitOperation::IndexLocked),
    ]
    .into_iter()
    .find_map(|(file, operation)| git_dir.join(file).exists().then_some(operation))
    .or_else(|| operation_in_reftable(git_dir))
}

/// Detects a stopped cherry-pick or revert in a reftable repository, where neither leaves a file of
/// its own, only its message.
fn operation_in_reftable(git_dir: &Path) -> Option<GitOperation> {
    // Checked first, because the lookup of a ref starts a git process.
    if !git_dir.join("reftable").exists() || !git_dir.join("MERGE_MSG").exists() {
        return None;
    }
    [
        ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
        ("REVERT_HEAD", GitOperation::Revert),
    ]
    .into_iter()
    .find_map(|(name, operation)| run::has_ref(git_dir, name).then_some(operation))
}
