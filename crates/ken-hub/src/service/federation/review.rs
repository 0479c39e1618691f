//! What people decide about the entries of a peer: approve, reject, rate.
//!
//! An approval covers one wording, because every wording is an entry of its own. There is no
//! standing approval. Decisions are events with the author and time of the person.

use std::sync::Arc;

use ken_core::decide::{self, Draft, EventStamper};
use ken_core::federation::trust::{FAILURE_MILLI, SUCCESS_MILLI};
use ken_core::federation::{DECISIONS_MAX, RejectReason};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Feedback, RecordedEvent};
use ken_core::ledger::fold::fold_entry;
use ken_core::trust::promotion::{PromotionArtifact, statement_authors};
use ken_core::values::id::EntryId;
use ken_core::values::time::{DAY_MS, Date, Timestamp};
use ken_guard::Guard;

use super::HubFederationError;
use crate::database::HubDatabase;
use crate::database::audit::AuditAction;
use crate::identity::AuthenticatedCaller;
use crate::ids::Role;
use crate::service::ServiceError;
use crate::service::session::ServiceContext;
use crate::store::{PeerApproval, PeerLineRow, PeerObservation, PeerRow, PeerVerdict, StoreError};

/// Separator of the day and the id in the place of an entry.
const PLACE_SEPARATOR: char = '.';

/// An entry of a peer.
#[derive(Clone, Debug)]
pub struct PeerEntry {
    pub entry: Entry,
    pub first_seen: Date,
    pub verdict: PeerVerdict,
    /// Digest of the words to approve.
    pub artifact: String,
}

/// One approval: the entry, and the digest of the words that the person read.
#[derive(Clone, Debug)]
pub struct PeerDecision {
    pub entry: EntryId,
    pub artifact: String,
}

impl PeerEntry {
    /// Returns the place of the entry in the list of its verdict.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}{PLACE_SEPARATOR}{}", self.first_seen, self.entry.id)
    }
}

/// Returns entries of a peer by verdict, oldest first, after a [place](PeerEntry::place).
pub async fn list_peer_entries(
    database: &HubDatabase,
    caller: &AuthenticatedCaller,
    peer: &str,
    (verdict, after, limit): (PeerVerdict, Option<&str>, u32),
) -> Result<Vec<PeerEntry>, HubFederationError> {
    require_curator(caller, "listing entries of peers")?;
    let mut tx = database.begin_organization(caller.organization).await?;
    let peer = find(&mut tx, peer).await?;
    let after = after.map(|it| it.split_once(PLACE_SEPARATOR).unwrap_or((it, "")));
    let rows = tx.peer_lines(peer.id, verdict, after, limit).await?;
    tx.rollback().await?;
    let entries = rows.iter().map(|row| peer_entry(row).map_err(Into::into));
    entries.collect()
}

/// Approves wordings; from then on searches show them, labeled and discounted.
///
/// All of them are approved, or none.
pub async fn approve_peer_entries(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: &AuthenticatedCaller,
    peer: &str,
    decisions: &[PeerDecision],
) -> Result<usize, HubFederationError> {
    require_person(caller, "approving entries of peers")?;
    check_count(decisions.len())?;
    let mut tx = database.begin_organization(caller.organization).await?;
    let peer = find(&mut tx, peer).await?;
    let ids: Vec<EntryId> = decisions.iter().map(|it| it.entry).collect();
    // Locked until the commit: an order that a pull applies meanwhile waits, and then wins.
    let rows = tx.lock_peer_lines(peer.id, &ids).await?;
    let now = tx.now();
    let mut approvals = Vec::with_capacity(decisions.len());
    for decision in decisions {
        let waiting = |row: &&(EntryId, PeerLineRow)| {
            row.0 == decision.entry && row.1.is_published && row.1.verdict == PeerVerdict::Waiting
        };
        let found = rows.iter().find(waiting);
        let (_, row) = found.ok_or(HubFederationError::NotWaiting(decision.entry))?;
        let entry = peer_entry(row)?;
        if entry.artifact != decision.artifact {
            return Err(ServiceError::Conflict(format!(
                "`artifact` is not the digest of {}; read the entry again",
                decision.entry
            ))
            .into());
        }
        let authors = statement_authors(decision.entry, std::iter::once(&row.copy.event));
        let draft = decide::approve(&entry.entry, &authors, &caller.actor, None);
        let draft = draft.map_err(ServiceError::from)?;
        let event = stamp(services, draft, caller, now)?;
        let events = [&row.copy.event, &event.event];
        let approved = fold_entry(decision.entry, events);
        // The fold decides what an approval covers, as in a repository.
        let approved = approved.filter(|it| it.is_live() && !it.approvals.is_empty());
        approvals.push(PeerApproval {
            line: row.line,
            first_seen: row.first_seen,
            decision: event,
            entry: approved.ok_or(HubFederationError::NotWaiting(decision.entry))?,
        });
    }
    tx.approve_peer_lines(peer.id, &approvals).await?;
    let subject = format!("{}: {} entries", peer.name, approvals.len());
    tx.audit(caller, AuditAction::PeerEntriesApproved, subject)
        .await?;
    tx.commit().await?;
    Ok(approvals.len())
}

/// Rejects wordings, also approved ones; the peer loses trust.
pub async fn reject_peer_entries(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: &AuthenticatedCaller,
    peer: &str,
    (ids, reason): (&[EntryId], RejectReason),
) -> Result<usize, HubFederationError> {
    require_person(caller, "rejecting entries of peers")?;
    check_count(ids.len())?;
    let mut tx = database.begin_organization(caller.organization).await?;
    let peer = find(&mut tx, peer).await?;
    let rows = tx.lock_peer_lines(peer.id, ids).await?;
    let now = tx.now();
    let mut observations = Vec::with_capacity(ids.len());
    for id in ids {
        let found = rows.iter().find(|(entry, row)| {
            entry == id && row.is_published && row.verdict != PeerVerdict::Rejected
        });
        let (_, row) = found.ok_or(HubFederationError::NotWaiting(*id))?;
        let draft = Draft {
            about: vec![(*id).into()],
            body: reason.retraction(),
        };
        let event = stamp(services, draft, caller, now)?;
        tx.reject_peer_line(peer.id, row.line, &event).await?;
        observations.push(PeerObservation {
            alpha_milli: 0,
            beta_milli: FAILURE_MILLI,
            by: caller.actor.clone(),
            why: format!("rejected {id}"),
        });
    }
    tx.observe_peer(peer.id, &observations).await?;
    let subject = format!("{}: {} entries", peer.name, ids.len());
    tx.audit(caller, AuditAction::PeerEntriesRejected, subject)
        .await?;
    tx.commit().await?;
    Ok(ids.len())
}

/// Records that an approved entry held here, or did not. Each entry counts once per day.
///
/// Returns false if the entry was counted today.
pub async fn rate_peer_entry(
    database: &HubDatabase,
    caller: &AuthenticatedCaller,
    peer: &str,
    (id, verdict): (EntryId, Feedback),
) -> Result<bool, HubFederationError> {
    require_person(caller, "rating entries of peers")?;
    let mut tx = database.begin_organization(caller.organization).await?;
    let peer = find(&mut tx, peer).await?;
    // Locked, so that two requests at once count once.
    let rows = tx.lock_peer_lines(peer.id, &[id]).await?;
    let is_shown = |row: &PeerLineRow| row.is_published && row.verdict == PeerVerdict::Approved;
    if !rows.iter().any(|(_, row)| is_shown(row)) {
        return Err(HubFederationError::NotWaiting(id));
    }
    let now = tx.now();
    let today = now.minus_millis(now.millis() % DAY_MS);
    // Without this limit, trust in a peer could be raised by a loop over one entry.
    let why = format!("rated {id}");
    if tx.has_observation_since(peer.id, &why, today).await? {
        return Ok(false);
    }
    let (alpha_milli, beta_milli) = match verdict {
        Feedback::Helpful => (SUCCESS_MILLI, 0),
        Feedback::Unhelpful => (0, FAILURE_MILLI),
    };
    let observation = PeerObservation {
        alpha_milli,
        beta_milli,
        by: caller.actor.clone(),
        why,
    };
    tx.observe_peer(peer.id, &[observation]).await?;
    tx.audit(
        caller,
        AuditAction::PeerRated,
        format!("{}: {id}", peer.name),
    )
    .await?;
    tx.commit().await?;
    Ok(true)
}

async fn find(
    tx: &mut crate::database::OrganizationTx,
    peer: &str,
) -> Result<PeerRow, HubFederationError> {
    let found = tx.peer(peer).await?;
    found.ok_or_else(|| HubFederationError::NoPeer(peer.chars().take(64).collect()))
}

/// Returns the entry of a line with the decision about it.
fn peer_entry(row: &PeerLineRow) -> Result<PeerEntry, StoreError> {
    let missing = || StoreError::damaged("a published line has no words");
    let entry = row.entry()?;
    let artifact = PromotionArtifact::from_entry(&entry).ok_or_else(missing)?;
    Ok(PeerEntry {
        artifact: artifact.digest(),
        first_seen: row.first_seen,
        verdict: row.verdict,
        entry,
    })
}

/// Turns a decision into an event: it passes the guard and is parsed as a reader would.
fn stamp(
    services: &ServiceContext,
    draft: Draft,
    caller: &AuthenticatedCaller,
    now: Timestamp,
) -> Result<RecordedEvent, ServiceError> {
    let guard: &Arc<Guard> = &services.guard;
    let (draft, admission) = guard.admit(draft, &caller.actor, now)?;
    let mut clock = services.clock.clone();
    let mut stamper = EventStamper {
        node: clock.node(),
        now,
        seen: None,
        ids: &mut clock,
    };
    let event = stamper.stamp(draft, &caller.actor, admission);
    RecordedEvent::new_verified(event).map_err(ServiceError::invalid_request)
}

fn require_curator(caller: &AuthenticatedCaller, what: &'static str) -> Result<(), ServiceError> {
    // A token for certain workspaces must not decide for the organization.
    if caller.role >= Role::Curator && caller.workspaces.is_none() {
        return Ok(());
    }
    Err(ServiceError::Forbidden {
        what,
        needs: Role::Curator,
        has: caller.role,
    })
}

fn require_person(caller: &AuthenticatedCaller, what: &'static str) -> Result<(), ServiceError> {
    require_curator(caller, what)?;
    // The role alone is not enough: a pipeline or an import may hold a curator token.
    if caller.actor.is_human() {
        Ok(())
    } else {
        Err(ServiceError::PersonNeeded { what })
    }
}

fn check_count(count: usize) -> Result<(), ServiceError> {
    if (1..=DECISIONS_MAX).contains(&count) {
        return Ok(());
    }
    Err(ServiceError::InvalidRequest(format!(
        "decide about 1 to {DECISIONS_MAX} entries at once"
    )))
}
