//! Quarantine: events that only the hub's guard objects to, and entries quarantined where they were
//! written.
//!
//! Quarantined events are not part of the log. Releasing one appends it; discarding one deletes it.

use std::collections::BTreeMap;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::values::id::EventId;
use ken_core::values::time::Timestamp;
use sqlx::postgres::PgRow;

use super::copies::parse;
use super::read::{EntryPosition, entry_from_row};
use super::{StoreError, column, event_id, uuid, uuids};
use crate::database::{EventPusher, WorkspaceTx, millis, timestamp, without_nul};

/// Condition that a row `e` of `ken.entries` is quarantined, which no column says.
pub(super) const QUARANTINED: &str = "(e.json::jsonb -> 'quarantine' <> '[]'::jsonb)";

/// Entries per page while searching for quarantined ones.
const PAGE: i64 = 500;

/// A quarantined event.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantinedEvent {
    pub copy: RecordedEvent,
    /// The guard's finding; never the matched text, which may be a secret.
    pub finding: String,
    pub pusher: EventPusher,
    pub at: Timestamp,
}

impl WorkspaceTx {
    /// Quarantines an event. An event that is already quarantined stays unchanged.
    pub async fn quarantine_event(
        &mut self,
        copy: &RecordedEvent,
        why: &str,
        pusher: &EventPusher,
    ) -> Result<(), StoreError> {
        let (key, now) = (self.key(), self.now());
        let insert = "INSERT INTO ken.held (workspace_id, event, line, why, by, at, token_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        sqlx::query(insert)
            .bind(key)
            .bind(uuid(copy.event.id))
            .bind(copy.line())
            .bind(without_nul(why))
            .bind(without_nul(&pusher.actor))
            .bind(millis(now))
            .bind(pusher.token)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns up to `limit` quarantined events after `after`, ordered by id.
    pub async fn quarantined_events(
        &mut self,
        after: Option<EventId>,
        limit: u32,
    ) -> Result<Vec<QuarantinedEvent>, StoreError> {
        let key = self.key();
        let query = "SELECT line, why, by, at, token_id FROM ken.held
             WHERE workspace_id = $1 AND ($2::uuid IS NULL OR $2 < event) ORDER BY event LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(after.map(uuid))
            .bind(i64::from(limit))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(quarantined_events).collect()
    }

    /// Returns the lines of those of `ids` that are quarantined.
    pub async fn quarantined_lines(
        &mut self,
        ids: &[EventId],
    ) -> Result<BTreeMap<EventId, String>, StoreError> {
        let key = self.key();
        let query = "SELECT event, line FROM ken.held WHERE workspace_id = $1 AND event = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter()
            .map(|row| Ok((event_id(column(row, 0)?), column(row, 1)?)))
            .collect()
    }

    /// Returns the number of quarantined events, in total and of the pusher `by`.
    pub async fn count_quarantined(&mut self, by: &str) -> Result<(u64, u64), StoreError> {
        let key = self.key();
        let query = "SELECT count(*), count(*) FILTER (WHERE by = $2) FROM ken.held WHERE workspace_id = $1";
        let row = sqlx::query(query)
            .bind(key)
            .bind(without_nul(by))
            .fetch_one(self.read_connection())
            .await?;
        let (all, own): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
        Ok((all.unsigned_abs(), own.unsigned_abs()))
    }

    /// Returns the number of quarantined events and of quarantined entries.
    pub async fn count_quarantine(&mut self) -> Result<(u64, u64), StoreError> {
        let key = self.key();
        let query = format!(
            "SELECT (SELECT count(*) FROM ken.held WHERE workspace_id = $1),
                 (SELECT count(*) FROM ken.entries e WHERE e.workspace_id = $1 AND e.worded
                      AND NOT e.live AND NOT e.retracted AND {QUARANTINED})"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(key)
            .fetch_one(self.read_connection())
            .await?;
        let (events, entries): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
        Ok((events.unsigned_abs(), entries.unsigned_abs()))
    }

    /// Returns up to `limit` live entries with organization scope that are not published.
    pub async fn unpublished_global_entries(
        &mut self,
        limit: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        // The text is compared before it is parsed: nearly every entry has another scope.
        let query = "SELECT json FROM ken.entries e
             WHERE e.workspace_id = $1 AND e.worded AND e.live AND NOT e.global
               AND e.json LIKE '%\"scope\":{\"value\":\"global\"%'
               AND e.json::jsonb #>> '{scope,value}' = 'global' ORDER BY e.id LIMIT $2";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(i64::from(limit))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(entry_from_row).collect()
    }

    /// Returns up to `limit` quarantined entries after `after`, newest first.
    ///
    /// Quarantine is part of the entry's JSON and has no column. The query excludes live and
    /// retracted entries; the rest is parsed and filtered here.
    pub async fn quarantined_entries(
        &mut self,
        after: Option<&EntryPosition>,
        limit: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        let query = "SELECT json FROM ken.entries e
             WHERE e.workspace_id = $1 AND e.worded AND NOT e.live AND NOT e.retracted
               AND ($2::text IS NULL OR (e.created, e.id) < ($2, $3))
             ORDER BY e.created DESC, e.id DESC LIMIT $4";
        // A page may contain few or no quarantined entries, so pages are read until the result is
        // full.
        let (mut found, mut after) = (Vec::new(), after.cloned());
        loop {
            let after_clock = after.as_ref().map(|it| it.created);
            let created = after_clock.map(|it| it.map_or_else(String::new, |at| at.to_string()));
            let rows = sqlx::query(query)
                .bind(key)
                .bind(created)
                .bind(after.as_ref().map(|it| it.id.to_string()))
                .bind(PAGE)
                .fetch_all(self.read_connection())
                .await?;
            let is_last = rows.len() < PAGE as usize;
            for row in &rows {
                let entry = entry_from_row(row)?;
                after = Some(EntryPosition::after(&entry));
                if !entry.quarantine.is_empty() {
                    found.push(entry);
                }
                if found.len() >= limit as usize {
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Deletes a quarantined event and returns it; `None` if there is none with that id.
    pub async fn take_quarantined_event(
        &mut self,
        id: EventId,
    ) -> Result<Option<QuarantinedEvent>, StoreError> {
        let key = self.key();
        let delete = "DELETE FROM ken.held WHERE workspace_id = $1 AND event = $2
             RETURNING line, why, by, at, token_id";
        let row = sqlx::query(delete)
            .bind(key)
            .bind(uuid(id))
            .fetch_optional(self.connection())
            .await?;
        row.as_ref().map(quarantined_events).transpose()
    }
}

fn quarantined_events(row: &PgRow) -> Result<QuarantinedEvent, StoreError> {
    Ok(QuarantinedEvent {
        copy: parse(column(row, 0)?)?,
        finding: column(row, 1)?,
        pusher: EventPusher {
            actor: column(row, 2)?,
            token: column(row, 4)?,
        },
        at: timestamp(column(row, 3)?),
    })
}
