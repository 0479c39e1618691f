//! Lookup of entries by anchor path, and of entries linked as contradicting.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::id::EntryId;
use rusqlite::Connection;

use super::KeyFilter;
use crate::error::IndexError;
use crate::grounds::entry_keys_at;
use crate::index::Index;

/// Maximum number of entries per path; a directory with more is too broad to be a signal.
const ENTRIES_PER_PATH_MAX: usize = 200;

/// Returns the row keys of the entries with an anchor in one of `paths` or at a parent directory.
pub(super) fn entry_keys_anchored_at(
    db: &Connection,
    paths: &[String],
    wanted: &KeyFilter,
) -> Result<BTreeSet<i64>, IndexError> {
    let mut found = BTreeSet::new();
    for path in paths {
        let keys = entry_keys_at(db, path, ENTRIES_PER_PATH_MAX)?;
        found.extend(
            keys.into_iter()
                .filter(|key| wanted.has(*key))
                .take(ENTRIES_PER_PATH_MAX),
        );
    }
    Ok(found)
}

impl Index {
    /// Returns, for each of `ids`, the entries linked with it as contradicting, in either
    /// direction.
    pub fn contradicting(
        &self,
        ids: impl IntoIterator<Item = EntryId>,
    ) -> Result<BTreeMap<EntryId, BTreeSet<EntryId>>, IndexError> {
        self.checked(|db| {
            let one_view = db.unchecked_transaction()?;
            let mut found = BTreeMap::new();
            for id in ids {
                let against = load_contradicting(&one_view, id)?;
                if !against.is_empty() {
                    found.insert(id, against);
                }
            }
            Ok(found)
        })
    }
}

fn load_contradicting(db: &Connection, id: EntryId) -> Result<BTreeSet<EntryId>, IndexError> {
    let mut statement = db.prepare_cached(
        "SELECT entries.id FROM links JOIN entries ON entries.key = links.entry
         WHERE links.rel = 'contradicts' AND links.target = ?1
         UNION
         SELECT links.target FROM links JOIN entries ON entries.key = links.entry
         WHERE links.rel = 'contradicts' AND entries.id = ?1",
    )?;
    let ids = statement.query_map([id.to_string()], |row| row.get::<_, String>(0))?;
    let mut found = BTreeSet::new();
    for id in ids {
        found.insert(id?.parse().map_err(IndexError::damaged)?);
    }
    Ok(found)
}
