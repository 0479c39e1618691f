//! Writes a resolved change and its projections, in one statement if no row has to be deleted.

use std::collections::BTreeMap;

use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::workspace::concerns_workspace;
use ken_core::values::id::EntryId;
use ken_core::values::time::Timestamp;
use pgvector::HalfVector;
use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use uuid::Uuid;

use super::copies::ResolvedChange;
use super::preload::WORKSPACE_NAME;
use super::project::{ProjectionUpdate, WorkspaceUpdate};
use super::rows::{BETWEEN_PATHS, BETWEEN_TAGS, EntryTableRow, SearchTableRow, embedding_model};
use super::{StoreError, column, uuid, uuids};
use crate::database::{EventPusher, WorkspaceTx, millis, without_nul};

/// Inserts events, subjects, entries and search rows. Parameters: `$1` the workspace, `$2` to `$37`
/// the columns of [`bind_rows`]. `$at` is the log position before the events, or null to insert
/// nothing; `$entry` and `$found` are the conflict clauses; `$end` is the final statement.
macro_rules! rows {
    ($at:literal, $entry:literal, $found:literal, $end:literal) => {
        concat!(
            "WITH at AS MATERIALIZED (SELECT ", $at, " AS last), logged AS (
    INSERT INTO ken.events (workspace_id, seq, id, at, type, blanked, line, pusher, token_id, received_at)
    SELECT $1, at.last + u.seq, u.id, u.at, u.type, u.blanked, u.line, u.pusher, u.token_id, u.received_at
    FROM at, unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::text[],
        $35::text[], $36::uuid[], $37::bigint[])
        AS u (seq, id, at, type, blanked, line, pusher, token_id, received_at)
    WHERE 0 <= at.last
), about AS (
    INSERT INTO ken.subjects (workspace_id, entry, seq)
    SELECT $1, u.entry, at.last + u.seq FROM at, unnest($8::text[], $9::bigint[]) AS u (entry, seq)
    WHERE 0 <= at.last
), folded AS (
    INSERT INTO ken.entries AS e (workspace_id, id, memory, kind, status, lens, alias, created, updated,
        worded, live, archived, retracted, tombstone, global, tags, json)
    SELECT $1, id, memory, kind, status, lens, alias, created, updated,
        worded, live, archived, retracted, tombstone, global, string_to_array(tags, $26), json
    FROM at, unnest($10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],
        $17::text[], $18::boolean[], $19::boolean[], $20::boolean[], $21::boolean[], $22::boolean[],
        $23::boolean[], $24::text[], $25::text[])
        AS u (id, memory, kind, status, lens, alias, created, updated,
            worded, live, archived, retracted, tombstone, global, tags, json)
    WHERE 0 <= at.last
    ", $entry, "
), found AS (
    INSERT INTO ken.searchable (workspace_id, entry, live, words, length, paths, model, vector)
    SELECT $1, entry, live, words, length, string_to_array(paths, $33), $34, vector
    FROM at, unnest($27::text[], $28::boolean[], $29::tsvector[], $30::integer[], $31::text[], $32::halfvec[])
        AS u (entry, live, words, length, paths, vector)
    WHERE 0 <= at.last
    ", $found, "
)
", $end
        )
    };
}

/// Inserts rows at known positions and moves the log's head; `$entry` and `$found` as in `rows`.
macro_rules! write_at {
    ($entry:literal, $found:literal) => {
        rows!(
            "0::bigint",
            $entry,
            $found,
            "UPDATE ken.workspaces SET head = $39, folded = $39, events = events + $40, bytes = bytes + $41,
    appended_at = CASE WHEN 0 < cardinality($2::bigint[]) THEN $42 ELSE appended_at END,
    taken_back = taken_back OR true = ANY ($22)
WHERE organization_id = $38 AND id = $1"
        )
    };
}

/// For new entries only: without a conflict clause PostgreSQL has nothing to look up.
const WRITE_NEW: &str = write_at!("", "");

/// For entries that may exist already.
const WRITE_OVER: &str = write_at!(
    "ON CONFLICT (workspace_id, id) DO UPDATE SET kind = excluded.kind, status = excluded.status,
        lens = excluded.lens, alias = excluded.alias, created = excluded.created, updated = excluded.updated,
        worded = excluded.worded, live = excluded.live, archived = excluded.archived,
        retracted = excluded.retracted, tombstone = excluded.tombstone, global = excluded.global,
        tags = excluded.tags, json = excluded.json",
    "ON CONFLICT (workspace_id, entry) DO UPDATE SET live = excluded.live, words = excluded.words, length = excluded.length,
        paths = excluded.paths, model = excluded.model, vector = excluded.vector, place = NULL"
);

/// Fast append of new events, a transaction of its own: enters the workspace, reserves positions in
/// its log and adds a record to the audit log. Returns the position before the events; null or a
/// negative number if nothing was written.
pub(super) const WRITE_FAST: &str = rows!(
    "ken.take_places($38, $1, $3, $8, $39, $40, $41, $42, $43)",
    "",
    "",
    ", noted AS (
    INSERT INTO ken.audit (workspace_id, id, at, by, role, act, subject, token_id, address, outcome, events,
        event_count, authors, entries)
    SELECT $1, $44::uuid, $40, $45, $46, $47, $48, $49::uuid, $50, $51, $52::uuid[], $53::bigint,
        $54::text[], $55::text[]
    FROM at WHERE 0 <= at.last AND $44 IS NOT NULL
)
SELECT last FROM at"
);

/// How an event reached the hub. All members are `None` for events of before this was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EventArrival {
    pusher: Option<String>,
    token: Option<Uuid>,
    received: Option<i64>,
}

impl EventArrival {
    /// Returns the arrival of an event at `now`.
    pub(super) fn new(pusher: Option<&EventPusher>, now: Timestamp) -> Self {
        Self {
            pusher: pusher.map(|it| without_nul(&it.actor)),
            token: pusher.and_then(|it| it.token),
            received: Some(millis(now)),
        }
    }
}

/// Events as column arrays.
#[derive(Default)]
pub(super) struct LogColumns<'a> {
    seqs: Vec<i64>,
    ids: Vec<Uuid>,
    ats: Vec<String>,
    types: Vec<&'a str>,
    blanked: Vec<bool>,
    lines: Vec<&'a str>,
    pushers: Vec<Option<String>>,
    tokens: Vec<Option<Uuid>>,
    received: Vec<Option<i64>>,
    subjects: Vec<String>,
    subject_seqs: Vec<i64>,
    /// Total size of the lines in bytes.
    pub(super) bytes: i64,
}

impl<'a> LogColumns<'a> {
    /// Returns events with their arrival as columns, at consecutive positions after `last`.
    pub(super) fn after<'r>(
        last: i64,
        copies: impl IntoIterator<Item = (&'a RecordedEvent, &'r EventArrival)>,
    ) -> Self {
        let mut columns = Self::default();
        for (seq, (copy, arrival)) in (last + 1..).zip(copies) {
            columns.push(seq, copy);
            columns.pushers.push(arrival.pusher.clone());
            columns.tokens.push(arrival.token);
            columns.received.push(arrival.received);
        }
        columns
    }

    fn push(&mut self, seq: i64, copy: &'a RecordedEvent) {
        let event = &copy.event;
        self.seqs.push(seq);
        self.ids.push(uuid(event.id));
        self.ats.push(event.at.to_string());
        self.types.push(event.body.type_name());
        self.blanked.push(copy.is_redacted());
        self.lines.push(copy.line());
        self.bytes += bytes(copy);
        self.push_subjects(seq, copy);
    }

    pub(super) fn push_subjects(&mut self, seq: i64, copy: &RecordedEvent) {
        for name in subjects(copy) {
            self.subjects.push(name);
            self.subject_seqs.push(seq);
        }
    }

    pub(super) fn count(&self) -> i64 {
        i64::try_from(self.seqs.len()).unwrap_or(i64::MAX)
    }
}

/// Returns the names of the entries an event is about, each once, and the workspace's name if the
/// event concerns its state.
fn subjects(copy: &RecordedEvent) -> Vec<String> {
    let entries: std::collections::BTreeSet<EntryId> = copy.event.entries().collect();
    let mut names: Vec<String> = entries.iter().map(ToString::to_string).collect();
    if concerns_workspace(&copy.event) {
        names.push(WORKSPACE_NAME.to_owned());
    }
    names
}

/// Binds the rows to write to a statement, `$1` to `$37`.
pub(super) fn bind_rows(
    statement: &'static str,
    key: Uuid,
    log: &LogColumns<'_>,
    projection: &ProjectionUpdate,
) -> Query<'static, Postgres, PgArguments> {
    let (entries, searchable) = (&projection.entries, &projection.searchable);
    let texts =
        |read: fn(&EntryTableRow) -> &str| -> Vec<&str> { entries.iter().map(read).collect() };
    let flags =
        |read: fn(&EntryTableRow) -> bool| -> Vec<bool> { entries.iter().map(read).collect() };
    let maybe = |read: fn(&EntryTableRow) -> Option<&str>| -> Vec<Option<&str>> {
        entries.iter().map(read).collect()
    };
    let words =
        |read: fn(&SearchTableRow) -> &str| -> Vec<&str> { searchable.iter().map(read).collect() };
    let counts: Vec<i32> = searchable.iter().map(|row| row.words.count()).collect();
    let vectors: Vec<Option<HalfVector>> =
        searchable.iter().map(|row| row.vector.clone()).collect();
    // The order must match the parameters of `rows`.
    sqlx::query(statement)
        .bind(key)
        .bind(&log.seqs)
        .bind(&log.ids)
        .bind(&log.ats)
        .bind(&log.types)
        .bind(&log.blanked)
        .bind(&log.lines)
        .bind(&log.subjects)
        .bind(&log.subject_seqs)
        .bind(texts(|row| &row.id))
        .bind(texts(|row| row.memory))
        .bind(maybe(|row| row.kind))
        .bind(texts(|row| row.status))
        .bind(maybe(|row| row.lens.as_deref()))
        .bind(maybe(|row| row.alias.as_deref()))
        .bind(texts(|row| &row.created))
        .bind(texts(|row| &row.updated))
        .bind(flags(|row| row.worded))
        .bind(flags(|row| row.live))
        .bind(flags(|row| row.archived))
        .bind(flags(|row| row.retracted))
        .bind(flags(|row| row.tombstone))
        .bind(flags(|row| row.global))
        .bind(texts(|row| &row.tags))
        .bind(texts(|row| &row.json))
        .bind(BETWEEN_TAGS)
        .bind(words(|row| &row.entry))
        .bind(searchable.iter().map(|row| row.live).collect::<Vec<_>>())
        .bind(searchable.iter().map(|row| &row.words).collect::<Vec<_>>())
        .bind(counts)
        .bind(words(|row| &row.paths))
        .bind(vectors)
        .bind(BETWEEN_PATHS)
        .bind(embedding_model().id.as_ref())
        .bind(&log.pushers)
        .bind(&log.tokens)
        .bind(&log.received)
}

fn bytes(copy: &RecordedEvent) -> i64 {
    i64::try_from(copy.line().len()).unwrap_or(i64::MAX)
}

/// Number and size of the events that a change deletes.
#[derive(Clone, Copy, Debug, Default)]
struct RemovedTotals {
    events: i64,
    bytes: i64,
}

impl WorkspaceTx {
    /// Writes a change and its projections. Returns the new head of the log.
    pub(super) async fn write(
        &mut self,
        head: i64,
        resolved: &ResolvedChange,
        projection: &ProjectionUpdate,
    ) -> Result<i64, StoreError> {
        // Old forms are deleted first: their new forms reuse the event ids, which are unique per
        // workspace.
        let (removed, arrivals) = self.delete_displaced(resolved).await?;
        self.write_redactions(resolved).await?;
        let fresh = EventArrival::new(self.pusher(), self.now());
        let changed = resolved.changed.iter().map(|(before, now)| {
            // A redaction changes the form of an event, not how the event came here. Another
            // version of the event came with this push.
            let is_same = before.copy.redacted().line() == now.redacted().line();
            let arrival = arrivals.get(&before.seq).filter(|_| is_same);
            (now, arrival.unwrap_or(&fresh))
        });
        let new = resolved.new.iter().map(|copy| (copy, &fresh));
        let columns = LogColumns::after(head, new.chain(changed));
        let head = head + columns.count();
        self.write_rows(head, &columns, projection, removed).await?;
        self.delete_obsolete_rows(projection).await?;
        Ok(head)
    }

    /// Inserts events and entries without deleting any; sufficient for a rebuild, which starts from
    /// empty tables.
    pub(super) async fn insert_rows(
        &mut self,
        head: i64,
        columns: &LogColumns<'_>,
        projection: &ProjectionUpdate,
    ) -> Result<(), StoreError> {
        let removed = RemovedTotals::default();
        self.write_rows(head, columns, projection, removed).await
    }

    async fn write_rows(
        &mut self,
        head: i64,
        log: &LogColumns<'_>,
        projection: &ProjectionUpdate,
        removed: RemovedTotals,
    ) -> Result<(), StoreError> {
        let (organization, key) = (self.organization().0, self.key());
        let write = if projection.may_overwrite {
            WRITE_OVER
        } else {
            WRITE_NEW
        };
        let now = self.now();
        bind_rows(write, key, log, projection)
            .bind(organization)
            .bind(head)
            // A replaced event counts as inserted and as removed, so the counters change by the
            // difference.
            .bind(log.count() - removed.events)
            .bind(log.bytes - removed.bytes)
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Deletes replaced and removed events from their positions, and returns how they came. The
    /// positions are kept in `ken.moved`, so that cursors of readers stay valid.
    async fn delete_displaced(
        &mut self,
        resolved: &ResolvedChange,
    ) -> Result<(RemovedTotals, BTreeMap<i64, EventArrival>), StoreError> {
        let changed = resolved.changed.iter().map(|(displaced, _)| displaced);
        let displaced: Vec<_> = changed.chain(&resolved.removed).collect();
        if displaced.is_empty() {
            return Ok((RemovedTotals::default(), BTreeMap::new()));
        }
        let key = self.key();
        let seqs: Vec<i64> = displaced.iter().map(|event| event.seq).collect();
        let (mut names, mut subject_seqs) = (Vec::new(), Vec::new());
        for event in &displaced {
            for name in subjects(&event.copy) {
                names.push(name);
                subject_seqs.push(event.seq);
            }
        }
        let rows = sqlx::query(
            "WITH gone AS (
                 DELETE FROM ken.events WHERE workspace_id = $1 AND seq = ANY ($2)
                 RETURNING seq, id, pusher, token_id, received_at
             ), about AS (
                 DELETE FROM ken.subjects WHERE workspace_id = $1
                     AND (entry, seq) IN (SELECT * FROM unnest($3::text[], $4::bigint[]))
             ), moved AS (
                 INSERT INTO ken.moved (workspace_id, seq, event) SELECT $1, seq, id FROM gone
             )
             SELECT seq, pusher, token_id, received_at FROM gone",
        )
        .bind(key)
        .bind(&seqs)
        .bind(&names)
        .bind(&subject_seqs)
        .fetch_all(self.connection())
        .await?;
        let mut arrivals = BTreeMap::new();
        for row in &rows {
            let arrival = EventArrival {
                pusher: column(row, 1)?,
                token: column(row, 2)?,
                received: column(row, 3)?,
            };
            arrivals.insert(column(row, 0)?, arrival);
        }
        let totals = RemovedTotals {
            events: i64::try_from(displaced.len()).unwrap_or(i64::MAX),
            bytes: displaced.iter().map(|event| bytes(&event.copy)).sum(),
        };
        Ok((totals, arrivals))
    }

    async fn write_redactions(&mut self, resolved: &ResolvedChange) -> Result<(), StoreError> {
        let key = self.key();
        if !resolved.removed.is_empty() {
            let ids = uuids(resolved.removed.iter().map(|event| &event.copy.event.id));
            sqlx::query("DELETE FROM ken.orders WHERE workspace_id = $1 AND event = ANY ($2)")
                .bind(key)
                .bind(ids)
                .execute(self.connection())
                .await?;
        }
        if resolved.redactions.is_empty() {
            return Ok(());
        }
        let targets = uuids(resolved.redactions.iter().map(|(target, _)| target));
        let events = uuids(resolved.redactions.iter().map(|(_, event)| event));
        sqlx::query(
            "INSERT INTO ken.orders (workspace_id, target, event)
             SELECT $1, * FROM unnest($2::uuid[], $3::uuid[]) ON CONFLICT DO NOTHING",
        )
        .bind(key)
        .bind(&targets)
        .bind(events)
        .execute(self.connection())
        .await?;
        self.redact_published_sources(&targets).await
    }

    /// Deletes obsolete rows, and writes the workspace-level state and the published entries.
    async fn delete_obsolete_rows(
        &mut self,
        projection: &ProjectionUpdate,
    ) -> Result<(), StoreError> {
        let key = self.key();
        let names =
            |ids: &[EntryId]| -> Vec<String> { ids.iter().map(ToString::to_string).collect() };
        let tables = [
            (
                "DELETE FROM ken.entries WHERE workspace_id = $1 AND id = ANY ($2)",
                &projection.deleted,
            ),
            (
                "DELETE FROM ken.searchable WHERE workspace_id = $1 AND entry = ANY ($2)",
                &projection.unsearchable,
            ),
        ];
        for (delete, ids) in tables.into_iter().filter(|(_, ids)| !ids.is_empty()) {
            sqlx::query(delete)
                .bind(key)
                .bind(names(ids))
                .execute(self.connection())
                .await?;
        }
        self.write_workspace(projection).await?;
        self.write_published(projection).await
    }

    pub(super) async fn write_workspace(
        &mut self,
        projection: &ProjectionUpdate,
    ) -> Result<(), StoreError> {
        let key = self.key();
        let workspace = match &projection.workspace {
            WorkspaceUpdate::Unchanged => return Ok(()),
            WorkspaceUpdate::Folded(workspace) => workspace,
            WorkspaceUpdate::Gone => {
                sqlx::query("DELETE FROM ken.workspace_states WHERE workspace_id = $1")
                    .bind(key)
                    .execute(self.connection())
                    .await?;
                return Ok(());
            }
        };
        let json = serde_json::to_string(workspace).map_err(StoreError::damaged)?;
        sqlx::query(
            "INSERT INTO ken.workspace_states VALUES ($1, $2)
             ON CONFLICT (workspace_id) DO UPDATE SET json = excluded.json",
        )
        .bind(key)
        .bind(json)
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
