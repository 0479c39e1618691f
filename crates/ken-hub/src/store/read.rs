//! Questions about entries and events, as every store answers them.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId};
use ken_core::kind::Prefix;
use ken_core::state::State;
use ken_core::store::{Filter, Shelf};
use ken_core::text::Tag;
use ken_core::workspace::Workspace;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder};

use super::known::OF_WORKSPACE;
use super::project::read_entry;
use super::settle::parse;
use super::{StoreError, column, event_id, uuid, uuids};
use crate::database::{Tenant, without_nul};

/// Candidates an ambiguous beginning lists.
const CANDIDATES_MAX: i64 = 20;

/// Events one question answers with at most.
pub const EVENTS_MAX: i64 = 10_000;

/// Entries one listing holds at most: what a repository is made for.
pub const ENTRIES_MAX: i64 = 100_000;

/// The type of events that say whether an entry helped.
const FEEDBACK: &str = "feedback.given";

/// Comes after every character of an id.
const END: char = '\u{10ffff}';

/// Where a listing goes on: behind this entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// When the entry was proposed; nothing while that is not known.
    pub created: Option<Hlc>,
    pub id: EntryId,
}

impl After {
    /// Returns the place behind an entry.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        Self {
            created: entry.created.as_ref().map(|created| created.at),
            id: entry.id,
        }
    }
}

impl Tenant {
    /// Returns an entry by its full id.
    pub async fn entry(&mut self, id: EntryId) -> Result<Option<Entry>, StoreError> {
        let key = self.key();
        let row = sqlx::query("SELECT json FROM ken.entries WHERE workspace_id = $1 AND id = $2")
            .bind(key)
            .bind(id.to_string())
            .fetch_optional(self.reading())
            .await?;
        row.as_ref().map(entry_of).transpose()
    }

    /// Returns those of the entries that there are, in no order.
    pub async fn entries(&mut self, ids: &[EntryId]) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let query = "SELECT json FROM ken.entries WHERE workspace_id = $1 AND id = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .fetch_all(self.reading())
            .await?;
        rows.iter().map(entry_of).collect()
    }

    /// Returns an event by its id.
    pub async fn event(&mut self, id: EventId) -> Result<Option<Recorded>, StoreError> {
        let key = self.key();
        let row = sqlx::query("SELECT line FROM ken.events WHERE workspace_id = $1 AND id = $2")
            .bind(key)
            .bind(uuid(id))
            .fetch_optional(self.reading())
            .await?;
        row.map(|row| parse(column(&row, 0)?)).transpose()
    }

    /// Returns those of the events the log has, by id.
    pub async fn copies(
        &mut self,
        ids: &[EventId],
    ) -> Result<BTreeMap<EventId, Recorded>, StoreError> {
        let key = self.key();
        let query = "SELECT line FROM ken.events WHERE workspace_id = $1 AND id = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.reading())
            .await?;
        let read = |row| parse(column(row, 0)?).map(|copy| (copy.event.id, copy));
        rows.iter().map(read).collect()
    }

    /// Returns what was said about whether these entries helped.
    pub async fn feedback_on(&mut self, ids: &[EntryId]) -> Result<Vec<Recorded>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.key();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let query = "SELECT DISTINCT e.line FROM ken.subjects s CROSS JOIN LATERAL (
                 SELECT l.line FROM ken.events l WHERE l.workspace_id = $1 AND l.seq = s.seq AND l.type = $3 OFFSET 0
             ) AS e
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .bind(FEEDBACK)
            .fetch_all(self.reading())
            .await?;
        rows.iter().map(|row| parse(column(row, 0)?)).collect()
    }

    /// Returns those of the events that are blanked whoever brings them: by an order, or because the hub remembers.
    pub async fn ordered_blank(
        &mut self,
        ids: &[EventId],
    ) -> Result<BTreeSet<EventId>, StoreError> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let key = self.key();
        let query = "SELECT target FROM ken.orders WHERE workspace_id = $1 AND target = ANY ($2)
             UNION SELECT event FROM ken.remembered WHERE workspace_id = $1 AND event = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(uuids(ids))
            .fetch_all(self.reading())
            .await?;
        rows.iter()
            .map(|row| Ok(event_id(column(row, 0)?)))
            .collect()
    }

    /// Returns the events of an entry in canonical order; of more than [`EVENTS_MAX`] the latest.
    pub async fn history(&mut self, id: EntryId) -> Result<Vec<Recorded>, StoreError> {
        let key = self.key();
        let query = "SELECT e.line FROM ken.subjects s CROSS JOIN LATERAL (
                 SELECT l.id, l.at, l.line FROM ken.events l WHERE l.workspace_id = $1 AND l.seq = s.seq OFFSET 0
             ) AS e
             WHERE s.workspace_id = $1 AND s.entry = $2 ORDER BY e.at DESC, e.id DESC LIMIT $3";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(id.to_string())
            .bind(EVENTS_MAX)
            .fetch_all(self.reading())
            .await?;
        rows.iter()
            .rev()
            .map(|row| parse(column(row, 0)?))
            .collect()
    }

    /// Returns the ids that begin with `beginning`, its letter given or not, or the one whose alias is exactly that.
    ///
    /// A whole id means that entry and no other, whatever aliases say.
    pub async fn find(&mut self, beginning: &str) -> Result<Vec<EntryId>, StoreError> {
        if beginning.is_empty() {
            return Ok(Vec::new());
        }
        let beginning = without_nul(beginning);
        let tail = beginning.to_lowercase();
        let id = match tail.split_once('-') {
            Some((letter, rest)) => format!("{}-{rest}", letter.to_uppercase()),
            None => tail.to_uppercase(),
        };
        if let Ok(whole) = id.parse::<EntryId>()
            && self.entry(whole).await?.is_some()
        {
            return Ok(vec![whole]);
        }
        // Few letters stand before a dash, so a beginning without one is as many beginnings.
        let mut starts: Vec<String> = vec![id];
        starts.extend(Prefix::ALL.map(|prefix| format!("{prefix}-{tail}")));
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
            .bind(beginning)
            .bind(CANDIDATES_MAX)
            .fetch_all(self.reading())
            .await?;
        let read = |row: &PgRow| column::<&str>(row, 0)?.parse().map_err(StoreError::damaged);
        rows.iter().map(read).collect()
    }

    /// Returns the entries `filter` wants that come behind `after`, newest first; no more than
    /// `limit`, the filter's or [`ENTRIES_MAX`].
    pub async fn list(
        &mut self,
        filter: &Filter,
        after: Option<&After>,
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
        let rows = query.build().fetch_all(self.reading()).await?;
        rows.iter().map(entry_of).collect()
    }

    /// Returns retracted entries that refuse being proposed again.
    pub async fn tombstones(&mut self) -> Result<Vec<Entry>, StoreError> {
        let key = self.key();
        let query =
            "SELECT json FROM ken.entries WHERE workspace_id = $1 AND tombstone ORDER BY id";
        let rows = sqlx::query(query)
            .bind(key)
            .fetch_all(self.reading())
            .await?;
        rows.iter().map(entry_of).collect()
    }

    /// Returns the state that belongs to no entry.
    pub async fn workspace(&mut self) -> Result<Workspace, StoreError> {
        let key = self.key();
        let row = sqlx::query("SELECT json FROM ken.workspace_states WHERE workspace_id = $1")
            .bind(key)
            .fetch_optional(self.reading())
            .await?;
        let Some(row) = row else {
            return Ok(Workspace::default());
        };
        serde_json::from_str(column(&row, 0)?).map_err(StoreError::damaged)
    }

    /// Returns the latest clock reading not beyond `limit`.
    pub async fn latest(&mut self, limit: Hlc) -> Result<Option<Hlc>, StoreError> {
        let key = self.key();
        let query = "SELECT max(at) FROM ken.events WHERE workspace_id = $1 AND at <= $2";
        let row = sqlx::query(query)
            .bind(key)
            .bind(limit.to_string())
            .fetch_one(self.reading())
            .await?;
        let at: Option<&str> = column(&row, 0)?;
        at.map(|at| at.parse().map_err(StoreError::damaged))
            .transpose()
    }

    /// Takes the workspace's row: nobody else decides or appends until this transaction ends.
    pub async fn lock(&mut self) -> Result<(), StoreError> {
        let (organisation, key) = (self.organisation().0, self.key());
        let query =
            "SELECT FROM ken.workspaces WHERE organisation_id = $1 AND id = $2 FOR NO KEY UPDATE";
        sqlx::query(query)
            .bind(organisation)
            .bind(key)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns everything; for comparisons and export.
    pub async fn state(&mut self) -> Result<State, StoreError> {
        let key = self.key();
        let rows = sqlx::query("SELECT json FROM ken.entries WHERE workspace_id = $1")
            .bind(key)
            .fetch_all(self.reading())
            .await?;
        let read = |row| entry_of(row).map(|entry| (entry.id, entry));
        Ok(State {
            entries: rows.iter().map(read).collect::<Result<_, _>>()?,
            workspace: self.workspace().await?,
        })
    }

    /// Returns how many events the workspace's own state follows from.
    #[doc(hidden)]
    pub async fn workspace_events(&mut self) -> Result<usize, StoreError> {
        let histories = self.histories(&[OF_WORKSPACE.to_owned()]).await?;
        Ok(histories.values().map(Vec::len).sum())
    }
}

pub(super) fn entry_of(row: &PgRow) -> Result<Entry, StoreError> {
    read_entry(column(row, 0)?)
}

/// Says what a row `e` of `ken.entries` must fulfil for `filter`, its limit left aside.
pub(super) fn push_condition(query: &mut QueryBuilder<Postgres>, filter: &Filter) {
    query.push(match filter.shelf {
        Shelf::Live => " AND e.worded AND e.live",
        Shelf::Archived => " AND e.worded AND e.archived",
        Shelf::Retracted => " AND e.worded AND e.retracted",
        Shelf::All => " AND e.worded",
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
