//! Queries on entries and events.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::state::LedgerState;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::values::actor::Actor;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::kind::IdPrefix;
use ken_core::values::text::Tag;
use ken_core::values::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder};

use super::copies::parse;
use super::preload::WORKSPACE_NAME;
use super::project::read_entry;
use super::{StoreError, column, event_id, uuid, uuids};
use crate::database::{WorkspaceTx, timestamp, without_nul};

/// Maximum number of candidates listed for an ambiguous id prefix.
const CANDIDATES_MAX: i64 = 20;

/// Maximum number of events per query.
pub const EVENTS_MAX: i64 = 10_000;

/// Maximum number of entries per list: the size a repository is designed for.
pub const ENTRIES_MAX: i64 = 100_000;

/// Type of feedback events.
const FEEDBACK: &str = "feedback.given";

/// Sorts after every character that occurs in an id; turns a prefix into an upper bound.
const END: char = '\u{10ffff}';

/// Position in a list of entries: after this entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPosition {
    /// Time of the proposal; `None` while the proposal has not arrived.
    pub created: Option<Hlc>,
    pub id: EntryId,
}

impl EntryPosition {
    /// Returns the position after an entry.
    #[must_use]
    pub fn after(entry: &Entry) -> Self {
        Self {
            created: entry.created.as_ref().map(|created| created.at),
            id: entry.id,
        }
    }
}

impl WorkspaceTx {
    /// Returns an entry by its full id.
    pub async fn entry(&mut self, id: EntryId) -> Result<Option<Entry>, StoreError> {
        let key = self.key();
        let row = sqlx::query("SELECT json FROM ken.entries WHERE workspace_id = $1 AND id = $2")
            .bind(key)
            .bind(id.to_string())
            .fetch_optional(self.read_connection())
            .await?;
        row.as_ref().map(entry_from_row).transpose()
    }

    /// Returns those of `ids` that exist, in no particular order.
    pub async fn entries(&mut self, ids: &[EntryId]) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let query = "SELECT json FROM ken.entries WHERE workspace_id = $1 AND id = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(entry_from_row).collect()
    }

    /// Returns an event by its id.
    pub async fn event(&mut self, id: EventId) -> Result<Option<RecordedEvent>, StoreError> {
        let key = self.key();
        let row = sqlx::query("SELECT line FROM ken.events WHERE workspace_id = $1 AND id = $2")
            .bind(key)
            .bind(uuid(id))
            .fetch_optional(self.read_connection())
            .await?;
        row.map(|row| parse(column(&row, 0)?)).transpose()
    }

    /// Returns those of `ids` that are in the log, by id.
    pub async fn events_by_id(
        &mut self,
        ids: &[EventId],
    ) -> Result<BTreeMap<EventId, RecordedEvent>, StoreError> {
        let key = self.key();
        let query = "SELECT line FROM ken.events WHERE workspace_id = $1 AND id = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.read_connection())
            .await?;
        let read = |row| parse(column(row, 0)?).map(|copy| (copy.event.id, copy));
        rows.iter().map(read).collect()
    }

    /// Returns those of `ids` that `actor` wrote or pushed.
    pub async fn events_of_actor(
        &mut self,
        ids: &[EventId],
        actor: &Actor,
    ) -> Result<Vec<EventId>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.key();
        let query = "SELECT line, pusher FROM ken.events WHERE workspace_id = $1 AND id = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.read_connection())
            .await?;
        let mut own = Vec::new();
        for row in &rows {
            let event = parse(column(row, 0)?)?.event;
            let pusher: Option<String> = column(row, 1)?;
            if event.by == *actor || pusher == Some(actor.to_string()) {
                own.push(event.id);
            }
        }
        Ok(own)
    }

    /// Returns who pushed events and when, by event. Nothing is known of events that came before
    /// the hub recorded it.
    pub async fn arrivals(
        &mut self,
        ids: &[EventId],
    ) -> Result<BTreeMap<EventId, (String, Timestamp)>, StoreError> {
        let key = self.key();
        let query = "SELECT id, pusher, received_at FROM ken.events
             WHERE workspace_id = $1 AND id = ANY ($2) AND pusher IS NOT NULL AND received_at IS NOT NULL";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.read_connection())
            .await?;
        let read = |row| {
            let arrival = (column(row, 1)?, timestamp(column(row, 2)?));
            Ok((event_id(column(row, 0)?), arrival))
        };
        rows.iter().map(read).collect()
    }

    /// Returns the feedback events of entries.
    pub async fn feedback_on(&mut self, ids: &[EntryId]) -> Result<Vec<RecordedEvent>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.key();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        // `LATERAL` with `OFFSET 0` makes the planner look each event up by its key. A join might
        // scan the whole log.
        let query = "SELECT DISTINCT e.line FROM ken.subjects s CROSS JOIN LATERAL (
                 SELECT l.line FROM ken.events l WHERE l.workspace_id = $1 AND l.seq = s.seq AND l.type = $3 OFFSET 0
             ) AS e
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .bind(FEEDBACK)
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(|row| parse(column(row, 0)?)).collect()
    }

    /// Returns those of `ids` that are redacted in every copy: by an authorized event, or because
    /// the hub recorded it.
    pub async fn redacted_ids(&mut self, ids: &[EventId]) -> Result<BTreeSet<EventId>, StoreError> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let key = self.key();
        let query = "SELECT target FROM ken.orders WHERE workspace_id = $1 AND target = ANY ($2)
             UNION SELECT event FROM ken.remembered WHERE workspace_id = $1 AND event = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.read_connection())
            .await?;
        rows.iter()
            .map(|row| Ok(event_id(column(row, 0)?)))
            .collect()
    }

    /// Returns the events of an entry in canonical order; of more than [`EVENTS_MAX`] the latest.
    pub async fn history(&mut self, id: EntryId) -> Result<Vec<RecordedEvent>, StoreError> {
        let key = self.key();
        let query = "SELECT e.line FROM ken.subjects s CROSS JOIN LATERAL (
                 SELECT l.id, l.at, l.line FROM ken.events l WHERE l.workspace_id = $1 AND l.seq = s.seq OFFSET 0
             ) AS e
             WHERE s.workspace_id = $1 AND s.entry = $2 ORDER BY e.at DESC, e.id DESC LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(id.to_string())
            .bind(EVENTS_MAX)
            .fetch_all(self.read_connection())
            .await?;
        // The query sorts descending so that its limit keeps the latest events.
        rows.iter()
            .rev()
            .map(|row| parse(column(row, 0)?))
            .collect()
    }

    /// Returns the ids that start with `prefix`, given with or without its letter, and the id of
    /// the entry with exactly that alias.
    ///
    /// A complete id takes precedence over aliases.
    pub async fn find_ids(&mut self, prefix: &str) -> Result<Vec<EntryId>, StoreError> {
        if prefix.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = without_nul(prefix);
        let tail = prefix.to_lowercase();
        let id = match tail.split_once('-') {
            Some((letter, rest)) => format!("{}-{rest}", letter.to_uppercase()),
            None => tail.to_uppercase(),
        };
        if let Ok(whole) = id.parse::<EntryId>()
            && self.entry(whole).await?.is_some()
        {
            return Ok(vec![whole]);
        }
        // A prefix without its letter may continue any of the few letters. Key ranges use the
        // primary key, which `LIKE` with a parameter would not.
        let mut starts: Vec<String> = vec![id];
        starts.extend(IdPrefix::ALL.map(|letter| format!("{letter}-{tail}")));
        let ends: Vec<String> = starts.iter().map(|start| format!("{start}{END}")).collect();
        let key = self.key();
        let query = "SELECT e.id FROM unnest($2::text[], $3::text[]) AS u (start, stop)
                 JOIN ken.entries e ON e.workspace_id = $1 AND u.start <= e.id AND e.id < u.stop
             UNION SELECT id FROM ken.entries WHERE workspace_id = $1 AND alias = $4
             ORDER BY 1 LIMIT $5";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(starts)
            .bind(ends)
            .bind(prefix)
            .bind(CANDIDATES_MAX)
            .fetch_all(self.read_connection())
            .await?;
        let read = |row: &PgRow| column::<&str>(row, 0)?.parse().map_err(StoreError::damaged);
        rows.iter().map(read).collect()
    }

    /// Returns the entries that match `filter` and come after `after`, newest first. The smallest
    /// of `limit`, the filter's limit and [`ENTRIES_MAX`] applies.
    pub async fn list(
        &mut self,
        filter: &EntryFilter,
        after: Option<&EntryPosition>,
        limit: Option<u32>,
    ) -> Result<Vec<Entry>, StoreError> {
        let own = filter.limit.and_then(|limit| i64::try_from(limit).ok());
        let limits = own.into_iter().chain(limit.map(i64::from));
        let limit = limits.fold(ENTRIES_MAX, i64::min);
        let mut query = QueryBuilder::new("SELECT json FROM ken.entries e WHERE e.workspace_id = ");
        query.push_bind(self.key());
        push_condition(&mut query, filter);
        if let Some(after) = after {
            let created = after.created.map_or_else(String::new, |at| at.to_string());
            query.push(" AND (e.created, e.id) < (");
            query.push_bind(created).push(", ");
            query.push_bind(after.id.to_string()).push(")");
        }
        query.push(" ORDER BY e.created DESC, e.id DESC LIMIT ");
        query.push_bind(limit);
        let rows = query.build().fetch_all(self.read_connection()).await?;
        rows.iter().map(entry_from_row).collect()
    }

    /// Returns the tombstones: retracted entries whose claim may not be added again.
    pub async fn tombstones(&mut self) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        let query =
            "SELECT json FROM ken.entries WHERE workspace_id = $1 AND tombstone ORDER BY id";
        let rows = sqlx::query(query)
            .bind(key)
            .fetch_all(self.read_connection())
            .await?;
        rows.iter().map(entry_from_row).collect()
    }

    /// Returns the workspace-level state.
    pub async fn workspace_state(&mut self) -> Result<WorkspaceState, StoreError> {
        let key = self.key();
        let row = sqlx::query("SELECT json FROM ken.workspace_states WHERE workspace_id = $1")
            .bind(key)
            .fetch_optional(self.read_connection())
            .await?;
        let Some(row) = row else {
            return Ok(WorkspaceState::default());
        };
        serde_json::from_str(column(&row, 0)?).map_err(StoreError::damaged)
    }

    /// Returns the latest event clock that does not exceed `limit`.
    pub async fn latest_clock(&mut self, limit: Hlc) -> Result<Option<Hlc>, StoreError> {
        let key = self.key();
        let query = "SELECT max(at) FROM ken.events WHERE workspace_id = $1 AND at <= $2";
        let row = sqlx::query(query)
            .bind(key)
            .bind(limit.to_string())
            .fetch_one(self.read_connection())
            .await?;
        let at: Option<&str> = column(&row, 0)?;
        at.map(|at| at.parse().map_err(StoreError::damaged))
            .transpose()
    }

    /// Locks the workspace's row until the transaction ends. Other writers wait; readers do not.
    pub async fn lock(&mut self) -> Result<(), StoreError> {
        let (organization, key) = (self.organization().0, self.key());
        let query =
            "SELECT FROM ken.workspaces WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE";
        sqlx::query(query)
            .bind(organization)
            .bind(key)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns all entries and the workspace-level state; for comparisons and export.
    pub async fn state(&mut self) -> Result<LedgerState, StoreError> {
        let key = self.key();
        let rows = sqlx::query("SELECT json FROM ken.entries WHERE workspace_id = $1")
            .bind(key)
            .fetch_all(self.read_connection())
            .await?;
        let read = |row| entry_from_row(row).map(|entry| (entry.id, entry));
        Ok(LedgerState {
            entries: rows.iter().map(read).collect::<Result<_, _>>()?,
            workspace: self.workspace_state().await?,
        })
    }

    /// Returns the number of events that the workspace-level state is folded from.
    #[doc(hidden)]
    pub async fn workspace_events(&mut self) -> Result<usize, StoreError> {
        let histories = self.histories(&[WORKSPACE_NAME.to_owned()]).await?;
        Ok(histories.values().map(Vec::len).sum())
    }
}

pub(super) fn entry_from_row(row: &PgRow) -> Result<Entry, StoreError> {
    read_entry(column(row, 0)?)
}

/// Appends the SQL conditions of `filter` on a row `e` of `ken.entries`, without its limit.
pub(super) fn push_condition(query: &mut QueryBuilder<Postgres>, filter: &EntryFilter) {
    query.push(match filter.lifecycle {
        LifecycleFilter::Live => " AND e.worded AND e.live",
        LifecycleFilter::Archived => " AND e.worded AND e.archived",
        LifecycleFilter::Retracted => " AND e.worded AND e.retracted",
        LifecycleFilter::All => " AND e.worded",
    });
    let columns = [
        filter.memory.map(|it| ("e.memory", it.name().to_owned())),
        filter.kind.map(|it| ("e.kind", it.name().to_owned())),
        filter.status.map(|it| ("e.status", it.name().to_owned())),
        filter
            .lens
            .as_ref()
            .map(|it| ("e.lens", without_nul(it.as_str()))),
    ];
    for (name, value) in columns.into_iter().flatten() {
        query.push(format_args!(" AND {name} = ")).push_bind(value);
    }
    if !filter.kinds.is_empty() {
        let names: Vec<&str> = filter.kinds.iter().map(|kind| kind.name()).collect();
        query.push(" AND e.kind = ANY (").push_bind(names).push(")");
    }
    for tags in [filter.tag.as_slice(), &filter.tags] {
        if tags.is_empty() {
            continue;
        }
        let tags: Vec<String> = tags.iter().map(Tag::as_str).map(without_nul).collect();
        query.push(" AND EXISTS (SELECT FROM unnest(e.tags) AS has (tag), unnest(");
        query.push_bind(tags);
        query.push(") AS u (wanted) WHERE tag = wanted OR starts_with(tag, wanted || '/'))");
    }
}
