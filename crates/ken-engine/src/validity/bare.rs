//! The gate on a bare repository: knowledge and code both come from a commit, nothing is checked out.

use std::path::Path;
use std::sync::Arc;

use ken_anchor::Tree as _;
use ken_core::event::Recorded;
use ken_core::store::{Delta, Store as _};
use ken_core::time::Timestamp;
use ken_index::Index;
use ken_ledger::layout::{KEN_DIR, SegmentName};
use ken_ledger::{GitDirs, Place, pack, segment};

use super::brought::From;
use super::range::Range;
use super::tree::CommitTree;
use crate::error::Error;
use crate::guard::Guard;
use crate::verify::{Verified, verify_change};

/// Returns whether `folder` is a bare repository.
pub fn is_bare(folder: &Path) -> bool {
    let file = folder.join("HEAD").is_file();
    file && folder.join("objects").is_dir() && !folder.join(".git").exists()
}

/// Checks what the change from `base` to `head` does to the knowledge `head` has.
pub fn verify_bare(
    folder: &Path,
    (base, head): (&str, &str),
    from: From,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Verified, Error> {
    let place = Place {
        root: folder.to_owned(),
        git: Some(GitDirs {
            git_dir: folder.to_owned(),
            common_dir: folder.to_owned(),
            named_by_environment: false,
        }),
    };
    let head = Arc::new(CommitTree::named(&place, head)?);
    let mut index = known_at(&head, KEN_DIR)?;
    let range = Range::of(&place, base, Some(head))?;
    let guard = Guard::default();
    verify_change(&mut index, (&range, from), &guard, now, progress)
}

/// Returns what a commit's ledger says below `folder`.
pub(super) fn known_at(tree: &CommitTree, folder: &str) -> Result<Index, Error> {
    let mut added: Vec<Recorded> = Vec::new();
    for path in tree.below(folder)? {
        let Ok(name) = SegmentName::from_tree_path(&path) else {
            continue;
        };
        let Some(bytes) = tree.read(&path)? else {
            continue;
        };
        let damaged = |why: String| Error::Usage(format!("cannot read `{path}`: {why}"));
        let lines = pack::lines(name.form(), &bytes);
        let lines = lines.map_err(|error| damaged(error.to_string()))?;
        let read = segment::read_segment(&path, &lines);
        added.extend(read.map_err(|error| damaged(error.to_string()))?.events);
    }
    let mut index = Index::open_in_memory()?;
    index.apply(Delta {
        added: &added,
        ..Delta::default()
    })?;
    Ok(index)
}
