//! Log queries, in the order in which the hub received the events.

use std::collections::BTreeMap;

use ken_core::ledger::event::{Cited, EventData, RecordedEvent};
use ken_core::values::id::{EntryId, EventId};
use ken_remote::wire::LogCursor;

use super::append::cursor;
use super::copies::parse;
use super::read::EVENTS_MAX;
use super::{StoreError, column, event_id, uuid};
use crate::database::WorkspaceTx;

/// Maximum size of a page in bytes, apart from its first event.
const PAGE_BYTES_MAX: i64 = 8 << 20;

/// An event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    pub seq: u64,
    pub id: EventId,
    /// The event's line, byte for byte.
    pub line: String,
}

/// A page of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPage {
    pub events: Vec<LoggedEvent>,
    /// Start of the next page.
    pub cursor: LogCursor,
    /// True if there are more events at this time.
    pub more: bool,
}

/// Number of events about an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryEventCount {
    pub events: u64,
    /// Those that cite a source.
    pub citations: u64,
}

impl WorkspaceTx {
    /// Returns the number of events about each of the entries; entries without events are left out.
    pub async fn count_entry_events(
        &mut self,
        entries: &[EntryId],
    ) -> Result<BTreeMap<EntryId, EntryEventCount>, StoreError> {
        let key = self.key();
        let names: Vec<String> = entries.iter().map(ToString::to_string).collect();
        let query = "SELECT s.entry, count(*), count(*) FILTER (WHERE e.type = $3)
             FROM ken.subjects s JOIN ken.events e ON e.workspace_id = $1 AND e.seq = s.seq
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2) GROUP BY s.entry";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .bind(Cited::TYPE)
            .fetch_all(self.read_connection())
            .await?;
        let mut counts = BTreeMap::new();
        for row in &rows {
            let (name, events, citations): (String, i64, i64) =
                (column(row, 0)?, column(row, 1)?, column(row, 2)?);
            let count = EntryEventCount {
                events: events.unsigned_abs(),
                citations: citations.unsigned_abs(),
            };
            counts.insert(name.parse().map_err(StoreError::damaged)?, count);
        }
        Ok(counts)
    }

    /// Returns the end of the log.
    pub async fn log_end(&mut self) -> Result<LogCursor, StoreError> {
        let key = self.key();
        let query =
            "SELECT seq, id FROM ken.events WHERE workspace_id = $1 ORDER BY seq DESC LIMIT 1";
        let row = sqlx::query(query)
            .bind(key)
            .fetch_optional(self.read_connection())
            .await?;
        let Some(row) = row else {
            return Ok(LogCursor::default());
        };
        Ok(cursor(column(&row, 0)?, event_id(column(&row, 1)?)))
    }

    /// Returns up to `limit` events after a cursor.
    ///
    /// Positions only grow and follow the order of commits, so a reader that continues from its
    /// last cursor misses nothing.
    pub async fn events_after(
        &mut self,
        after: LogCursor,
        limit: u32,
    ) -> Result<LogPage, StoreError> {
        self.check_cursor(after).await?;
        let key = self.key();
        // `before < $4` always admits the first row, so an event larger than a page cannot stop the
        // reader. One row more than the limit tells whether there is another page.
        let query = "SELECT seq, id, line, count FROM (
                 SELECT seq, id, line, count(*) OVER () AS count,
                     sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before
                 FROM (SELECT seq, id, line FROM ken.events
                       WHERE workspace_id = $1 AND $2 < seq ORDER BY seq LIMIT $3) AS page
             ) AS summed WHERE before < $4 ORDER BY seq";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(after.seq.cast_signed())
            .bind(i64::from(limit) + 1)
            .bind(PAGE_BYTES_MAX)
            .fetch_all(self.read_connection())
            .await?;
        let mut page = LogPage {
            events: Vec::with_capacity(rows.len()),
            cursor: after,
            more: false,
        };
        for row in rows.iter().take(limit as usize) {
            let seq: i64 = column(row, 0)?;
            let id = event_id(column(row, 1)?);
            let line = column(row, 2)?;
            let matching: i64 = column(row, 3)?;
            page.cursor = cursor(seq, id);
            page.events.push(LoggedEvent {
                seq: seq.cast_unsigned(),
                id,
                line,
            });
            page.more = i64::try_from(page.events.len()).is_ok_and(|len| len < matching);
        }
        Ok(page)
    }

    /// Refuses a cursor that never existed in this log.
    async fn check_cursor(&mut self, cursor: LogCursor) -> Result<(), StoreError> {
        // A cursor names its event, too: after a restore from backup, the same position may hold a
        // different event.
        let Some(last) = cursor.last else {
            return Ok(());
        };
        let key = self.key();
        let query = "SELECT EXISTS (SELECT FROM ken.events WHERE workspace_id = $1 AND seq = $2 AND id = $3)
             OR EXISTS (SELECT FROM ken.moved WHERE workspace_id = $1 AND seq = $2 AND event = $3)";
        let row = sqlx::query(query)
            .bind(key)
            .bind(cursor.seq.cast_signed())
            .bind(uuid(last))
            .fetch_one(self.read_connection())
            .await?;
        if column(&row, 0)? {
            Ok(())
        } else {
            Err(StoreError::CursorUnknown(cursor))
        }
    }

    /// Returns the events of a type since `since`, a prefix of a clock reading, in canonical order;
    /// of more than [`EVENTS_MAX`] the latest. Redacted events are excluded.
    pub async fn events_of_type<T: EventData>(
        &mut self,
        since: Option<&str>,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let key = self.key();
        let query = "SELECT line FROM ken.events
             WHERE workspace_id = $1 AND $2 <= at AND type = $3 AND NOT blanked
             ORDER BY at DESC, id DESC LIMIT $4";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(since.unwrap_or(""))
            .bind(T::TYPE)
            .bind(EVENTS_MAX)
            .fetch_all(self.read_connection())
            .await?;
        rows.iter()
            .rev()
            .map(|row| parse(column(row, 0)?))
            .collect()
    }
}
