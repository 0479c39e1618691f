//! Events that wait for a person: the guard here found what the one who sent them did not.
//!
//! They are no part of the log. Whoever releases one appends it; whoever discards one has it forgotten.

use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::time::Timestamp;
use sqlx::postgres::PgRow;

use super::settle::parse;
use super::{StoreError, column, uuid};
use crate::database::{Tenant, millis, timestamp, without_nul};

/// An event that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldEvent {
    pub copy: Recorded,
    /// What the guard found; never the text it found.
    pub why: String,
    /// Who sent it.
    pub by: String,
    pub at: Timestamp,
}

impl Tenant {
    /// Keeps an event back; one that waits already goes on waiting as it is.
    pub async fn hold(&mut self, copy: &Recorded, why: &str, by: &str) -> Result<(), StoreError> {
        let (key, now) = (self.key(), self.now());
        sqlx::query("INSERT INTO ken.held VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING")
            .bind(key)
            .bind(uuid(copy.event.id))
            .bind(copy.line())
            .bind(without_nul(why))
            .bind(without_nul(by))
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns up to `limit` events that wait, behind `after`, by id.
    pub async fn held(
        &mut self,
        after: Option<EventId>,
        limit: u32,
    ) -> Result<Vec<HeldEvent>, StoreError> {
        let key = self.key();
        let query = "SELECT line, why, by, at FROM ken.held
             WHERE workspace_id = $1 AND ($2::uuid IS NULL OR $2 < event) ORDER BY event LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(after.map(uuid))
            .bind(i64::from(limit))
            .fetch_all(self.reading())
            .await?;
        rows.iter().map(held).collect()
    }

    /// Forgets an event that waits, and returns it; nothing if it does not wait.
    pub async fn discard(&mut self, id: EventId) -> Result<Option<HeldEvent>, StoreError> {
        let key = self.key();
        let delete = "DELETE FROM ken.held WHERE workspace_id = $1 AND event = $2
             RETURNING line, why, by, at";
        let row = sqlx::query(delete)
            .bind(key)
            .bind(uuid(id))
            .fetch_optional(self.connection())
            .await?;
        row.as_ref().map(held).transpose()
    }
}

fn held(row: &PgRow) -> Result<HeldEvent, StoreError> {
    Ok(HeldEvent {
        copy: parse(column(row, 0)?)?,
        why: column(row, 1)?,
        by: column(row, 2)?,
        at: timestamp(column(row, 3)?),
    })
}
