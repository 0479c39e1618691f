//! Keyset pages of entries in several orders, and counts by facet.
//!
//! Each order has an index that also contains the columns of the usual filters, so that a page
//! reads the rows it returns and no others.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::page::{
    EntryPage, EntrySort, FACET_ENTRIES_MAX, FACET_VALUES_MAX, FacetCount, FacetCounts,
    PAGE_ENTRIES_MAX, PageCursor, PageFilter, PageQuery, PageStart,
};
use ken_core::trust::facts::Validity;
use ken_core::values::time::{DAY_MS, Date};
use rusqlite::types::Value;
use rusqlite::{Connection, TransactionBehavior, params, params_from_iter};

use crate::error::IndexError;
use crate::index::Index;
use crate::listing::where_clause;
use crate::rows::{origin_name, parse_entry};

/// A mean confidence of 1 in the column `trust`.
const TRUST_ONE: f64 = 1_000_000.0;

/// The value of the column `trust_day` of an entry whose confidence must be computed.
pub(crate) const TRUST_DUE: i64 = -1;

/// Columns that pages are sorted by, and the authors and origins they are filtered by.
#[derive(Debug)]
pub(crate) struct PageColumns {
    pub(crate) author: Option<String>,
    pub(crate) origin: Option<String>,
    pub(crate) confirmed: i64,
    pub(crate) shown: i64,
    pub(crate) silent: i64,
    pub(crate) trust: i64,
    /// Set if the confidence depends on the day.
    pub(crate) fades: bool,
}

impl PageColumns {
    pub(crate) fn of(entry: &Entry) -> Self {
        let created = entry.created.as_ref();
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        // Without evidence, the posterior is the prior on every day.
        let day = Date::default();
        Self {
            author: created.map(|it| it.by.to_string()),
            origin: created.map(|it| origin_name(it.origin)),
            confirmed: entry.confirmation.last.map_or(0, day_number),
            shown: count(entry.tallies.shown),
            silent: count(entry.exposures_since_confirmation().blind),
            trust: trust_on(entry, day),
            fades: !entry.tallies.days.is_empty(),
        }
    }
}

fn day_number(day: Date) -> i64 {
    i64::try_from(day.start().millis() / DAY_MS).unwrap_or(0)
}

/// Returns the mean confidence in millionths. The code is not checked for a list.
fn trust_on(entry: &Entry, day: Date) -> i64 {
    let mean = entry.posterior(Validity::default(), day).mean();
    // A mean is between 0 and 1, so that the product fits.
    (mean * TRUST_ONE).round() as i64
}

fn sort_column(sort: EntrySort) -> &'static str {
    match sort {
        EntrySort::Newest => "created",
        EntrySort::Confirmed => "confirmed",
        EntrySort::Trust => "trust",
        EntrySort::Shown => "shown",
        EntrySort::Silent => "silent",
    }
}

/// Returns the SQL condition on `entries` for `filter`, and the values for each `?`.
fn page_clause(filter: &PageFilter) -> (String, Vec<Value>) {
    let (mut condition, mut values) = where_clause(&filter.entries);
    if let Some(author) = &filter.author {
        condition.push_str(" AND author = ?");
        values.push(Value::Text(author.to_string()));
    }
    if let Some(origin) = filter.origin {
        condition.push_str(" AND origin = ?");
        values.push(Value::Text(origin_name(origin)));
    }
    if let Some(path) = &filter.path {
        // `0` follows `/`, so the range from `a/` to `a0` covers everything below `a`.
        condition.push_str(
            " AND key IN (SELECT entry FROM grounds WHERE kind = 0 AND at = ? UNION
                          SELECT entry FROM grounds WHERE kind = 0 AND at >= ? AND at < ?)",
        );
        let path = path.trim_end_matches('/');
        values.extend(["", "/", "0"].map(|end| Value::Text(format!("{path}{end}"))));
    }
    (condition, values)
}

impl Index {
    /// Returns one page of entries.
    pub fn page(&mut self, query: &PageQuery) -> Result<EntryPage, IndexError> {
        if query.sort == EntrySort::Trust {
            self.update_trust(query.today)?;
        }
        let limit = query.limit.clamp(1, PAGE_ENTRIES_MAX);
        let mut rows = self.checked(|db| select_page(db, query, limit))?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let is_backward = matches!(query.start, PageStart::Before(_));
        if is_backward {
            rows.reverse();
        }
        let first = rows.first().map(|(cursor, _)| cursor.clone());
        let last = rows.last().map(|(cursor, _)| cursor.clone());
        let (before, after) = match query.start {
            PageStart::First => (None, last.filter(|_| has_more)),
            PageStart::After(_) => (first, last.filter(|_| has_more)),
            PageStart::Before(_) => (first.filter(|_| has_more), last),
        };
        let mut entries: Vec<Entry> = rows.into_iter().map(|(_, entry)| entry).collect();
        entries
            .iter_mut()
            .for_each(|entry| self.add_overlays(entry));
        Ok(EntryPage {
            entries,
            before,
            after,
        })
    }

    /// Computes the confidence of the entries whose evidence fades and that are not up to date.
    fn update_trust(&mut self, today: Date) -> Result<(), IndexError> {
        let day = day_number(today);
        let query = "SELECT key, json FROM entries WHERE fades = 1 AND trust_day <> ?1";
        let due: Vec<(i64, i64)> = self.checked(|db| {
            let mut statement = db.prepare_cached(query)?;
            let mut rows = statement.query([day])?;
            let mut due = Vec::new();
            while let Some(row) = rows.next()? {
                let entry = parse_entry(row.get_ref(1)?.as_str().map_err(IndexError::damaged)?)?;
                due.push((row.get(0)?, trust_on(&entry, today)));
            }
            Ok(due)
        })?;
        if due.is_empty() {
            return Ok(());
        }
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let query = "UPDATE entries SET trust = ?2, trust_day = ?3 WHERE key = ?1";
            let mut statement = tx.prepare_cached(query)?;
            for (key, trust) in due {
                statement.execute(params![key, trust, day])?;
            }
        }
        Ok(tx.commit()?)
    }

    /// Counts all live entries by status, without the slower count of tags and paths.
    pub fn status_counts(&self) -> Result<Vec<FacetCount>, IndexError> {
        let (condition, values) = page_clause(&PageFilter::default());
        let counts = self.checked(|db| count_columns(db, &condition, values.clone()))?;
        Ok(counts.statuses)
    }

    /// Counts the entries of a list by facet.
    pub fn facet_counts(&self, filter: &PageFilter) -> Result<FacetCounts, IndexError> {
        let (condition, values) = page_clause(filter);
        let newest = format!(
            "SELECT key FROM entries WHERE {condition}
             ORDER BY created DESC, id DESC LIMIT {FACET_ENTRIES_MAX}"
        );
        self.checked(|db| {
            let mut counts = count_columns(db, &condition, values.clone())?;
            let tags = format!(
                "SELECT tag, count(*) FROM tags WHERE entry IN ({newest})
                 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {FACET_VALUES_MAX}"
            );
            counts.tags = count_values(db, &tags, values.clone())?;
            counts.paths = count_paths(db, filter.path.as_deref(), &newest, values)?;
            counts.is_partial = counts.total as usize > FACET_ENTRIES_MAX;
            Ok(counts)
        })
    }
}

/// Counts entries by the facets that are columns, with one pass over the index `entries_facets`.
fn count_columns(
    db: &Connection,
    condition: &str,
    values: Vec<Value>,
) -> Result<FacetCounts, IndexError> {
    // The planner must not use that index for lists, so its condition is written in another way
    // than theirs.
    let condition = condition.replace("live = 1", "live > 0");
    let query = format!(
        "SELECT kind, status, author, origin, count(*) FROM entries WHERE {condition}
         GROUP BY 1, 2, 3, 4"
    );
    let mut statement = db.prepare_cached(&query)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut total = 0;
    let mut columns: [BTreeMap<String, u32>; 4] = Default::default();
    while let Some(row) = rows.next()? {
        let count: u32 = row.get(4)?;
        total += count;
        for (at, counts) in columns.iter_mut().enumerate() {
            if let Some(value) = row.get(at)? {
                *counts.entry(value).or_default() += count;
            }
        }
    }
    let [kinds, statuses, authors, origins] = columns.map(most_frequent);
    Ok(FacetCounts {
        total,
        kinds,
        statuses,
        authors,
        origins,
        ..FacetCounts::default()
    })
}

/// Returns the most frequent values; equally frequent ones are ordered by name.
fn most_frequent(counts: BTreeMap<String, u32>) -> Vec<FacetCount> {
    let counts = counts.into_iter();
    let mut counts: Vec<FacetCount> = counts
        .map(|(value, entries)| FacetCount { value, entries })
        .collect();
    counts.sort_by_key(|it| Reverse(it.entries));
    counts.truncate(FACET_VALUES_MAX);
    counts
}

/// Selects the entries of a page and one more, in the direction of the page.
fn select_page(
    db: &Connection,
    query: &PageQuery,
    limit: usize,
) -> Result<Vec<(PageCursor, Entry)>, IndexError> {
    let (mut condition, mut values) = page_clause(&query.filter);
    let column = sort_column(query.sort);
    let (cursor, comparison, direction) = match &query.start {
        PageStart::First => (None, "<", "DESC"),
        PageStart::After(cursor) => (Some(cursor), "<", "DESC"),
        PageStart::Before(cursor) => (Some(cursor), ">", "ASC"),
    };
    if let Some(cursor) = cursor {
        condition.push_str(&format!(" AND ({column}, id) {comparison} (?, ?)"));
        values.push(cursor_value(query.sort, cursor.key()));
        values.push(Value::Text(cursor.id().to_string()));
    }
    let key = match query.sort {
        EntrySort::Newest => "lower(hex(created))".to_owned(),
        EntrySort::Confirmed | EntrySort::Trust | EntrySort::Shown | EntrySort::Silent => {
            format!("CAST({column} AS TEXT)")
        }
    };
    values.push(Value::Integer(i64::try_from(limit + 1).unwrap_or(i64::MAX)));
    // Any other index would sort all matching entries.
    let query = format!(
        "SELECT {key}, json FROM entries INDEXED BY entries_{column} WHERE {condition}
         ORDER BY {column} {direction}, id {direction} LIMIT ?"
    );
    let mut statement = db.prepare_cached(&query)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::with_capacity(limit + 1);
    while let Some(row) = rows.next()? {
        let entry = parse_entry(row.get_ref(1)?.as_str().map_err(IndexError::damaged)?)?;
        found.push((PageCursor::new(row.get(0)?, entry.id), entry));
    }
    Ok(found)
}

/// Converts the text of a cursor to a value of the sort column. The cursor is untrusted and may
/// come from a list with another order: then the page starts at the end of the list.
fn cursor_value(sort: EntrySort, key: &str) -> Value {
    let pairs = key.as_bytes().chunks(2);
    match sort {
        EntrySort::Newest => {
            let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
            Value::Blob(pairs.map_while(byte).collect())
        }
        EntrySort::Confirmed | EntrySort::Trust | EntrySort::Shown | EntrySort::Silent => {
            Value::Integer(key.parse().unwrap_or(0))
        }
    }
}

/// Counts those of the `entries` that a query selects by the files and folders directly below
/// `path`.
fn count_paths(
    db: &Connection,
    path: Option<&str>,
    entries: &str,
    mut values: Vec<Value>,
) -> Result<Vec<FacetCount>, IndexError> {
    let prefix = path.map_or_else(String::new, |it| format!("{}/", it.trim_end_matches('/')));
    let query = format!(
        "SELECT ?1 || CASE instr(rest, '/') WHEN 0 THEN rest
                      ELSE substr(rest, 1, instr(rest, '/')) END, count(DISTINCT entry)
         FROM (SELECT entry, substr(at, length(?1) + 1) AS rest
               FROM grounds INDEXED BY grounds_entry
               WHERE kind = 0 AND at > ?1 AND substr(at, 1, length(?1)) = ?1
                 AND entry IN ({entries}))
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {FACET_VALUES_MAX}"
    );
    values.insert(0, Value::Text(prefix));
    count_values(db, &query, values)
}

fn count_values(
    db: &Connection,
    query: &str,
    values: Vec<Value>,
) -> Result<Vec<FacetCount>, IndexError> {
    let mut statement = db.prepare_cached(query)?;
    let counts = statement.query_map(params_from_iter(values), |row| {
        Ok(FacetCount {
            value: row.get(0)?,
            entries: row.get(1)?,
        })
    })?;
    Ok(counts.collect::<Result<_, _>>()?)
}
