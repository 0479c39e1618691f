//! Preload: the rows that a change needs before it can be resolved, requested in one query.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ken_core::ledger::event::{Event, EventBody, RecordedEvent};
use ken_core::ledger::state::redaction_target;
use ken_core::ledger::workspace::concerns_workspace;
use ken_core::values::id::{EntryId, EventId};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::copies::{PriorLogState, StoredEvent};
use super::{StoreError, event_id, uuid};
use crate::database::{DatabaseError, EagerQuery, HubDatabase, WorkspaceTx};
use crate::ids::{OrganizationId, WorkspaceId};

/// Name that stands for the workspace itself among entry names.
pub(super) const WORKSPACE_NAME: &str = "";

/// Entry names, or [`WORKSPACE_NAME`], with the events that each is folded from.
pub(super) type EntryHistories = BTreeMap<String, Vec<(EventId, String)>>;

/// An entry as stored.
#[derive(Clone, Debug)]
pub(super) struct StoredEntryJson {
    pub(super) json: String,
    pub(super) is_global: bool,
}

/// Ids and names whose rows a change needs.
#[derive(Debug, Default)]
pub(super) struct PreloadQuery {
    pub(super) ids: BTreeSet<EventId>,
    /// Names of entries that the change may affect.
    pub(super) touched: BTreeSet<String>,
    /// Names of entries, or of the workspace, that presumably have to be folded again and need
    /// their history.
    pub(super) full_histories: BTreeSet<String>,
}

/// Rows returned by the preload.
#[derive(Debug, Default)]
pub(super) struct PreloadedRows {
    /// Position of the last event.
    pub(super) head: i64,
    pub(super) prior_log: PriorLogState,
    pub(super) entries: BTreeMap<EntryId, StoredEntryJson>,
    pub(super) histories: EntryHistories,
}

impl PreloadQuery {
    /// Returns the query for appending `incoming`; `others` are ids of further events that change.
    pub(super) fn for_events(incoming: &[RecordedEvent], others: &[EventId]) -> Self {
        let mut query = Self {
            ids: others.iter().copied().collect(),
            ..Self::default()
        };
        for copy in incoming {
            query.ids.insert(copy.event.id);
            query.ids.extend(redaction_target(&copy.event));
            // Loading histories is the expensive part, so it is skipped for events that a stored
            // entry can absorb.
            let adds_up = is_absorbable(&copy.event);
            for entry in copy.event.entries() {
                let name = entry.to_string();
                if !adds_up {
                    query.full_histories.insert(name.clone());
                }
                query.touched.insert(name);
            }
            if concerns_workspace(&copy.event) {
                query.full_histories.insert(WORKSPACE_NAME.to_owned());
            }
        }
        query
    }

    /// Returns the query as SQL text, so it can travel in the message that begins the transaction.
    ///
    /// Ids are formatted from numbers, and names consist of letters, digits and a hyphen: none can
    /// end its quotes.
    fn to_sql(&self, organization: Uuid, workspace: Uuid) -> String {
        let mut text = format!(
            "SELECT part, event, entry, seq, is_global, line FROM ken.for_append('{}', '{}', '{{",
            organization.hyphenated(),
            workspace.hyphenated()
        );
        let mut between = "";
        for id in &self.ids {
            let _ = write!(text, "{between}{}", uuid(*id).hyphenated());
            between = ",";
        }
        for names in [&self.touched, &self.full_histories] {
            text.push_str("}', '{");
            let mut between = "";
            for name in names {
                let _ = write!(text, "{between}\"{name}\"");
                between = ",";
            }
        }
        text.push_str("}')");
        text
    }
}

/// Returns whether an event can be absorbed into a stored entry without its other events.
fn is_absorbable(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::RunEffects(_) | EventBody::FeedbackGiven(_) | EventBody::ConfidenceReset(_)
    )
}

/// Kind of a result row, as numbered by `ken.for_append`.
#[derive(Clone, Copy, Debug)]
enum PreloadRowKind {
    Head,
    /// An event in the log.
    LoggedEvent,
    /// An event to redact.
    Redacted,
    Entry,
    /// An event that an entry, or the workspace, is folded from.
    History,
}

impl TryFrom<i16> for PreloadRowKind {
    type Error = StoreError;

    fn try_from(number: i16) -> Result<Self, StoreError> {
        match number {
            0 => Ok(Self::Head),
            1 => Ok(Self::LoggedEvent),
            2 => Ok(Self::Redacted),
            3 => Ok(Self::Entry),
            4 => Ok(Self::History),
            other => Err(StoreError::damaged(format!("unknown row kind {other}"))),
        }
    }
}

impl PreloadedRows {
    fn add_row(&mut self, row: &PgRow) -> Result<(), StoreError> {
        match PreloadRowKind::try_from(row.try_get::<i16, _>("part")?)? {
            PreloadRowKind::Head => self.head = row.try_get("seq")?,
            PreloadRowKind::LoggedEvent => {
                let (seq, line) = (row.try_get("seq")?, row.try_get("line")?);
                let id = event_id(row.try_get("event")?);
                self.prior_log.events.insert(id, StoredEvent { seq, line });
            }
            PreloadRowKind::Redacted => {
                let id = event_id(row.try_get("event")?);
                self.prior_log.redacted.insert(id);
            }
            PreloadRowKind::Entry => {
                let id: &str = row.try_get("entry")?;
                let id = id.parse().map_err(StoreError::damaged)?;
                let (json, is_global) = (row.try_get("line")?, row.try_get("is_global")?);
                self.entries.insert(id, StoredEntryJson { json, is_global });
            }
            PreloadRowKind::History => {
                let events = self.histories.entry(row.try_get("entry")?).or_default();
                events.push((event_id(row.try_get("event")?), row.try_get("line")?));
            }
        }
        Ok(())
    }
}

impl HubDatabase {
    /// Begins a transaction for an append. The preload query travels in the message that begins it,
    /// which saves a round trip.
    ///
    /// The workspace stays locked for other writers until the transaction ends.
    pub async fn begin_append(
        &self,
        organization: OrganizationId,
        workspace: WorkspaceId,
        copies: &[RecordedEvent],
    ) -> Result<WorkspaceTx, DatabaseError> {
        let sql = PreloadQuery::for_events(copies, &[]).to_sql(organization.0, workspace.0);
        // Not prepared: the literal arrays differ with every push.
        let query = EagerQuery {
            key: sql.clone(),
            sql,
            prepare: None,
        };
        self.begin_with_query(organization, workspace, query).await
    }
}

impl WorkspaceTx {
    /// Locks the workspace's row until the transaction ends, and returns the preloaded rows.
    pub(super) async fn preload_rows(
        &mut self,
        query: &PreloadQuery,
    ) -> Result<PreloadedRows, StoreError> {
        let sql = query.to_sql(self.organization().0, self.key());
        let mut preloaded = PreloadedRows::default();
        // The SQL text is the key: if lines were refused after the transaction began, the query
        // differs and is sent again.
        let rows = match self.take_eager_rows(&sql) {
            Some(rows) => rows,
            None => {
                let sql = sqlx::raw_sql(AssertSqlSafe(sql));
                sql.fetch_all(self.connection()).await?
            }
        };
        for row in rows {
            preloaded.add_row(&row)?;
        }
        Ok(preloaded)
    }

    /// Returns the events that entries, or the workspace, are folded from.
    pub(super) async fn histories(
        &mut self,
        names: &[String],
    ) -> Result<EntryHistories, StoreError> {
        let key = self.key();
        let query = "SELECT s.entry, e.id, e.line
             FROM ken.subjects s CROSS JOIN LATERAL (
                 SELECT l.id, l.line FROM ken.events l WHERE l.workspace_id = $1 AND l.seq = s.seq OFFSET 0
             ) AS e
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .fetch_all(self.read_connection())
            .await?;
        let mut histories = EntryHistories::new();
        for row in rows {
            let events = histories.entry(row.try_get(0)?).or_default();
            events.push((event_id(row.try_get(1)?), row.try_get(2)?));
        }
        Ok(histories)
    }
}
