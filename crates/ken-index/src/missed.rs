//! Questions that nothing here answered well: a projection of its own, which no ledger has and a rebuild
//! forgets.

use ken_core::id::EntryId;
use ken_core::time::Timestamp;
use rusqlite::{Connection, params};

use crate::error::IndexError;
use crate::index::Index;

/// Questions that are kept; the oldest go first.
const MISSED_MAX: u32 = 1000;

/// A question, and how often it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    pub query: String,
    pub times: u64,
    pub last: Timestamp,
    /// The entry that came first although it does not answer.
    pub top: Option<EntryId>,
}

impl Index {
    /// Notes that a question was not answered well.
    pub fn note_missed(
        &mut self,
        query: &str,
        top: Option<EntryId>,
        at: Timestamp,
    ) -> Result<(), IndexError> {
        let tx = self.db.transaction()?;
        tx.prepare_cached(
            "INSERT INTO missed VALUES (?1, 1, ?2, ?3) ON CONFLICT (query)
             DO UPDATE SET times = times + 1, at = excluded.at, top = excluded.top",
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
        .execute([MISSED_MAX])?;
        Ok(tx.commit()?)
    }

    /// Returns the questions that were not answered well, the newest first.
    pub fn missed(&self) -> Result<Vec<Missed>, IndexError> {
        self.checked(|db| {
            let query = "SELECT query, times, at, top FROM missed ORDER BY at DESC, query";
            let mut statement = db.prepare_cached(query)?;
            let mut rows = statement.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                let top: Option<String> = row.get(3)?;
                all.push(Missed {
                    query: row.get(0)?,
                    times: row.get::<_, i64>(1)?.cast_unsigned(),
                    last: Timestamp::from_millis(row.get::<_, i64>(2)?.cast_unsigned()),
                    top: top.and_then(|id| id.parse().ok()),
                });
            }
            Ok(all)
        })
    }

    /// Returns how often an entry came first without answering.
    pub fn prediction_errors(&self, id: EntryId) -> Result<u64, IndexError> {
        self.checked(|db| {
            let query = "SELECT coalesce(sum(times), 0) FROM missed WHERE top = ?1";
            let times: i64 = db
                .prepare_cached(query)?
                .query_row([id.to_string()], |row| row.get(0))?;
            Ok(times.cast_unsigned())
        })
    }
}

/// Forgets every question and what was found out about conditions: one of them may quote what was blanked.
pub(crate) fn forget_all(db: &Connection) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM missed")?.execute([])?;
    db.prepare_cached("DELETE FROM truths")?.execute([])?;
    Ok(())
}
