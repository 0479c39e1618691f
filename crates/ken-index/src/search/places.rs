//! Entries about a file or folder, and entries that contradict one.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::id::EntryId;
use rusqlite::Connection;

use super::words::spread;
use super::{Wanted, quoted};
use crate::error::IndexError;
use crate::index::Index;
use crate::rows;

/// Entries looked at for one path; a path with more is a folder too large to say anything.
const PER_PATH: usize = 200;

/// Returns the row keys of the entries with an anchor in one of `paths`.
pub(super) fn entries_at(
    db: &Connection,
    paths: &[String],
    wanted: &Wanted,
) -> Result<BTreeSet<i64>, IndexError> {
    let mut found = BTreeSet::new();
    let query = format!("SELECT rowid FROM texts WHERE texts MATCH ?1 LIMIT {PER_PATH}");
    let mut statement = db.prepare_cached(&query)?;
    for path in paths {
        let words = spread(path);
        if words.is_empty() {
            continue;
        }
        // The words of the path in a row: nearly right, and then looked at.
        let phrase = format!("places : {}", quoted(&words));
        let keys = statement.query_map([phrase], |row| row.get(0))?;
        for key in keys.collect::<Result<Vec<i64>, _>>()? {
            let content = rows::entry_at(db, key)?.and_then(|entry| entry.content);
            let mut anchors = content.iter().flat_map(|content| &content.evidence);
            if wanted.has(key) && anchors.any(|anchor| anchor.at.covers(path)) {
                found.insert(key);
            }
        }
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
