//! Entries about a file or folder, and entries that contradict one.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::id::EntryId;
use rusqlite::Connection;

use super::words::spread;
use super::{Wanted, quoted};
use crate::error::IndexError;
use crate::index::Index;
use crate::rows;

/// Entries about one path that are taken; a path with more is a folder too large to say anything.
const PER_PATH: usize = 200;

/// Entries that are looked at for them: most of those whose anchors have the words of a path are about it.
const LOOKED_AT_MAX: usize = 2_000;

/// Returns the row keys of the entries with an anchor in one of `paths`, or at a folder around it.
pub(super) fn entries_at(
    db: &Connection,
    paths: &[String],
    wanted: &Wanted,
) -> Result<BTreeSet<i64>, IndexError> {
    let mut found = BTreeSet::new();
    let query = format!("SELECT rowid FROM texts WHERE texts MATCH ?1 LIMIT {LOOKED_AT_MAX}");
    let mut statement = db.prepare_cached(&query)?;
    for path in paths {
        let mut taken = 0;
        for place in around(path) {
            // The words of the path in a row: nearly right, and then looked at.
            let phrase = format!("places : {}", quoted(&spread(place)));
            let keys = statement.query_map([phrase], |row| row.get(0))?;
            for key in keys.collect::<Result<Vec<i64>, _>>()? {
                if PER_PATH <= taken {
                    break;
                }
                if wanted.has(key) && is_about(db, key, path)? && found.insert(key) {
                    taken += 1;
                }
            }
        }
    }
    Ok(found)
}

/// Returns `path` and the folders around it, the nearest first.
fn around(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_end_matches('/');
    let places = std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0));
    places.filter(|place| !spread(place).is_empty())
}

fn is_about(db: &Connection, key: i64, path: &str) -> Result<bool, IndexError> {
    let content = rows::entry_at(db, key)?.and_then(|entry| entry.content);
    let mut anchors = content.iter().flat_map(|content| &content.evidence);
    Ok(anchors.any(|anchor| anchor.at.covers(path)))
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
