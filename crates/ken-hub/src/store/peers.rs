//! Peers of an organization: what other organizations published, apart from every workspace.
//!
//! A peer's entry is one line that never changes, so its state follows from that line and the event
//! of a person's decision. Only approved entries are in the table that searches read.

use ken_core::federation::{PeerTrust, PublicationReplica, Strikes};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::fold::fold_entry;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::time::{Date, Timestamp};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::copies::parse;
use super::rows::{SearchTableRow, embedding_model, to_json};
use super::search::PeerSearchRow;
use super::{StoreError, StoreQuery, column, uuids};
use crate::database::{
    DatabaseError, OrganizationTx, WorkspaceTx, event_id, event_uuid, millis, timestamp,
    without_nul,
};

/// Maximum bytes of a stored reason.
const REASON_BYTES_MAX: usize = 500;

/// A peer, without its replica.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerRow {
    pub id: Uuid,
    pub name: String,
    pub publisher: String,
    pub publication: String,
    /// Public key in OpenSSH format.
    pub key: String,
    /// Folder or address of the published files.
    pub source: String,
    pub token_variable: Option<String>,
    pub hops: u8,
    pub weight_max: Option<f64>,
    /// The reason of a suspension.
    pub suspended: Option<String>,
    pub is_forked: bool,
    pub published_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    /// 10th percentile and mean of what was observed.
    pub trust: f64,
    pub mean: f64,
    pub pulled_at: Option<Timestamp>,
    pub stopped: Option<String>,
    pub lines: u64,
    pub waiting: u64,
}

/// A new peer.
#[derive(Clone, Debug)]
pub struct NewPeerRow {
    pub name: String,
    pub key: String,
    pub source: String,
    pub token_variable: Option<String>,
    pub hops: u8,
    pub weight_max: Option<f64>,
    pub replica: PublicationReplica,
}

/// What a person decided about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerVerdict {
    Waiting,
    Approved,
    Rejected,
}

/// An accepted line.
#[derive(Clone, Debug)]
pub struct PeerLineRow {
    pub line: EventId,
    pub first_seen: Date,
    pub copy: RecordedEvent,
    /// False once its publisher took it back.
    pub is_published: bool,
    pub verdict: PeerVerdict,
    pub decision: Option<RecordedEvent>,
}

impl PeerLineRow {
    /// Returns the entry of the line with the decision about it.
    pub fn entry(&self) -> Result<Entry, StoreError> {
        let missing = || StoreError::damaged("a published line has no entry");
        let id = self.copy.event.entries().next().ok_or_else(missing)?;
        // A peer's entry has one line and at most one decision, so its fold is short.
        let decision = self.decision.as_ref().map(|it| &it.event);
        let entry = fold_entry(id, std::iter::once(&self.copy.event).chain(decision));
        entry.ok_or_else(missing)
    }
}

/// What a pull changes, written in one transaction.
#[derive(Debug)]
pub struct ReplicaChange {
    pub replica: PublicationReplica,
    pub new: Vec<RecordedEvent>,
    /// Lines to redact, stored or not.
    pub redact: Vec<EventId>,
    pub suspended: Option<String>,
    pub strikes: Strikes,
    pub stopped: Option<String>,
}

/// An approval of a person, with the entry as searches show it from then on.
#[derive(Debug)]
pub struct PeerApproval {
    pub line: EventId,
    pub first_seen: Date,
    pub decision: RecordedEvent,
    pub entry: Entry,
}

/// A peer whose approved entries may be shown now.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownPeer {
    pub id: Uuid,
    pub name: String,
    pub publisher: String,
    pub publication: String,
    pub hops: u8,
    pub weight_max: Option<f64>,
    pub trust: f64,
    pub mean: f64,
    pub published_at: Option<Timestamp>,
    pub expires_at: Timestamp,
}

/// An approved entry of a peer that matches a search.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerCandidate {
    pub peer: Uuid,
    pub first_seen: Date,
    pub candidate: ken_core::retrieval::ranking::SearchCandidate,
}

impl PeerVerdict {
    /// Returns the name of the verdict.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }

    fn from_name(name: &str) -> Result<Self, StoreError> {
        let all = [Self::Waiting, Self::Approved, Self::Rejected];
        let found = all.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| StoreError::damaged("an unknown verdict"))
    }
}

impl std::str::FromStr for PeerVerdict {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        Self::from_name(text)
    }
}

/// Columns of a peer.
const PEER_COLUMNS: &str = "p.id, p.name, p.publisher, p.publication, p.key, p.source, p.token_variable, p.hops, p.weight_max,
    p.suspended, p.is_forked, p.published_at, p.expires_at, p.trust, p.mean, p.pulled_at, p.stopped,
    (SELECT count(*) FROM ken.peer_lines l WHERE l.organization_id = p.organization_id AND l.peer_id = p.id),
    (SELECT count(*) FROM ken.peer_lines l WHERE l.organization_id = p.organization_id AND l.peer_id = p.id
        AND l.verdict = 'waiting' AND l.is_published AND NOT l.is_redacted)";

impl OrganizationTx {
    /// Adds a peer; `None` if the name is taken.
    pub async fn insert_peer(&mut self, new: &NewPeerRow) -> Result<Option<Uuid>, StoreError> {
        let peer = crate::clock::new_uuid_at(self.now());
        let replica = serde_json::to_string(&new.replica).map_err(StoreError::damaged)?;
        let trust = PeerTrust::default();
        let inserted = sqlx::query(
            "INSERT INTO ken.peers (organization_id, id, name, publisher, publication, key, source, token_variable,
                 hops, weight_max, replica, trust, mean, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(&new.name)
        .bind(new.replica.publisher.to_string())
        .bind(new.replica.publication.as_str())
        .bind(&new.key)
        .bind(without_nul(&new.source))
        .bind(new.token_variable.as_deref())
        .bind(i16::from(new.hops))
        .bind(new.weight_max)
        .bind(replica)
        .bind(trust.score())
        .bind(trust.mean())
        .bind(millis(self.now()))
        .execute(self.connection())
        .await?;
        Ok((inserted.rows_affected() == 1).then_some(peer))
    }

    /// Returns the peers, by name.
    pub async fn peers(&mut self) -> Result<Vec<PeerRow>, StoreError> {
        let query = format!(
            "SELECT {PEER_COLUMNS} FROM ken.peers p WHERE p.organization_id = $1 ORDER BY p.name"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(self.id().0)
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(peer_from_row).collect()
    }

    /// Returns a peer.
    pub async fn peer(&mut self, name: &str) -> Result<Option<PeerRow>, StoreError> {
        let query = format!(
            "SELECT {PEER_COLUMNS} FROM ken.peers p WHERE p.organization_id = $1 AND p.name = $2"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(self.id().0)
            .bind(without_nul(name))
            .fetch_optional(self.connection())
            .await?;
        row.as_ref().map(peer_from_row).transpose()
    }

    /// Locks a peer and returns its replica as JSON, the reason of its suspension and the days of
    /// its rejected batches; `None` if it was removed meanwhile.
    pub async fn lock_replica(
        &mut self,
        peer: Uuid,
    ) -> Result<Option<(String, Option<String>, Strikes)>, StoreError> {
        let query = "SELECT replica, suspended, strikes FROM ken.peers
             WHERE organization_id = $1 AND id = $2 FOR UPDATE";
        let row = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .fetch_optional(self.connection())
            .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        let strikes: &str = column(&row, 2)?;
        let strikes = strikes.split_whitespace().filter_map(|it| it.parse().ok());
        Ok(Some((
            column(&row, 0)?,
            column(&row, 1)?,
            strikes.collect::<Vec<Date>>().into(),
        )))
    }

    /// Writes what a pull changed. Returns the number of lines that are new, and of those that lost
    /// their words.
    pub async fn write_replica(
        &mut self,
        peer: Uuid,
        change: &ReplicaChange,
    ) -> Result<(usize, usize), StoreError> {
        let ReplicaChange { replica, .. } = change;
        // Ids and checksums only, so that a redaction needs no change here.
        let json = serde_json::to_string(replica).map_err(StoreError::damaged)?;
        let head = replica.head.as_ref();
        let strikes: Vec<String> = change
            .strikes
            .days()
            .iter()
            .map(ToString::to_string)
            .collect();
        let stopped = change.stopped.as_deref().map(reason);
        sqlx::query(
            "UPDATE ken.peers SET replica = $3, is_forked = $4, published_at = $5, expires_at = $6, suspended = $7,
                 strikes = $8, pulled_at = $9, stopped = $10
             WHERE organization_id = $1 AND id = $2",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(json)
        .bind(replica.fork.is_some())
        .bind(head.map(|it| millis(it.at)))
        .bind(head.map(|it| millis(it.expires)))
        .bind(change.suspended.as_deref().map(reason))
        .bind(strikes.join(" "))
        .bind(millis(self.now()))
        .bind(stopped)
        .execute(self.connection())
        .await?;
        let new = self.insert_peer_lines(peer, change).await?;
        let redacted = self.redact_peer_lines(peer, &change.redact).await?;
        self.update_published(peer, replica).await?;
        Ok((new, redacted))
    }

    async fn insert_peer_lines(
        &mut self,
        peer: Uuid,
        change: &ReplicaChange,
    ) -> Result<usize, StoreError> {
        if change.new.is_empty() {
            return Ok(0);
        }
        let (mut ids, mut entries, mut days, mut events, mut blanks) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for copy in &change.new {
            let Some(record) = change.replica.line(copy.event.id) else {
                continue;
            };
            ids.push(event_uuid(copy.event.id));
            entries.push(record.entry.to_string());
            days.push(record.first_seen.to_string());
            events.push(copy.line());
            blanks.push(copy.is_redacted());
        }
        let inserted = sqlx::query(
            "INSERT INTO ken.peer_lines (organization_id, peer_id, line, entry, first_seen, event, is_redacted, is_published, verdict)
             SELECT $1, $2, line, entry, first_seen, event, is_redacted, false, 'waiting'
             FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::boolean[])
                 AS u (line, entry, first_seen, event, is_redacted)
             ON CONFLICT DO NOTHING",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(ids)
        .bind(entries)
        .bind(days)
        .bind(events)
        .bind(blanks)
        .execute(self.connection())
        .await?;
        Ok(usize::try_from(inserted.rows_affected()).unwrap_or(usize::MAX))
    }

    async fn redact_peer_lines(
        &mut self,
        peer: Uuid,
        lines: &[EventId],
    ) -> Result<usize, StoreError> {
        if lines.is_empty() {
            return Ok(0);
        }
        let query = "SELECT event FROM ken.peer_lines
             WHERE organization_id = $1 AND peer_id = $2 AND line = ANY ($3) AND NOT is_redacted";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .bind(uuids(lines))
            .fetch_all(self.connection())
            .await?;
        let (mut ids, mut events) = (Vec::new(), Vec::new());
        for row in &rows {
            let copy = parse(column(row, 0)?)?;
            ids.push(event_uuid(copy.event.id));
            events.push(copy.redacted().line().to_owned());
        }
        sqlx::query(
            "UPDATE ken.peer_lines l SET event = u.event, is_redacted = true
             FROM unnest($3::uuid[], $4::text[]) AS u (line, event)
             WHERE l.organization_id = $1 AND l.peer_id = $2 AND l.line = u.line",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(&ids)
        .bind(events)
        .execute(self.connection())
        .await?;
        sqlx::query(
            "DELETE FROM ken.peer_entries WHERE organization_id = $1 AND peer_id = $2 AND line = ANY ($3)",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(uuids(lines))
        .execute(self.connection())
        .await?;
        // A stored answer of the organization may contain the words.
        if !ids.is_empty() {
            sqlx::query("SELECT ken.forget_answers($1)")
                .bind(self.id().0)
                .execute(self.connection())
                .await?;
        }
        Ok(ids.len())
    }

    /// Brings `is_published` and the searched entries in line with the replica: a withdrawn line,
    /// and one that a new epoch leaves out, is not shown.
    async fn update_published(
        &mut self,
        peer: Uuid,
        replica: &PublicationReplica,
    ) -> Result<(), StoreError> {
        let query = "SELECT line, is_published FROM ken.peer_lines WHERE organization_id = $1 AND peer_id = $2";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .fetch_all(self.connection())
            .await?;
        let (mut shown, mut hidden) = (Vec::new(), Vec::new());
        for row in &rows {
            let id: Uuid = column(row, 0)?;
            match (column(row, 1)?, replica.is_shown(event_id(id))) {
                (false, true) => shown.push(id),
                (true, false) => hidden.push(id),
                (true, true) | (false, false) => {}
            }
        }
        for (ids, is_published) in [(&shown, true), (&hidden, false)] {
            if ids.is_empty() {
                continue;
            }
            sqlx::query(
                "UPDATE ken.peer_lines SET is_published = $4
                 WHERE organization_id = $1 AND peer_id = $2 AND line = ANY ($3)",
            )
            .bind(self.id().0)
            .bind(peer)
            .bind(ids)
            .bind(is_published)
            .execute(self.connection())
            .await?;
        }
        self.show_approved_again(peer, &shown).await?;
        if !hidden.is_empty() {
            sqlx::query(
                "DELETE FROM ken.peer_entries WHERE organization_id = $1 AND peer_id = $2 AND line = ANY ($3)",
            )
            .bind(self.id().0)
            .bind(peer)
            .bind(&hidden)
            .execute(self.connection())
            .await?;
        }
        Ok(())
    }

    /// Lets searches find the approved entries of lines that were taken back and are published
    /// again: a publisher that was restored may sign the same line in its new epoch.
    async fn show_approved_again(&mut self, peer: Uuid, shown: &[Uuid]) -> Result<(), StoreError> {
        if shown.is_empty() {
            return Ok(());
        }
        let query = "SELECT line, first_seen, event, is_published, verdict, decision FROM ken.peer_lines
             WHERE organization_id = $1 AND peer_id = $2 AND line = ANY ($3) AND verdict = $4 AND NOT is_redacted";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .bind(shown)
            .bind(PeerVerdict::Approved.name())
            .fetch_all(self.connection())
            .await?;
        for row in &rows {
            let row = line_from_row(row)?;
            let entry = row.entry()?;
            self.insert_peer_entry(peer, (row.line, row.first_seen), &entry)
                .await?;
        }
        Ok(())
    }

    /// Returns lines of a peer by verdict, oldest first, after a place in that order.
    pub async fn peer_lines(
        &mut self,
        peer: Uuid,
        verdict: PeerVerdict,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<PeerLineRow>, StoreError> {
        let (day, entry) = after.unwrap_or(("", ""));
        let query = "SELECT line, first_seen, event, is_published, verdict, decision FROM ken.peer_lines
             WHERE organization_id = $1 AND peer_id = $2 AND verdict = $3 AND NOT is_redacted AND is_published
                 AND (first_seen, entry) > ($4, $5)
             ORDER BY first_seen, entry LIMIT $6";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .bind(verdict.name())
            .bind(without_nul(day))
            .bind(without_nul(entry))
            .bind(i64::from(limit))
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(line_from_row).collect()
    }

    /// Returns the lines of entries that are published still, locked.
    pub async fn lock_peer_lines(
        &mut self,
        peer: Uuid,
        entries: &[EntryId],
    ) -> Result<Vec<(EntryId, PeerLineRow)>, StoreError> {
        let names: Vec<String> = entries.iter().map(ToString::to_string).collect();
        let query = "SELECT line, first_seen, event, is_published, verdict, decision, entry FROM ken.peer_lines
             WHERE organization_id = $1 AND peer_id = $2 AND entry = ANY ($3) AND NOT is_redacted
             ORDER BY line FOR UPDATE";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .bind(names)
            .fetch_all(self.connection())
            .await?;
        let read = |row: &PgRow| {
            let entry: &str = column(row, 6)?;
            let entry = entry.parse().map_err(StoreError::damaged)?;
            Ok((entry, line_from_row(row)?))
        };
        rows.iter().map(read).collect()
    }

    /// Stores approvals: from the next request on, searches find these entries.
    pub async fn approve_peer_lines(
        &mut self,
        peer: Uuid,
        approvals: &[PeerApproval],
    ) -> Result<(), StoreError> {
        for approval in approvals {
            self.decide_peer_line(
                peer,
                approval.line,
                PeerVerdict::Approved,
                &approval.decision,
            )
            .await?;
            self.insert_peer_entry(peer, (approval.line, approval.first_seen), &approval.entry)
                .await?;
        }
        Ok(())
    }

    /// Lets searches find an approved entry.
    async fn insert_peer_entry(
        &mut self,
        peer: Uuid,
        (line, first_seen): (EventId, Date),
        entry: &Entry,
    ) -> Result<(), StoreError> {
        let Some(row) = SearchTableRow::from_entry(entry)? else {
            return Ok(());
        };
        sqlx::query(
            "INSERT INTO ken.peer_entries (organization_id, peer_id, entry, line, first_seen, json, words, length, model, vector)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (organization_id, peer_id, entry) DO NOTHING",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(&row.entry)
        .bind(event_uuid(line))
        .bind(first_seen.to_string())
        .bind(to_json(entry))
        .bind(&row.words)
        .bind(row.words.count())
        .bind(embedding_model().id.as_ref())
        .bind(row.vector.clone())
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Stores a rejection: searches do not find the entry, whatever was decided before.
    pub async fn reject_peer_line(
        &mut self,
        peer: Uuid,
        line: EventId,
        decision: &RecordedEvent,
    ) -> Result<(), StoreError> {
        self.decide_peer_line(peer, line, PeerVerdict::Rejected, decision)
            .await?;
        sqlx::query(
            "DELETE FROM ken.peer_entries WHERE organization_id = $1 AND peer_id = $2 AND line = $3",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(event_uuid(line))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn decide_peer_line(
        &mut self,
        peer: Uuid,
        line: EventId,
        verdict: PeerVerdict,
        decision: &RecordedEvent,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE ken.peer_lines SET verdict = $4, decision = $5
             WHERE organization_id = $1 AND peer_id = $2 AND line = $3",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(event_uuid(line))
        .bind(verdict.name())
        .bind(decision.line())
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Suspends a peer, or ends its suspension and forgets its strikes.
    pub async fn set_peer_suspended(
        &mut self,
        peer: Uuid,
        why: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE ken.peers SET suspended = $3, strikes = '' WHERE organization_id = $1 AND id = $2",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(why.map(reason))
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Sets a person's own limit of a peer's weight.
    pub async fn set_peer_weight_max(
        &mut self,
        peer: Uuid,
        max: Option<f64>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE ken.peers SET weight_max = $3 WHERE organization_id = $1 AND id = $2")
            .bind(self.id().0)
            .bind(peer)
            .bind(max)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Removes a peer with everything it sent.
    pub async fn delete_peer(&mut self, peer: Uuid) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM ken.peers WHERE organization_id = $1 AND id = $2")
            .bind(self.id().0)
            .bind(peer)
            .execute(self.connection())
            .await?;
        sqlx::query("SELECT ken.forget_answers($1)")
            .bind(self.id().0)
            .execute(self.connection())
            .await?;
        Ok(())
    }
}

impl WorkspaceTx {
    /// Returns the peers of the organization whose approved entries may be shown: not suspended,
    /// without a fork, and renewed since `fresh_from`.
    pub async fn shown_peers(
        &mut self,
        fresh_from: Timestamp,
    ) -> Result<Vec<ShownPeer>, StoreError> {
        let query = "SELECT id, name, publisher, publication, hops, weight_max, trust, mean, published_at, expires_at
             FROM ken.peers WHERE organization_id = $1 AND suspended IS NULL AND NOT is_forked AND $2 < expires_at";
        let rows = sqlx::query(query)
            .bind(self.organization().0)
            .bind(millis(fresh_from))
            .fetch_all(self.read_connection())
            .await?;
        let read = |row: &PgRow| {
            Ok(ShownPeer {
                id: column(row, 0)?,
                name: column(row, 1)?,
                publisher: column(row, 2)?,
                publication: column(row, 3)?,
                hops: hops(row, 4)?,
                weight_max: column(row, 5)?,
                trust: column(row, 6)?,
                mean: column(row, 7)?,
                published_at: column::<Option<i64>>(row, 8)?.map(timestamp),
                expires_at: timestamp(column(row, 9)?),
            })
        };
        rows.iter().map(read).collect()
    }

    /// Returns approved entries of these peers that match a query, best first.
    pub async fn peer_candidates(
        &mut self,
        peers: &[Uuid],
        query: &StoreQuery<'_>,
    ) -> Result<Vec<PeerCandidate>, StoreError> {
        let organization = self.organization();
        let found =
            super::search::search_peers(self.read_connection(), organization, peers, query).await?;
        let read = |row: PeerSearchRow| {
            Ok(PeerCandidate {
                peer: row.peer,
                first_seen: row.first_seen.parse().map_err(StoreError::damaged)?,
                candidate: row.candidate,
            })
        };
        found.into_iter().map(read).collect()
    }
}

fn peer_from_row(row: &PgRow) -> Result<PeerRow, StoreError> {
    let time = |at: usize| column::<Option<i64>>(row, at).map(|it| it.map(timestamp));
    let count = |at: usize| column::<i64>(row, at).map(i64::unsigned_abs);
    Ok(PeerRow {
        id: column(row, 0)?,
        name: column(row, 1)?,
        publisher: column(row, 2)?,
        publication: column(row, 3)?,
        key: column(row, 4)?,
        source: column(row, 5)?,
        token_variable: column(row, 6)?,
        hops: hops(row, 7)?,
        weight_max: column(row, 8)?,
        suspended: column(row, 9)?,
        is_forked: column(row, 10)?,
        published_at: time(11)?,
        expires_at: time(12)?,
        trust: column(row, 13)?,
        mean: column(row, 14)?,
        pulled_at: time(15)?,
        stopped: column(row, 16)?,
        lines: count(17)?,
        waiting: count(18)?,
    })
}

fn line_from_row(row: &PgRow) -> Result<PeerLineRow, StoreError> {
    let first_seen: &str = column(row, 1)?;
    let decision: Option<String> = column(row, 5)?;
    Ok(PeerLineRow {
        line: event_id(column(row, 0)?),
        first_seen: first_seen.parse().map_err(StoreError::damaged)?,
        copy: parse(column(row, 2)?)?,
        is_published: column(row, 3)?,
        verdict: PeerVerdict::from_name(column(row, 4)?)?,
        decision: decision.as_deref().map(parse).transpose()?,
    })
}

fn hops(row: &PgRow, at: usize) -> Result<u8, StoreError> {
    let hops: i16 = row.try_get(at).map_err(DatabaseError::from)?;
    u8::try_from(hops).map_err(StoreError::damaged)
}

/// Returns a reason as it is stored.
pub(super) fn reason(text: &str) -> String {
    let text = without_nul(text);
    text[..text.floor_char_boundary(REASON_BYTES_MAX)].to_owned()
}
