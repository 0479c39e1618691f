//! Queries that return several entries.

use std::borrow::Cow;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use rusqlite::types::Value;
use rusqlite::{Connection, Params, params, params_from_iter};

use crate::error::IndexError;

/// Maximum number of matches for an ambiguous id prefix.
const CANDIDATES_MAX: i64 = 20;

/// Sorts after every character of an id, an alias or a tag.
const LAST_CHAR: char = '\u{10ffff}';

/// Returns the entry ids a query selects.
pub(crate) fn select_ids(
    db: &Connection,
    query: &str,
    parameters: impl Params,
) -> Result<Vec<EntryId>, IndexError> {
    let mut statement = db.prepare_cached(query)?;
    let mut rows = statement.query(parameters)?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().map_err(IndexError::damaged)?;
        ids.push(text.parse().map_err(IndexError::damaged)?);
    }
    Ok(ids)
}

/// Returns the entries whose JSON a query selects.
pub(crate) fn select_entries(
    db: &Connection,
    query: &str,
    parameters: impl Params,
) -> Result<Vec<Entry>, IndexError> {
    let mut entries = Vec::new();
    visit_entries(db, query, parameters, &mut |entry| entries.push(entry))?;
    Ok(entries)
}

/// Calls `each` with the entries whose JSON a query selects.
fn visit_entries(
    db: &Connection,
    query: &str,
    parameters: impl Params,
    each: &mut dyn FnMut(Entry),
) -> Result<(), IndexError> {
    let mut statement = db.prepare_cached(query)?;
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        let json = row.get_ref(0)?.as_str().map_err(IndexError::damaged)?;
        each(crate::rows::parse_entry(json)?);
    }
    Ok(())
}

/// Returns the entries whose id starts with `beginning`, with or without its letter, or whose alias
/// equals it.
///
/// A complete id matches only that entry, even if an alias equals it.
pub(crate) fn find_by_prefix(db: &Connection, beginning: &str) -> Result<Vec<EntryId>, IndexError> {
    if beginning.is_empty() {
        return Ok(Vec::new());
    }
    let tail = beginning.to_lowercase();
    let id = match tail.split_once('-') {
        Some((letter, rest)) => format!("{}-{rest}", letter.to_uppercase()),
        None => tail.to_uppercase(),
    };
    if id.parse::<EntryId>().is_ok() {
        let exact = select_ids(db, "SELECT id FROM entries WHERE id = ?1", [&id])?;
        if !exact.is_empty() {
            return Ok(exact);
        }
    }
    let query = "SELECT id FROM entries WHERE id >= ?1 AND id < ?2
         UNION SELECT id FROM entries WHERE tail >= ?3 AND tail < ?4
         UNION SELECT id FROM entries WHERE alias = ?5
         ORDER BY 1 LIMIT ?6";
    let ends = [format!("{id}{LAST_CHAR}"), format!("{tail}{LAST_CHAR}")];
    select_ids(
        db,
        query,
        params![id, ends[0], tail, ends[1], beginning, CANDIDATES_MAX],
    )
}

/// Returns the entries that pass `filter`, newest first.
pub(crate) fn list_entries(
    db: &Connection,
    filter: &EntryFilter,
) -> Result<Vec<Entry>, IndexError> {
    let mut entries = Vec::new();
    for_each_entry(db, filter, &mut |entry| entries.push(entry))?;
    Ok(entries)
}

/// Calls `each` with the entries that pass `filter`, newest first.
pub(crate) fn for_each_entry(
    db: &Connection,
    filter: &EntryFilter,
    each: &mut dyn FnMut(Entry),
) -> Result<(), IndexError> {
    let (condition, mut values) = where_clause(filter);
    let limit = filter.limit.and_then(|limit| i64::try_from(limit).ok());
    values.push(Value::Integer(limit.unwrap_or(-1)));
    let query = format!(
        "SELECT json FROM entries WHERE {condition} ORDER BY created DESC, id DESC LIMIT ?"
    );
    visit_entries(db, &query, params_from_iter(values), each)
}

/// Selects the entries with a tag or a tag below it. `0` follows `/` in ASCII, so the range from
/// `auth/` to `auth0` covers everything below `auth`.
const UNDER_TAG: &str = "SELECT entry FROM tags WHERE tag = ? UNION
                         SELECT entry FROM tags WHERE tag >= ? AND tag < ?";

/// Returns the SQL condition on `entries` for `filter` without its limit, and the values for each
/// `?`.
pub(crate) fn where_clause(filter: &EntryFilter) -> (String, Vec<Value>) {
    let mut wanted: Vec<Cow<'static, str>> = vec!["worded = 1".into()];
    let mut values: Vec<Value> = Vec::new();
    let shelf = match filter.lifecycle {
        LifecycleFilter::Live => Some("live = 1"),
        LifecycleFilter::Archived => Some("archived = 1"),
        LifecycleFilter::Retracted => Some("retracted = 1"),
        LifecycleFilter::All => None,
    };
    // Literals instead of parameters: SQLite uses the partial index of norms, which are few and
    // queried often, only for a constant condition.
    let memory = filter.memory.map(|memory| match memory {
        Memory::Semantic => "memory = 'semantic'",
        Memory::Procedural => "memory = 'procedural'",
        Memory::Episodic => "memory = 'episodic'",
    });
    wanted.extend(shelf.into_iter().chain(memory).map(Cow::from));
    let columns = [
        filter.kind.map(|kind| ("kind = ?", kind.name().to_owned())),
        filter
            .status
            .map(|status| ("status = ?", status.name().to_owned())),
        filter
            .lens
            .as_ref()
            .map(|lens| ("lens = ?", lens.to_string())),
    ];
    for (condition, value) in columns.into_iter().flatten() {
        wanted.push(condition.into());
        values.push(Value::Text(value));
    }
    if !filter.kinds.is_empty() {
        let any = vec!["?"; filter.kinds.len()].join(", ");
        wanted.push(format!("kind IN ({any})").into());
        let names = filter.kinds.iter().map(|kind| kind.name().to_owned());
        values.extend(names.map(Value::Text));
    }
    for tags in [filter.tag.as_slice(), &filter.tags] {
        if tags.is_empty() {
            continue;
        }
        let any = vec![UNDER_TAG; tags.len()].join(" UNION ");
        wanted.push(format!("key IN ({any})").into());
        for tag in tags {
            values.extend(["", "/", "0"].map(|end| Value::Text(format!("{tag}{end}"))));
        }
    }
    (wanted.join(" AND "), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_found_by_their_own_index_however_many_lessons_there_are() {
        let index = crate::Index::open_in_memory().unwrap();
        let (condition, values) = where_clause(&EntryFilter {
            memory: Some(Memory::Procedural),
            ..EntryFilter::default()
        });
        let query = format!(
            "EXPLAIN QUERY PLAN SELECT json FROM entries WHERE {condition}
             ORDER BY created DESC, id DESC LIMIT -1"
        );
        let plan = index.checked(|db| {
            let mut statement = db.prepare(&query)?;
            let steps = statement.query_map(params_from_iter(values), |row| row.get(3))?;
            Ok(steps.collect::<Result<Vec<String>, _>>()?)
        });
        let plan = plan.unwrap().join("\n");
        assert!(plan.contains("entries_procedural"), "{plan}");
    }
}
