//! What entries rest on, the other way round: from a path or a condition to the entries.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::entry::Entry;
use ken_core::id::EntryId;
use rusqlite::{Connection, params};

use crate::error::IndexError;
use crate::index::Index;

/// What a row of `grounds` holds.
const PATH: i64 = 0;
const CONDITION: i64 = 1;

/// Sorts behind `/` and before every character a name may go on with: `a/` to `a0` is all of folder `a`.
const BEHIND_SLASH: char = '0';

/// What one entry rests on.
#[derive(Debug, Default)]
pub(crate) struct Grounds {
    paths: BTreeSet<String>,
    conditions: BTreeSet<String>,
}

impl Grounds {
    pub(crate) fn of(entry: &Entry) -> Self {
        let Some(content) = entry.content.as_ref().filter(|_| entry.is_live()) else {
            return Self::default();
        };
        let paths = content.evidence.iter();
        Self {
            paths: paths.map(|anchor| anchor.at.path().to_owned()).collect(),
            conditions: content.depends_on.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) fn write(&self, db: &Connection, entry: i64) -> Result<(), IndexError> {
        let mut insert = db.prepare_cached("INSERT INTO grounds VALUES (?1, ?2, ?3)")?;
        for path in &self.paths {
            insert.execute(params![entry, PATH, path])?;
        }
        for condition in &self.conditions {
            insert.execute(params![entry, CONDITION, condition])?;
        }
        Ok(())
    }
}

/// Returns the row keys of live entries with an anchor at `path`, below it, or at a folder around it.
pub(crate) fn keys_at(db: &Connection, path: &str, limit: usize) -> Result<Vec<i64>, IndexError> {
    let path = path.trim_end_matches('/');
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    let query = "SELECT entry FROM grounds WHERE kind = ?1 AND at = ?2 ORDER BY entry LIMIT ?3";
    let mut exact = db.prepare_cached(query)?;
    for place in around(path) {
        let keys = exact.query_map(params![PATH, place, limit], |row| row.get(0))?;
        found.extend(keys.collect::<Result<Vec<i64>, _>>()?);
    }
    let query = "SELECT entry FROM grounds WHERE kind = ?1 AND at > ?2 AND at < ?3 LIMIT ?4";
    let mut below = db.prepare_cached(query)?;
    let (first, last) = (format!("{path}/"), format!("{path}{BEHIND_SLASH}"));
    let keys = below.query_map(params![PATH, first, last, limit], |row| row.get(0))?;
    found.extend(keys.collect::<Result<Vec<i64>, _>>()?);
    Ok(found)
}

/// Returns `path` and the folders around it, the nearest first.
fn around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0))
}

impl Index {
    /// Returns the live entries with an anchor at one of `paths`, below it, or at a folder around it.
    pub fn anchored_at(&self, paths: &[String]) -> Result<BTreeSet<EntryId>, IndexError> {
        self.checked(|db| {
            let one_view = db.unchecked_transaction()?;
            let mut found = BTreeSet::new();
            let mut id = one_view.prepare_cached("SELECT id FROM entries WHERE key = ?1")?;
            for path in paths {
                for key in keys_at(&one_view, path, usize::MAX)? {
                    let id: String = id.query_row([key], |row| row.get(0))?;
                    found.insert(id.parse().map_err(IndexError::damaged)?);
                }
            }
            drop(id);
            Ok(found)
        })
    }

    /// Returns every condition live entries rest on, with those entries.
    pub fn conditions(&self) -> Result<BTreeMap<String, Vec<EntryId>>, IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached(
                "SELECT at, id FROM grounds JOIN entries ON entries.key = grounds.entry
                 WHERE grounds.kind = ?1 ORDER BY at, id",
            )?;
            let mut rows = statement.query([CONDITION])?;
            let mut found: BTreeMap<String, Vec<EntryId>> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let id: String = row.get(1)?;
                let id = id.parse().map_err(IndexError::damaged)?;
                found.entry(row.get(0)?).or_default().push(id);
            }
            Ok(found)
        })
    }
}
