//! Reverse index from anchor paths, conditions and links to entries.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::values::id::EntryId;
use rusqlite::{Connection, params};

use crate::error::IndexError;
use crate::index::Index;
use crate::listing::select_ids;

/// Kinds of rows in the table `grounds`.
const KIND_PATH: i64 = 0;
const KIND_CONDITION: i64 = 1;

/// The character after `/`: the range from `a/` to `a0` covers everything below directory `a`.
const AFTER_SLASH: char = '0';

/// Anchor paths and conditions of one entry.
#[derive(Debug, Default)]
pub(crate) struct ReverseIndexRows {
    paths: BTreeSet<String>,
    conditions: BTreeSet<String>,
}

impl ReverseIndexRows {
    pub(crate) fn of(entry: &Entry) -> Self {
        // Archived and retracted entries are neither verified nor found by path.
        let Some(content) = entry.content.as_ref().filter(|_| entry.is_live()) else {
            return Self::default();
        };
        let paths = content.anchors.iter();
        Self {
            paths: paths.map(|anchor| anchor.at.path().to_owned()).collect(),
            conditions: content.depends_on.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) fn write(&self, db: &Connection, entry: i64) -> Result<(), IndexError> {
        let mut insert = db.prepare_cached("INSERT INTO grounds VALUES (?1, ?2, ?3)")?;
        for path in &self.paths {
            insert.execute(params![entry, KIND_PATH, path])?;
        }
        for condition in &self.conditions {
            insert.execute(params![entry, KIND_CONDITION, condition])?;
        }
        Ok(())
    }
}

/// Returns the row keys of live entries with an anchor at `path`, below it, or at a parent
/// directory.
pub(crate) fn entry_keys_at(
    db: &Connection,
    path: &str,
    limit: usize,
) -> Result<Vec<i64>, IndexError> {
    let path = path.trim_end_matches('/');
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    let query = "SELECT entry FROM grounds WHERE kind = ?1 AND at = ?2 ORDER BY entry LIMIT ?3";
    let mut exact = db.prepare_cached(query)?;
    for place in self_and_parents(path) {
        let keys = exact.query_map(params![KIND_PATH, place, limit], |row| row.get(0))?;
        found.extend(keys.collect::<Result<Vec<i64>, _>>()?);
    }
    // A range instead of LIKE, so that the index applies and `%` in paths has no meaning.
    let query = "SELECT entry FROM grounds WHERE kind = ?1 AND at > ?2 AND at < ?3 LIMIT ?4";
    let mut below = db.prepare_cached(query)?;
    let (first, last) = (format!("{path}/"), format!("{path}{AFTER_SLASH}"));
    let keys = below.query_map(params![KIND_PATH, first, last, limit], |row| row.get(0))?;
    found.extend(keys.collect::<Result<Vec<i64>, _>>()?);
    Ok(found)
}

/// Returns `path` and its parent directories, nearest first.
fn self_and_parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0))
}

impl Index {
    /// Returns the live entries with an anchor at one of `paths`, below it, or at a parent
    /// directory.
    pub fn entries_anchored_at(&self, paths: &[String]) -> Result<BTreeSet<EntryId>, IndexError> {
        self.checked(|db| {
            let one_view = db.unchecked_transaction()?;
            let mut found = BTreeSet::new();
            let mut id = one_view.prepare_cached("SELECT id FROM entries WHERE key = ?1")?;
            for path in paths {
                for key in entry_keys_at(&one_view, path, usize::MAX)? {
                    let id: String = id.query_row([key], |row| row.get(0))?;
                    found.insert(id.parse().map_err(IndexError::damaged)?);
                }
            }
            drop(id);
            Ok(found)
        })
    }

    /// Returns the live entries with an anchor at exactly `path`.
    pub fn entries_anchored_exactly(&self, path: &str) -> Result<Vec<EntryId>, IndexError> {
        let query = "SELECT id FROM grounds JOIN entries ON entries.key = grounds.entry
                     WHERE grounds.kind = ?1 AND grounds.at = ?2 ORDER BY id";
        self.checked(|db| select_ids(db, query, params![KIND_PATH, path]))
    }

    /// Returns the children of a folder below which live entries are anchored, with the number of
    /// those entries. The folder is empty or ends with `/`.
    pub fn anchored_children(&self, folder: &str) -> Result<Vec<(String, u32)>, IndexError> {
        let query = "WITH below AS (SELECT entry, substr(at, length(?2) + 1) AS rest FROM grounds
                                    WHERE kind = ?1 AND at > ?2 AND (?3 = '' OR at < ?3))
                     SELECT substr(rest, 1, instr(rest || '/', '/') - 1) AS name,
                            count(DISTINCT entry)
                     FROM below GROUP BY name";
        let last = folder.strip_suffix('/');
        let last = last.map_or_else(String::new, |it| format!("{it}{AFTER_SLASH}"));
        self.checked(|db| {
            let mut statement = db.prepare_cached(query)?;
            let rows = statement.query_map(params![KIND_PATH, folder, last], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the live entries with a link to `id`.
    pub fn entries_linking_to(&self, id: EntryId) -> Result<Vec<EntryId>, IndexError> {
        let query = "SELECT DISTINCT id FROM links JOIN entries ON entries.key = links.entry
                     WHERE links.target = ?1 AND entries.live = 1 ORDER BY id";
        self.checked(|db| select_ids(db, query, [id.to_string()]))
    }

    /// Returns every condition of live entries, with those entries.
    pub fn conditions(&self) -> Result<BTreeMap<String, Vec<EntryId>>, IndexError> {
        self.checked(|db| {
            let mut statement = db.prepare_cached(
                "SELECT at, id FROM grounds JOIN entries ON entries.key = grounds.entry
                 WHERE grounds.kind = ?1 ORDER BY at, id",
            )?;
            let mut rows = statement.query([KIND_CONDITION])?;
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
