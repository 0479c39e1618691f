//! What waits for a person: events the guard here found something in that the one who sent them did not, and entries that
//! were set apart where they were written.
//!
//! The events are no part of the log. Whoever releases one appends it; whoever discards one has it forgotten.

use std::collections::BTreeMap;

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_core::time::Timestamp;
use sqlx::postgres::PgRow;

use super::read::{After, entry_of};
use super::settle::parse;
use super::{StoreError, column, event_id, uuid, uuids};
use crate::database::{Tenant, millis, timestamp, without_nul};

/// Entries that are read at once while those that wait are looked for.
const PAGE: i64 = 500;

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

    /// Returns the lines of those of `ids` that wait.
    pub async fn held_lines(
        &mut self,
        ids: &[EventId],
    ) -> Result<BTreeMap<EventId, String>, StoreError> {
        let key = self.key();
        let query = "SELECT event, line FROM ken.held WHERE workspace_id = $1 AND event = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.reading())
            .await?;
        rows.iter()
            .map(|row| Ok((event_id(column(row, 0)?), column(row, 1)?)))
            .collect()
    }

    /// Returns how many events wait, and how many of them `by` sent.
    pub async fn held_count(&mut self, by: &str) -> Result<(u64, u64), StoreError> {
        let key = self.key();
        let query = "SELECT count(*), count(*) FILTER (WHERE by = $2) FROM ken.held WHERE workspace_id = $1";
        let row = sqlx::query(query)
            .bind(key)
            .bind(without_nul(by))
            .fetch_one(self.reading())
            .await?;
        let (all, own): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
        Ok((all.unsigned_abs(), own.unsigned_abs()))
    }

    /// Returns up to `limit` entries of the log that wait for a person, behind `after`, the newest first.
    ///
    /// Which those are is part of an entry and of no column: what is in use or taken back is left out by the database, the
    /// rest is read.
    pub async fn set_apart(
        &mut self,
        after: Option<&After>,
        limit: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        let query = "SELECT json FROM ken.entries e
             WHERE e.workspace_id = $1 AND e.worded AND NOT e.live AND NOT e.retracted
               AND ($2::text IS NULL OR (e.created, e.id) < ($2, $3))
             ORDER BY e.created DESC, e.id DESC LIMIT $4";
        let (mut found, mut after) = (Vec::new(), after.cloned());
        loop {
            let created = after.as_ref().map(|it| it.created);
            let created = created.map(|it| it.map_or_else(String::new, |at| at.to_string()));
            let rows = sqlx::query(query)
                .bind(key)
                .bind(created)
                .bind(after.as_ref().map(|it| it.id.to_string()))
                .bind(PAGE)
                .fetch_all(self.reading())
                .await?;
            let is_last = rows.len() < PAGE as usize;
            for row in &rows {
                let entry = entry_of(row)?;
                after = Some(After::of(&entry));
                if !entry.quarantine.is_empty() {
                    found.push(entry);
                }
                if limit as usize <= found.len() {
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Forgets an event that waits; nothing if it does not.
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
