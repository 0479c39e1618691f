//! Verification in a bare repository: both the ledger and the code are read from a commit.

use std::path::Path;
use std::sync::Arc;

use ken_anchor::FileTree as _;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::store::{DerivedStore as _, EventDelta};
use ken_core::values::time::Timestamp;
use ken_index::Index;
use ken_ledger::layout::{KEN_DIR, SegmentName};
use ken_ledger::{GitDirs, LedgerLocation, pack, segment};

use super::code_version::CommitTree;
use super::ledger_diff::ChangeOrigin;
use super::range::ChangeRange;
use crate::error::EngineError;
use crate::guard::Guard;
use crate::verify::{VerifyOutcome, verify_change};

/// Returns true if `folder` is a bare repository.
pub fn is_bare_repository(folder: &Path) -> bool {
    let has_head = folder.join("HEAD").is_file();
    has_head && folder.join("objects").is_dir() && !folder.join(".git").exists()
}

/// Verifies the entries at `head` that the change from `base` to `head` affects.
pub fn verify_bare_repository(
    folder: &Path,
    (base, head): (Option<&str>, &str),
    from: ChangeOrigin,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<VerifyOutcome, EngineError> {
    let place = LedgerLocation {
        root: folder.to_owned(),
        git: Some(GitDirs {
            git_dir: folder.to_owned(),
            common_dir: folder.to_owned(),
            named_by_environment: false,
        }),
    };
    let head = Arc::new(CommitTree::from_revision(&place, head)?);
    let mut index = index_at_commit(&head, KEN_DIR)?;
    let range = ChangeRange::compare(&place, base, Some(head))?;
    // A server has no user configuration; the built-in rules are the same for every push.
    let guard = Guard::default();
    verify_change(&mut index, (&range, from), &guard, now, progress)
}

/// Builds an in-memory index from a commit's segments below `folder`.
pub(super) fn index_at_commit(tree: &CommitTree, folder: &str) -> Result<Index, EngineError> {
    let mut added: Vec<RecordedEvent> = Vec::new();
    for path in tree.list_below(folder)? {
        // Entry files and configuration are also below the folder.
        let Ok(name) = SegmentName::from_tree_path(&path) else {
            continue;
        };
        let Some(bytes) = tree.read(&path)? else {
            continue;
        };
        let damaged = |why: String| EngineError::Usage(format!("cannot read `{path}`: {why}"));
        let lines =
            pack::decode_lines(name.form(), &bytes).map_err(|error| damaged(error.to_string()))?;
        let read = segment::read_segment(&path, &lines);
        added.extend(read.map_err(|error| damaged(error.to_string()))?.events);
    }
    let mut index = Index::open_in_memory()?;
    index.apply(EventDelta {
        added: &added,
        ..EventDelta::default()
    })?;
    Ok(index)
}
