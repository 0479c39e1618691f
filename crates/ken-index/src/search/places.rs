//! Entries about a file or folder, and entries that contradict one.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::id::EntryId;
use rusqlite::Connection;

use super::Wanted;
use crate::error::IndexError;
use crate::grounds::keys_at;
use crate::index::Index;

/// Entries about one path that are taken; a path with more is a folder too large to say anything.
const PER_PATH: usize = 200;

/// Returns the row keys of the entries with an anchor in one of `paths`, or at a folder around it.
pub(super) fn entries_at(
    db: &Connection,
    paths: &[String],
    wanted: &Wanted,
) -> Result<BTreeSet<i64>, IndexError> {
    let mut found = BTreeSet::new();
    for path in paths {
        let keys = keys_at(db, path, PER_PATH)?;
        found.extend(
            keys.into_iter()
                .filter(|key| wanted.has(*key))
                .take(PER_PATH),
        );
    }
    Ok(found)
}

impl Index {
    /// Returns the entries that are linked as contradicting one of `ids`, either way, by that one.
    pub fn contradicting(
        &self,
        ids: impl IntoIterator<Item = EntryId>,
    ) -> Result<BTreeMap<EntryId, BTreeSet<EntryId>>, IndexError> {
        self.checked(|db| {
            let one_view = db.unchecked_transaction()?;
            let mut found = BTreeMap::new();
            for id in ids {
                let against = contradicting(&one_view, id)?;
                if !against.is_empty() {
                    found.insert(id, against);
                }
            }
            Ok(found)
        })
    }
}

fn contradicting(db: &Connection, id: EntryId) -> Result<BTreeSet<EntryId>, IndexError> {
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
