//! What the use cases keep beside the log: notes of runs under way, what sessions saw, entries worded alike, entries
//! linked as contraries.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::actor::{Actor, Role};
use ken_core::entry::Entry;
use ken_core::event::{Linked, Recorded, Relation};
use ken_core::id::EntryId;
use ken_core::run::exposure::Sight;
use ken_core::run::name::IMPLICIT;
use ken_core::run::{Note, Noted, Run};
use ken_core::time::Timestamp;
use ken_core::words::query_words;
use sqlx::Row as _;

use super::{Desk, Failure};
use crate::database::DatabaseError;
use crate::store::StoreError;

/// Stands for everything a session may have seen.
const EVERYTHING: &str = "*";

/// Milliseconds for which it is remembered what a session saw: longer than any lasts.
const SESSION_KEPT_MS: u64 = 90 * 24 * 60 * 60 * 1000;

/// Words of a statement that are looked for, the longest.
const WORDS_MAX: usize = 24;

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(DatabaseError::from(error))
    }
}

/// Says that a stored value is not what was written.
fn damaged(why: impl ToString) -> Failure {
    Failure::Store(StoreError::Damaged(why.to_string()))
}

fn signed(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

impl Desk {
    /// Returns whether a run of that name is open; nobody closes it until this transaction ends.
    pub(super) async fn is_run_open(&mut self, id: &str) -> Result<bool, Failure> {
        let run = self.tenant.run(id).await?;
        Ok(run.is_some_and(|it| it.closed_at.is_none()))
    }

    /// Begins a run; returns whether none of that name was open.
    pub(super) async fn begin_run(&mut self, id: &str, notes: &[Noted]) -> Result<bool, Failure> {
        let key = self.tenant.workspace_id().0;
        // The name of one that ended is free again: conversations go on after a pause.
        let query =
            "DELETE FROM ken.runs WHERE workspace_id = $1 AND id = $2 AND closed_at IS NOT NULL";
        let ended = sqlx::query(query).bind(key).bind(id);
        ended.execute(self.tenant.connection()).await?;
        let by = notes
            .first()
            .map_or_else(String::new, |it| it.by.to_string());
        if !self.tenant.open_run(id, &by).await? {
            return Ok(false);
        }
        let lines: Vec<String> = notes.iter().map(line).collect();
        Ok(self.tenant.note_run(id, &lines).await?)
    }

    /// Adds a note to an open run; returns how many it has now, nothing where it is not open.
    pub(super) async fn add_note(
        &mut self,
        id: &str,
        noted: &Noted,
    ) -> Result<Option<usize>, Failure> {
        if !self.tenant.note_run(id, &[line(noted)]).await? {
            return Ok(None);
        }
        let key = self.tenant.workspace_id().0;
        let query = "SELECT max(n) FROM ken.run_notes WHERE workspace_id = $1 AND run = $2";
        let row = sqlx::query(query).bind(key).bind(id);
        let row = row.fetch_one(self.tenant.connection()).await?;
        let n: Option<i32> = row.try_get(0)?;
        let n = usize::try_from(n.unwrap_or_default()).map_err(damaged)?;
        Ok(Some(n))
    }

    /// Returns what the notes of an open run add up to.
    pub(super) async fn read_run(&mut self, id: &str) -> Result<Option<Run>, Failure> {
        let notes = self.tenant.run_notes(id).await?;
        let note = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| gap());
        Ok(Run::of(notes.iter().map(note)))
    }

    /// Returns the names of runs in which `agent` read outside any other, that are open.
    pub(super) async fn implicit_ids(&mut self, agents: &[&Actor]) -> Result<Vec<String>, Failure> {
        let key = self.tenant.workspace_id().0;
        let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
        let query = "SELECT id FROM ken.runs
             WHERE workspace_id = $1 AND closed_at IS NULL AND by = ANY ($2) AND starts_with(id, $3)
             ORDER BY opened_at, id";
        let rows = sqlx::query(query).bind(key).bind(names).bind(IMPLICIT);
        let rows = rows.fetch_all(self.tenant.connection()).await?;
        let ids = rows.iter().map(|row| row.try_get(0));
        Ok(ids.collect::<Result<_, sqlx::Error>>()?)
    }

    /// Removes the notes of a run that ended, and remembers what its sessions saw.
    pub(super) async fn forget_run(&mut self, run: &Run) -> Result<(), Failure> {
        let key = self.tenant.workspace_id().0;
        for (name, agent) in &run.agents {
            if let Some(session) = &agent.member.session {
                self.remember(session, &run.sight(name)).await?;
            }
        }
        let before = self.now.millis().saturating_sub(SESSION_KEPT_MS);
        let before = signed(Timestamp::from_millis(before));
        let query = "DELETE FROM ken.sessions WHERE workspace_id = $1 AND seen_at < $2";
        let old = sqlx::query(query).bind(key).bind(before);
        old.execute(self.tenant.connection()).await?;
        self.tenant.close_run(&run.id).await?;
        Ok(())
    }

    async fn remember(&mut self, session: &str, sight: &Sight) -> Result<(), Failure> {
        let key = self.tenant.workspace_id().0;
        let mut entries: Vec<String> = sight.entries.iter().map(ToString::to_string).collect();
        entries.extend(sight.everything.then(|| EVERYTHING.to_owned()));
        let query = "INSERT INTO ken.sessions (workspace_id, session, entry, seen_at)
             SELECT $1, $2, entry, $4 FROM unnest($3::text[]) AS u (entry)
             ON CONFLICT (workspace_id, session, entry) DO UPDATE SET seen_at = excluded.seen_at";
        let written = sqlx::query(query)
            .bind(key)
            .bind(hash(session))
            .bind(entries);
        let written = written.bind(signed(self.now));
        written.execute(self.tenant.connection()).await?;
        Ok(())
    }

    /// Returns what a session saw in runs that ended.
    pub(super) async fn session_sight(&mut self, session: &str) -> Result<Sight, Failure> {
        let key = self.tenant.workspace_id().0;
        let query = "SELECT entry FROM ken.sessions WHERE workspace_id = $1 AND session = $2";
        let rows = sqlx::query(query).bind(key).bind(hash(session));
        let rows = rows.fetch_all(self.tenant.connection()).await?;
        let mut sight = Sight::default();
        for row in &rows {
            let text: &str = row.try_get(0)?;
            match text.parse::<EntryId>() {
                Ok(id) => {
                    sight.entries.insert(id);
                }
                // Whatever else stands there may be any entry.
                Err(_) => sight.everything = true,
            }
        }
        Ok(sight)
    }

    /// Lets this transaction end before it is on the disk: for notes that confirm nothing.
    pub(super) async fn need_not_last(&mut self) -> Result<(), Failure> {
        let query = "SET LOCAL synchronous_commit TO off";
        sqlx::raw_sql(query)
            .execute(self.tenant.connection())
            .await?;
        Ok(())
    }

    /// Returns the entries, laid aside or not, with the most words in common with `text`.
    pub(super) async fn worded_like(
        &mut self,
        text: &str,
        limit: i64,
    ) -> Result<Vec<Entry>, Failure> {
        let key = self.tenant.workspace_id().0;
        let mut words = query_words(text);
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.chars().count()));
        words.truncate(WORDS_MAX);
        let words: Vec<String> = words.into_iter().map(|(word, _)| word).collect();
        // What is laid aside is in no index of words; there is little of it.
        let query = "WITH asked AS (
                 SELECT to_tsquery('ken.words', string_agg(quote_literal(word), ' | ')) AS words
                 FROM unnest($2::text[]) AS u (word)
             ), near AS (
                 (SELECT s.entry AS id, ts_rank(s.words, asked.words) AS rank FROM ken.searchable s, asked
                  WHERE s.workspace_id = $1 AND s.words @@ asked.words ORDER BY 2 DESC, 1 LIMIT $3)
                 UNION ALL
                 (SELECT e.id, ts_rank(said.words, asked.words) FROM ken.entries e, asked,
                      LATERAL to_tsvector('ken.words', coalesce(e.json::jsonb #>> '{content,statement}', '')) AS said (words)
                  WHERE e.workspace_id = $1 AND e.worded AND NOT e.live AND said.words @@ asked.words ORDER BY 2 DESC, 1 LIMIT $3)
             )
             SELECT e.json FROM near JOIN ken.entries e ON e.workspace_id = $1 AND e.id = near.id ORDER BY near.rank DESC, e.id";
        let rows = sqlx::query(query).bind(key).bind(words).bind(limit);
        let rows = rows.fetch_all(self.tenant.connection()).await?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let json: &str = row.try_get(0)?;
            entries.push(serde_json::from_str(json).map_err(damaged)?);
        }
        Ok(entries)
    }

    /// Returns the entries somebody linked to each of `ids` as its contrary, in either direction.
    pub(super) async fn contradicting(
        &mut self,
        ids: &[EntryId],
    ) -> Result<BTreeMap<EntryId, BTreeSet<EntryId>>, Failure> {
        let key = self.tenant.workspace_id().0;
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let query = "SELECT e.line FROM ken.subjects s
             JOIN ken.events e ON e.workspace_id = s.workspace_id AND e.seq = s.seq
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2) AND e.type = 'entry.linked' AND NOT e.blanked";
        let rows = sqlx::query(query).bind(key).bind(names);
        let rows = rows.fetch_all(self.tenant.connection()).await?;
        let mut pairs = BTreeSet::new();
        for row in &rows {
            let line: &str = row.try_get(0)?;
            let event = Recorded::parse(line.as_bytes()).map_err(damaged)?.event;
            let to = event
                .get::<Linked>()
                .filter(|it| it.rel == Relation::Contradicts);
            let from = to.and_then(|it| event.entries().find(|id| *id != it.to));
            pairs.extend(from.zip(to.map(|it| it.to)));
        }
        self.standing(pairs).await
    }

    /// Returns which of the links stand: one may have been taken back.
    async fn standing(
        &mut self,
        pairs: BTreeSet<(EntryId, EntryId)>,
    ) -> Result<BTreeMap<EntryId, BTreeSet<EntryId>>, Failure> {
        let mut against: BTreeMap<EntryId, BTreeSet<EntryId>> = BTreeMap::new();
        if pairs.is_empty() {
            return Ok(against);
        }
        let from: BTreeSet<EntryId> = pairs.iter().map(|(from, _)| *from).collect();
        let from: Vec<EntryId> = from.into_iter().collect();
        for entry in self.tenant.entries(&from).await? {
            let contrary = entry
                .links
                .iter()
                .filter(|it| it.rel == Relation::Contradicts);
            for to in contrary.map(|it| it.to) {
                if pairs.contains(&(entry.id, to)) {
                    against.entry(entry.id).or_default().insert(to);
                    against.entry(to).or_default().insert(entry.id);
                }
            }
        }
        Ok(against)
    }
}

fn line(noted: &Noted) -> String {
    serde_json::to_string(noted).expect("notes are plain data")
}

fn hash(session: &str) -> Vec<u8> {
    blake3::hash(session.as_bytes()).as_bytes()[..16].to_vec()
}

/// Stands for a note that cannot be read.
fn gap() -> Noted {
    Noted {
        at: Timestamp::default(),
        by: Actor::from_claim(Role::Agent, ""),
        note: Note::Gap,
    }
}
