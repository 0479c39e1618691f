//! Writes a settled change and what follows from it, in one statement where nothing has to be taken away.

use ken_core::event::Recorded;
use ken_core::id::EntryId;
use ken_core::workspace::concerns_workspace;
use pgvector::HalfVector;
use uuid::Uuid;

use super::known::OF_WORKSPACE;
use super::project::Projection;
use super::rows::{BETWEEN_PATHS, BETWEEN_TAGS, EntryRow, SearchRow, model};
use super::settle::Settled;
use super::{StoreError, uuid, uuids};
use crate::database::{Tenant, millis};

/// Writes events, subjects, entries and what a search reads, and moves the head; `$entry` and `$found` say what becomes of
/// rows that are there already.
macro_rules! write {
    ($entry:literal, $found:literal) => {
        concat!(
            "WITH logged AS (
    INSERT INTO ken.events (workspace_id, seq, id, at, type, blanked, line)
    SELECT $1, * FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::boolean[], $8::text[])
), about AS (
    INSERT INTO ken.subjects (workspace_id, entry, seq)
    SELECT $1, * FROM unnest($9::text[], $10::bigint[])
), folded AS (
    INSERT INTO ken.entries AS e (workspace_id, id, memory, kind, status, lens, alias, created, updated,
        worded, live, archived, retracted, tombstone, global, tags, json)
    SELECT $1, id, memory, kind, status, lens, alias, created, updated,
        worded, live, archived, retracted, tombstone, global, string_to_array(tags, $27), json
    FROM unnest($11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[],
        $18::text[], $19::boolean[], $20::boolean[], $21::boolean[], $22::boolean[], $23::boolean[],
        $24::boolean[], $25::text[], $26::text[])
        AS u (id, memory, kind, status, lens, alias, created, updated,
            worded, live, archived, retracted, tombstone, global, tags, json)
    ", $entry, "
), found AS (
    INSERT INTO ken.searchable (workspace_id, entry, live, words, length, paths, model, vector)
    SELECT $1, entry, live, words, length, string_to_array(paths, $33), $34, vector
    FROM unnest($28::text[], $39::boolean[], $29::tsvector[], $30::integer[], $31::text[], $32::halfvec[])
        AS u (entry, live, words, length, paths, vector)
    ", $found, "
)
UPDATE ken.workspaces SET head = $35, folded = $35, events = events + $36, bytes = bytes + $37,
    appended_at = CASE WHEN 0 < cardinality($3::bigint[]) THEN $38 ELSE appended_at END
WHERE organisation_id = $2 AND id = $1"
        )
    };
}

/// For entries none of which was there: nothing has to be looked for.
const WRITE_NEW: &str = write!("", "");

/// For entries that may have been there.
const WRITE_OVER: &str = write!(
    "ON CONFLICT (workspace_id, id) DO UPDATE SET kind = excluded.kind, status = excluded.status,
        lens = excluded.lens, alias = excluded.alias, created = excluded.created, updated = excluded.updated,
        worded = excluded.worded, live = excluded.live, archived = excluded.archived,
        retracted = excluded.retracted, tombstone = excluded.tombstone, global = excluded.global,
        tags = excluded.tags, json = excluded.json",
    "ON CONFLICT (workspace_id, entry) DO UPDATE SET live = excluded.live, words = excluded.words, length = excluded.length,
        paths = excluded.paths, model = excluded.model, vector = excluded.vector"
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
    bytes: i64,
}

impl<'a> LogColumns<'a> {
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

    fn count(&self) -> i64 {
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
        let mut columns = LogColumns::default();
        let now = settled.changed.iter().map(|(_, now)| now);
        for (seq, copy) in (head + 1..).zip(settled.new.iter().chain(now)) {
            columns.push(seq, copy);
        }
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
        let now = self.now();
        let (entries, found) = (&projection.entries, &projection.searchable);
        let texts =
            |read: fn(&EntryRow) -> &str| -> Vec<&str> { entries.iter().map(read).collect() };
        let flags =
            |read: fn(&EntryRow) -> bool| -> Vec<bool> { entries.iter().map(read).collect() };
        let maybe = |read: fn(&EntryRow) -> Option<&str>| -> Vec<Option<&str>> {
            entries.iter().map(read).collect()
        };
        let words =
            |read: fn(&SearchRow) -> &str| -> Vec<&str> { found.iter().map(read).collect() };
        let vectors: Vec<Option<HalfVector>> = found.iter().map(|row| row.vector.clone()).collect();
        let write = match projection.is_over {
            true => WRITE_OVER,
            false => WRITE_NEW,
        };
        sqlx::query(write)
            .bind(key)
            .bind(organisation)
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
            .bind(found.iter().map(|row| &row.words).collect::<Vec<_>>())
            .bind(
                found
                    .iter()
                    .map(|row| row.words.count())
                    .collect::<Vec<_>>(),
            )
            .bind(words(|row| &row.paths))
            .bind(vectors)
            .bind(BETWEEN_PATHS)
            .bind(model().id.as_ref())
            .bind(head)
            .bind(log.count() - fewer.events)
            .bind(log.bytes - fewer.bytes)
            .bind(millis(now))
            .bind(found.iter().map(|row| row.live).collect::<Vec<_>>())
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
