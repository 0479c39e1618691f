//! The signers of a repository: `.ken/allowed_signers`.
//!
//! The file is policy, so only the committed version counts: an uncommitted edit adds no signer.

use ken_anchor::FileTree;
use ken_ledger::LedgerLocation;
use ken_ledger::layout::KEN_DIR;
use ken_sign::AllowedSigners;

use crate::error::EngineError;
use crate::validity::{CommitTree, WorkTree};

/// Name of the file below `.ken/`.
pub const SIGNERS_FILE: &str = "allowed_signers";

/// Loads the signers of the last commit, or of the directory outside git; `None` without a file.
pub(crate) fn load_signers_in_force(
    place: &LedgerLocation,
) -> Result<Option<AllowedSigners>, EngineError> {
    if place.git.is_none() {
        return load_signers(&WorkTree::new(place)?);
    }
    match CommitTree::from_revision(place, "HEAD") {
        Ok(tree) => load_signers(&tree),
        // Before the first commit there is no policy.
        Err(EngineError::Usage(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Loads the signers of one version of the files.
pub(crate) fn load_signers(tree: &dyn FileTree) -> Result<Option<AllowedSigners>, EngineError> {
    let read = tree.read(&format!("{KEN_DIR}/{SIGNERS_FILE}"))?;
    Ok(read.map(|bytes| AllowedSigners::parse(&String::from_utf8_lossy(&bytes))))
}
