//! The log, in the order the hub took its events.

use ken_core::event::{EventData, Recorded};
use ken_core::id::EventId;
use ken_remote::wire::Cursor;

use super::append::cursor;
use super::read::EVENTS_MAX;
use super::settle::parse;
use super::{StoreError, column, event_id, uuid};
use crate::database::Tenant;

/// Bytes of events one page holds at most, beside its first event.
const PAGE_BYTES_MAX: i64 = 8 << 20;

/// An event as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub seq: u64,
    pub id: EventId,
    /// The event's line, byte for byte.
    pub line: String,
}

/// Part of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub events: Vec<Logged>,
    /// Where the next page begins.
    pub cursor: Cursor,
    /// Whether there is a next page now.
    pub more: bool,
}

impl Tenant {
    /// Returns the end of the log.
    pub async fn cursor(&mut self) -> Result<Cursor, StoreError> {
        let key = self.key();
        let query =
            "SELECT seq, id FROM ken.events WHERE workspace_id = $1 ORDER BY seq DESC LIMIT 1";
        let row = sqlx::query(query)
            .bind(key)
            .fetch_optional(self.reading())
            .await?;
        let Some(row) = row else {
            return Ok(Cursor::default());
        };
        Ok(cursor(column(&row, 0)?, event_id(column(&row, 1)?)))
    }

    /// Returns up to `limit` events behind a place in the log.
    ///
    /// The places of a log only grow and follow the order of commits, so whoever goes on from the last place they saw
    /// misses nothing.
    pub async fn events_after(&mut self, after: Cursor, limit: u32) -> Result<Page, StoreError> {
        self.check(after).await?;
        let key = self.key();
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
            .fetch_all(self.reading())
            .await?;
        let mut page = Page {
            events: Vec::with_capacity(rows.len()),
            cursor: after,
            more: false,
        };
        for row in rows.iter().take(limit as usize) {
            let seq: i64 = column(row, 0)?;
            let id = event_id(column(row, 1)?);
            let line = column(row, 2)?;
            let there: i64 = column(row, 3)?;
            page.cursor = cursor(seq, id);
            page.events.push(Logged {
                seq: seq.cast_unsigned(),
                id,
                line,
            });
            page.more = i64::try_from(page.events.len()).is_ok_and(|len| len < there);
        }
        Ok(page)
    }

    /// Refuses a place that was never one of this log.
    async fn check(&mut self, place: Cursor) -> Result<(), StoreError> {
        let Some(last) = place.last else {
            return Ok(());
        };
        let key = self.key();
        let query = "SELECT EXISTS (SELECT FROM ken.events WHERE workspace_id = $1 AND seq = $2 AND id = $3)
             OR EXISTS (SELECT FROM ken.moved WHERE workspace_id = $1 AND seq = $2 AND event = $3)";
        let row = sqlx::query(query)
            .bind(key)
            .bind(place.seq.cast_signed())
            .bind(uuid(last))
            .fetch_one(self.reading())
            .await?;
        if column(&row, 0)? {
            Ok(())
        } else {
            Err(StoreError::CursorUnknown(place))
        }
    }

    /// Returns the events of a type that are not older than `since`, a clock reading's beginning, in canonical order; of
    /// more than [`EVENTS_MAX`] the latest.
    pub async fn of_type<T: EventData>(
        &mut self,
        since: Option<&str>,
    ) -> Result<Vec<Recorded>, StoreError> {
        let key = self.key();
        let query = "SELECT line FROM ken.events
             WHERE workspace_id = $1 AND $2 <= at AND type = $3 AND NOT blanked
             ORDER BY at DESC, id DESC LIMIT $4";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(since.unwrap_or(""))
            .bind(T::TYPE)
            .bind(EVENTS_MAX)
            .fetch_all(self.reading())
            .await?;
        rows.iter()
            .rev()
            .map(|row| parse(column(row, 0)?))
            .collect()
    }
}
