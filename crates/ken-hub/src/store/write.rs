//! Writes a settled change and what follows from it, in one statement where nothing has to be taken away.

use ken_core::event::Recorded;
use ken_core::id::EntryId;
use ken_core::workspace::concerns_workspace;
use pgvector::HalfVector;
use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use uuid::Uuid;

use super::known::OF_WORKSPACE;
use super::project::Projection;
use super::rows::{BETWEEN_PATHS, BETWEEN_TAGS, EntryRow, SearchRow, model};
use super::settle::Settled;
use super::{StoreError, uuid, uuids};
use crate::database::{Tenant, millis};

/// Writes events, subjects, entries and what a search reads, in this order of parameters: `$1` the workspace, `$2` to `$34` the
/// columns of [`bound`]. `$at` says behind which place of the log the events stand, nothing for nowhere; `$entry` and
/// `$found` what becomes of rows that are there already; `$end` is what is done beside.
macro_rules! rows {
    ($at:literal, $entry:literal, $found:literal, $end:literal) => {
        concat!(
            "WITH at AS MATERIALIZED (SELECT ", $at, " AS last), logged AS (
    INSERT INTO ken.events (workspace_id, seq, id, at, type, blanked, line)
    SELECT $1, at.last + u.seq, u.id, u.at, u.type, u.blanked, u.line
    FROM at, unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::boolean[], $7::text[])
        AS u (seq, id, at, type, blanked, line)
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

/// Writes rows at places that are known, and moves the head; `$entry` and `$found` as in `rows`.
macro_rules! write_at {
    ($entry:literal, $found:literal) => {
        rows!(
            "0::bigint",
            $entry,
            $found,
            "UPDATE ken.workspaces SET head = $36, folded = $36, events = events + $37, bytes = bytes + $38,
    appended_at = CASE WHEN 0 < cardinality($2::bigint[]) THEN $39 ELSE appended_at END,
    taken_back = taken_back OR true = ANY ($22)
WHERE organisation_id = $35 AND id = $1"
        )
    };
}

/// For entries none of which was there: nothing has to be looked for.
const WRITE_NEW: &str = write_at!("", "");

/// For entries that may have been there.
const WRITE_OVER: &str = write_at!(
    "ON CONFLICT (workspace_id, id) DO UPDATE SET kind = excluded.kind, status = excluded.status,
        lens = excluded.lens, alias = excluded.alias, created = excluded.created, updated = excluded.updated,
        worded = excluded.worded, live = excluded.live, archived = excluded.archived,
        retracted = excluded.retracted, tombstone = excluded.tombstone, global = excluded.global,
        tags = excluded.tags, json = excluded.json",
    "ON CONFLICT (workspace_id, entry) DO UPDATE SET live = excluded.live, words = excluded.words, length = excluded.length,
        paths = excluded.paths, model = excluded.model, vector = excluded.vector"
);

/// For events of which nothing is there, a transaction by itself: enters the workspace, takes places in its log where that is
/// so, and writes an act into the audit log; returns the place before them, or nothing.
pub(super) const WRITE_FRESH: &str = rows!(
    "ken.take_places($35, $1, $3, $8, $36, $37, $38, $39, $40)",
    "",
    "",
    ", noted AS (
    INSERT INTO ken.audit (workspace_id, id, at, by, role, act, subject)
    SELECT $1, $41::uuid, $37, $42, $43, $44, $45 FROM at WHERE 0 <= at.last AND $41 IS NOT NULL
)
SELECT last FROM at"
);

/// Events as columns.
#[derive(Default)]
pub(super) struct LogColumns<'a> {
    seqs: Vec<i64>,
    ids: Vec<Uuid>,
    ats: Vec<String>,
    types: Vec<&'a str>,
    blanked: Vec<bool>,
    lines: Vec<&'a str>,
    subjects: Vec<String>,
    places: Vec<i64>,
    /// Bytes of the lines.
    pub(super) bytes: i64,
}

impl<'a> LogColumns<'a> {
    /// Returns events as columns, one behind the other from the place behind `last` on.
    pub(super) fn behind(last: i64, copies: impl IntoIterator<Item = &'a Recorded>) -> Self {
        let mut columns = Self::default();
        for (seq, copy) in (last + 1..).zip(copies) {
            columns.push(seq, copy);
        }
        columns
    }

    fn push(&mut self, seq: i64, copy: &'a Recorded) {
        let event = &copy.event;
        self.seqs.push(seq);
        self.ids.push(uuid(event.id));
        self.ats.push(event.at.to_string());
        self.types.push(event.body.type_name());
        self.blanked.push(copy.is_blanked());
        self.lines.push(copy.line());
        self.bytes += bytes(copy);
        self.push_subjects(seq, copy);
    }

    pub(super) fn push_subjects(&mut self, seq: i64, copy: &Recorded) {
        for name in subjects(copy) {
            self.subjects.push(name);
            self.places.push(seq);
        }
    }

    pub(super) fn count(&self) -> i64 {
        i64::try_from(self.seqs.len()).unwrap_or(i64::MAX)
    }
}

/// Returns the entries an event is about, each once, and the workspace's name where it is about that.
fn subjects(copy: &Recorded) -> Vec<String> {
    let entries: std::collections::BTreeSet<EntryId> = copy.event.entries().collect();
    let mut names: Vec<String> = entries.iter().map(ToString::to_string).collect();
    if concerns_workspace(&copy.event) {
        names.push(OF_WORKSPACE.to_owned());
    }
    names
}

/// Begins a statement with the rows that are to be written.
pub(super) fn bound(
    statement: &'static str,
    key: Uuid,
    log: &LogColumns<'_>,
    projection: &Projection,
) -> Query<'static, Postgres, PgArguments> {
    let (entries, found) = (&projection.entries, &projection.searchable);
    let texts = |read: fn(&EntryRow) -> &str| -> Vec<&str> { entries.iter().map(read).collect() };
    let flags = |read: fn(&EntryRow) -> bool| -> Vec<bool> { entries.iter().map(read).collect() };
    let maybe = |read: fn(&EntryRow) -> Option<&str>| -> Vec<Option<&str>> {
        entries.iter().map(read).collect()
    };
    let words = |read: fn(&SearchRow) -> &str| -> Vec<&str> { found.iter().map(read).collect() };
    let counts: Vec<i32> = found.iter().map(|row| row.words.count()).collect();
    let vectors: Vec<Option<HalfVector>> = found.iter().map(|row| row.vector.clone()).collect();
    sqlx::query(statement)
        .bind(key)
        .bind(&log.seqs)
        .bind(&log.ids)
        .bind(&log.ats)
        .bind(&log.types)
        .bind(&log.blanked)
        .bind(&log.lines)
        .bind(&log.subjects)
        .bind(&log.places)
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
        .bind(found.iter().map(|row| row.live).collect::<Vec<_>>())
        .bind(found.iter().map(|row| &row.words).collect::<Vec<_>>())
        .bind(counts)
        .bind(words(|row| &row.paths))
        .bind(vectors)
        .bind(BETWEEN_PATHS)
        .bind(model().id.as_ref())
}

fn bytes(copy: &Recorded) -> i64 {
    i64::try_from(copy.line().len()).unwrap_or(i64::MAX)
}

/// How the count of events and bytes changes beside what is written.
#[derive(Clone, Copy, Debug, Default)]
struct Fewer {
    events: i64,
    bytes: i64,
}

impl Tenant {
    /// Writes all of it; returns the new head.
    pub(super) async fn write(
        &mut self,
        head: i64,
        settled: &Settled,
        projection: &Projection,
    ) -> Result<i64, StoreError> {
        let fewer = self.take_out(settled).await?;
        self.write_orders(settled).await?;
        let now = settled.changed.iter().map(|(_, now)| now);
        let columns = LogColumns::behind(head, settled.new.iter().chain(now));
        let head = head + columns.count();
        self.write_rows(head, &columns, projection, fewer).await?;
        self.take_away(projection).await?;
        Ok(head)
    }

    /// Writes events and entries without taking anything away; used alone where everything is made again.
    pub(super) async fn write_made(
        &mut self,
        head: i64,
        columns: &LogColumns<'_>,
        projection: &Projection,
    ) -> Result<(), StoreError> {
        let fewer = Fewer::default();
        self.write_rows(head, columns, projection, fewer).await
    }

    async fn write_rows(
        &mut self,
        head: i64,
        log: &LogColumns<'_>,
        projection: &Projection,
        fewer: Fewer,
    ) -> Result<(), StoreError> {
        let (organisation, key) = (self.organisation().0, self.key());
        let write = match projection.is_over {
            true => WRITE_OVER,
            false => WRITE_NEW,
        };
        let now = self.now();
        bound(write, key, log, projection)
            .bind(organisation)
            .bind(head)
            .bind(log.count() - fewer.events)
            .bind(log.bytes - fewer.bytes)
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Takes events out of their places: they move to the end of the log, or never happened.
    async fn take_out(&mut self, settled: &Settled) -> Result<Fewer, StoreError> {
        let changed = settled.changed.iter().map(|(left, _)| left);
        let left: Vec<_> = changed.chain(&settled.removed).collect();
        if left.is_empty() {
            return Ok(Fewer::default());
        }
        let key = self.key();
        let seqs: Vec<i64> = left.iter().map(|left| left.seq).collect();
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for left in &left {
            for name in subjects(&left.copy) {
                names.push(name);
                places.push(left.seq);
            }
        }
        sqlx::query(
            "WITH gone AS (
                 DELETE FROM ken.events WHERE workspace_id = $1 AND seq = ANY ($2) RETURNING seq, id
             ), about AS (
                 DELETE FROM ken.subjects WHERE workspace_id = $1
                     AND (entry, seq) IN (SELECT * FROM unnest($3::text[], $4::bigint[]))
             )
             INSERT INTO ken.moved (workspace_id, seq, event) SELECT $1, seq, id FROM gone",
        )
        .bind(key)
        .bind(&seqs)
        .bind(&names)
        .bind(&places)
        .execute(self.connection())
        .await?;
        Ok(Fewer {
            events: i64::try_from(left.len()).unwrap_or(i64::MAX),
            bytes: left.iter().map(|left| bytes(&left.copy)).sum(),
        })
    }

    async fn write_orders(&mut self, settled: &Settled) -> Result<(), StoreError> {
        let key = self.key();
        if !settled.removed.is_empty() {
            let ids = uuids(settled.removed.iter().map(|left| &left.copy.event.id));
            sqlx::query("DELETE FROM ken.orders WHERE workspace_id = $1 AND event = ANY ($2)")
                .bind(key)
                .bind(ids)
                .execute(self.connection())
                .await?;
        }
        if settled.orders.is_empty() {
            return Ok(());
        }
        let targets = uuids(settled.orders.iter().map(|(target, _)| target));
        let events = uuids(settled.orders.iter().map(|(_, event)| event));
        sqlx::query(
            "INSERT INTO ken.orders (workspace_id, target, event)
             SELECT $1, * FROM unnest($2::uuid[], $3::uuid[]) ON CONFLICT DO NOTHING",
        )
        .bind(key)
        .bind(targets)
        .bind(events)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Takes away what entries left behind, writes the workspace's own state and what the organisation sees.
    async fn take_away(&mut self, projection: &Projection) -> Result<(), StoreError> {
        let key = self.key();
        let names =
            |ids: &[EntryId]| -> Vec<String> { ids.iter().map(ToString::to_string).collect() };
        let tables = [
            (
                "DELETE FROM ken.entries WHERE workspace_id = $1 AND id = ANY ($2)",
                &projection.gone,
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
        self.write_global(projection).await
    }

    pub(super) async fn write_workspace(
        &mut self,
        projection: &Projection,
    ) -> Result<(), StoreError> {
        let Some(workspace) = &projection.workspace else {
            return Ok(());
        };
        let key = self.key();
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
