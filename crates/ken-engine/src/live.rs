//! State that tells whether something a live page shows may have changed.
//!
//! Two states are compared by the caller, for example twice per second. Computing one reads
//! metadata only: no file content, no git process and no index.

use std::collections::{BTreeMap, BTreeSet};

use ken_index::FileStat;
use ken_ledger::{Dir as _, DiskError};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::health;
use crate::overlays::OVERLAYS_FILE;
use crate::runs::store::RunStore;
use crate::validity::WorkTree;

/// Maximum number of files a caller can watch.
pub const WATCHED_FILES_MAX: usize = 256;

/// Metadata of the ledger, of open runs and of watched files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveState {
    /// Hash of the names and lengths of the segments.
    ledger: String,
    /// The file with the overlays of this clone.
    overlays: Option<FileStat>,
    /// The notes of each open run.
    runs: BTreeMap<String, FileStat>,
    /// The watched files; `None` for a file that does not exist.
    files: BTreeMap<String, Option<FileStat>>,
}

/// The difference between two states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveChanges {
    /// Set if entries may have changed.
    pub entries: bool,
    /// Runs that were opened, continued or ended.
    pub runs: BTreeSet<String>,
    /// Watched files that were saved, created or deleted.
    pub files: BTreeSet<String>,
}

impl LiveState {
    /// Returns what changed since `before`. A file or run that only one state watches is new.
    pub fn changes_since(&self, before: &Self) -> LiveChanges {
        LiveChanges {
            entries: self.ledger != before.ledger || self.overlays != before.overlays,
            runs: differing_keys(&self.runs, &before.runs),
            files: differing_keys(&self.files, &before.files),
        }
    }
}

impl LiveChanges {
    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.entries && self.runs.is_empty() && self.files.is_empty()
    }
}

fn differing_keys<V: PartialEq>(
    one: &BTreeMap<String, V>,
    other: &BTreeMap<String, V>,
) -> BTreeSet<String> {
    let keys = one.keys().chain(other.keys());
    let differs = |key: &&String| one.get(*key) != other.get(*key);
    keys.filter(differs).cloned().collect()
}

/// Returns the current state, with the metadata of `watched` files.
pub(crate) fn live_state(
    engine: &Engine,
    watched: &BTreeSet<String>,
) -> Result<LiveState, EngineError> {
    if watched.len() > WATCHED_FILES_MAX {
        return Err(EngineError::Usage(format!(
            "{} files are too many to watch; at most {WATCHED_FILES_MAX} are possible",
            watched.len()
        )));
    }
    let tree = WorkTree::new(&engine.place)?;
    let mut files = BTreeMap::new();
    for path in watched {
        files.insert(path.clone(), tree.stat(path)?);
    }
    let overlays = engine.ken.stat(OVERLAYS_FILE);
    let overlays = overlays.map_err(DiskError::on("read the metadata of", OVERLAYS_FILE))?;
    Ok(LiveState {
        ledger: health::report::ledger_state(engine)?,
        overlays: overlays.map(|stat| FileStat {
            len: stat.len,
            modified_ns: stat.modified_ns,
            inode: stat.inode,
        }),
        runs: RunStore::new(&engine.place)?.open_stats()?,
        files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_differs_if_its_value_does_or_one_side_lacks_it() {
        let map = |pairs: &[(&str, u8)]| -> BTreeMap<String, u8> {
            let pairs = pairs.iter();
            pairs
                .map(|(key, value)| ((*key).to_owned(), *value))
                .collect()
        };
        let (one, other) = (
            map(&[("a", 1), ("b", 1), ("c", 1)]),
            map(&[("b", 2), ("c", 1), ("d", 1)]),
        );
        let found = differing_keys(&one, &other);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "b", "d"]);
        assert!(differing_keys(&one, &one).is_empty());
    }
}
