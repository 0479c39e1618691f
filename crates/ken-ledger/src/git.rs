//! What the ledger wants to know of git, as a port, and the real git behind it.
//!
//! Most questions are answered by the stat or bytes of two or three small files ([`real`]); the
//! `git` program is run only where those cannot answer (`run.rs`). Simulated disks bring their own
//! [`GitView`]; what they do not offer says [`GitError::NotOffered`].

mod objects;
pub mod real;
mod run;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Dir, Stat};

pub use objects::{Ask, Object, Objects};
pub use real::RealGit;
pub use run::Runner;

/// One worktree of a repository, seen from the ledger. Paths are relative to the top of the tree.
pub trait GitView: fmt::Debug + Send + Sync {
    /// Returns the name of this worktree inside its repository.
    fn worktree(&self) -> String;

    /// Returns a text that differs whenever HEAD, its reflog or the stash moved.
    ///
    /// It may differ more often: sealing a segment too early is harmless, too late is not.
    fn head_token(&self) -> String;

    /// Returns the full name of the branch, or `detached:` and the beginning of the commit.
    fn branch(&self) -> String;

    /// Returns what the index looks like from outside, `None` if there is none.
    fn index_stat(&self) -> Option<Stat>;

    /// Returns the paths below `.ken` the index lists.
    fn index_paths(&self) -> Result<BTreeSet<String>, GitError>;

    /// Returns what git is in the middle of, if anything.
    fn operation_under_way(&self) -> Option<Operation> {
        None
    }

    /// Returns the paths below `.ken` that HEAD's commit has; none before the first commit.
    fn head_paths(&self) -> Result<BTreeSet<String>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns a file as HEAD's commit has it.
    fn head_file(&self, _path: &str) -> Result<Option<Vec<u8>>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the paths below `.ken` where tree, index and HEAD are not all the same.
    fn changed_paths(&self) -> Result<BTreeSet<String>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Puts added files into the index and takes removed ones out of it.
    fn stage(&self, _change: &Change<'_>) -> Result<(), GitError> {
        Err(GitError::NotOffered)
    }

    /// Commits exactly these paths as they are in the tree, and nothing else.
    fn commit_only(&self, _change: &Change<'_>) -> Result<(), GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns how many commits of any ref touched one of `paths`.
    fn commits_touching(&self, _paths: &[String]) -> Result<u64, GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the full names of all branches.
    fn branches(&self) -> Result<BTreeSet<String>, GitError> {
        Err(GitError::NotOffered)
    }

    /// Calls `visit` with path and content of every version of every file below `.ken` that any
    /// ref, stash or worktree's HEAD reaches. Objects this clone lacks are left out.
    fn each_reachable_file(&self, _visit: &mut dyn FnMut(&str, &[u8])) -> Result<(), GitError> {
        Err(GitError::NotOffered)
    }

    /// Returns the `.ken` folders of the repository's other worktrees.
    fn other_ledgers(&self) -> Result<Vec<Arc<dyn Dir>>, GitError> {
        Err(GitError::NotOffered)
    }
}

/// A commit to make: files that came, files that went.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub added: &'a [String],
    pub removed: &'a [String],
    pub message: &'a str,
}

/// Something git is in the middle of, during which the tree is not ours to commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Merge,
    CherryPick,
    Revert,
    Rebase,
    ApplyMailbox,
    Sequence,
    /// Another git process holds the index, or died holding it.
    IndexLocked,
}

/// Git could not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot run `git {command}`")]
    Run { command: String, source: io::Error },
    #[error("`git {command}` failed: {message}")]
    Failed { command: String, message: String },
    #[error("`git {command}` answered something Ken does not understand")]
    Answer { command: String },
    #[error("this view of git does not offer that")]
    NotOffered,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "a merge is under way",
            Self::CherryPick => "a cherry-pick is under way",
            Self::Revert => "a revert is under way",
            Self::Rebase => "a rebase is under way",
            Self::ApplyMailbox => "`git am` or a rebase is under way",
            Self::Sequence => "a sequence of cherry-picks or reverts is under way",
            Self::IndexLocked => "the index is locked by another git process",
        })
    }
}

/// Returns what git is in the middle of in the worktree that `git_dir` belongs to.
///
/// A bisection is none: it moves HEAD about but leaves index and tree to the user.
pub fn operation_under_way(git_dir: &Path) -> Option<Operation> {
    [
        ("MERGE_HEAD", Operation::Merge),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
        ("rebase-merge", Operation::Rebase),
        ("rebase-apply", Operation::ApplyMailbox),
        ("sequencer", Operation::Sequence),
        ("index.lock", Operation::IndexLocked),
    ]
    .into_iter()
    .find_map(|(file, operation)| git_dir.join(file).exists().then_some(operation))
    .or_else(|| operation_in_reftable(git_dir))
}

/// With reftables a stopped cherry-pick or revert leaves no file of its own, only its message.
fn operation_in_reftable(git_dir: &Path) -> Option<Operation> {
    if !git_dir.join("reftable").exists() || !git_dir.join("MERGE_MSG").exists() {
        return None;
    }
    [
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
    ]
    .into_iter()
    .find_map(|(name, operation)| run::has_ref(git_dir, name).then_some(operation))
}
