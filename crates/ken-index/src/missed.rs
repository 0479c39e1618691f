//! Queries without a good answer. They exist only in this index; a rebuild deletes them.

use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;
use rusqlite::{Connection, params};

use crate::error::IndexError;
use crate::index::Index;

/// Maximum number of stored queries; the oldest are deleted first.
const UNANSWERED_MAX: u32 = 1000;

/// A query without a good answer and its frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnansweredQuery {
    pub query: String,
    pub times: u64,
    pub last: Timestamp,
    /// The top-ranked entry, which did not answer the query.
    pub top: Option<EntryId>,
}

impl Index {
    /// Records a query without a good answer.
    pub fn record_unanswered(
        &mut self,
        query: &str,
        top: Option<EntryId>,
        at: Timestamp,
    ) -> Result<(), IndexError> {
        let tx = self.db.transaction()?;
        tx.prepare_cached(
            "INSERT INTO missed VALUES (?1, 1, ?2, ?3) ON CONFLICT (query)
             DO UPDATE SET times = times + 1, at = excluded.at,
                           top = coalesce(excluded.top, top)",
        )?
        .execute(params![
            query,
            at.millis().cast_signed(),
            top.map(|id| id.to_string())
        ])?;
        tx.prepare_cached(
            "DELETE FROM missed WHERE query IN
             (SELECT query FROM missed ORDER BY at DESC, query LIMIT -1 OFFSET ?1)",
        )?
        .execute([UNANSWERED_MAX])?;
        Ok(tx.commit()?)
    }

    /// Returns the queries without a good answer, newest first.
    pub fn missed(&self) -> Result<Vec<UnansweredQuery>, IndexError> {
        self.checked(|db| {
            let query = "SELECT query, times, at, top FROM missed ORDER BY at DESC, query";
            let mut statement = db.prepare_cached(query)?;
            let mut rows = statement.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let top: Option<String> = row.get(3)?;
                all.push(UnansweredQuery {
                    query: row.get(0)?,
                    times: row.get::<_, i64>(1)?.cast_unsigned(),
                    last: Timestamp::from_millis(row.get::<_, i64>(2)?.cast_unsigned()),
                    top: top.and_then(|id| id.parse().ok()),
                });
            }
            Ok(all)
        })
    }
}

/// Deletes all unanswered queries and condition results, because one of them may quote redacted
/// text.
pub(crate) fn clear_quoted_text(db: &Connection) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM missed")?.execute([])?;
    db.prepare_cached("DELETE FROM truths")?.execute([])?;
    Ok(())
}
