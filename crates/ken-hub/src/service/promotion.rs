//! Approval queue: entries that only an approval releases, entries that a clone promoted to the
//! whole organization, and entries that qualify for promotion although no one has requested it.
//!
//! Approvals and rejections are both events. Agents contribute findings and outcomes; they never
//! approve.

use std::collections::BTreeSet;

use ken_core::decide::{self, Draft, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Channel, Event, RetractReason};
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::trust::facts::EntryFacts;
use ken_core::trust::promotion::{
    PromotionArtifact, has_quarantined_statement, is_approved, is_approved_outright,
    is_widening_declined, promotion_barrier, requires_approval, sets_statement,
};
use ken_core::values::actor::Actor;
use ken_core::values::content::EntryScope;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::Note;

use super::{ServiceError, WorkspaceSession};
use crate::database::audit::AuditAction;
use crate::ids::Role;
use crate::store::EntryPosition;

/// Entries per page while reading the whole workspace.
const PAGE: u32 = 1_000;

/// Maximum number of entries per list of the queue.
const LISTED_MAX: usize = 200;

/// An entry that qualifies for promotion to the whole organization.
#[derive(Clone, Debug)]
pub struct PromotionCandidate {
    pub entry: Entry,
    pub facts: EntryFacts,
    /// Digest of the text that an approval covers.
    pub artifact: String,
}

/// An entry that is pending approval.
#[derive(Clone, Debug)]
pub struct ApprovalQueueItem {
    pub entry: Entry,
    /// Authors of the statement and owners of the tokens that brought it; they may not approve it.
    pub authors: BTreeSet<Actor>,
    /// Digest of the text that an approval covers.
    pub artifact: String,
}

/// Entries that are pending approval or qualify for promotion.
#[derive(Clone, Debug, Default)]
pub struct ApprovalQueue {
    /// Quarantined until approved.
    pub pending: Vec<ApprovalQueueItem>,
    /// Promoted to the organization in a clone. Other workspaces see it only after a person other
    /// than its authors approved its current text.
    pub promoted: Vec<ApprovalQueueItem>,
    /// Qualified for the whole organization, highest confidence first.
    pub candidates: Vec<PromotionCandidate>,
}

impl ApprovalQueue {
    fn is_full(&self) -> bool {
        [
            self.pending.len(),
            self.promoted.len(),
            self.candidates.len(),
        ]
        .iter()
        .all(|length| *length >= LISTED_MAX)
    }
}

/// Input of an approval.
#[derive(Clone, Debug, Default)]
pub struct ApprovalRequest {
    /// Digest of the text the approver read: an agent may edit the entry between reading and
    /// approving.
    pub artifact: String,
    /// SSH signature over the digest, for repositories that require one.
    pub signature: Option<String>,
    /// True if the approver overrides criteria that are a matter of judgment.
    pub overrides: bool,
}

/// Lists entries that are pending approval or qualify for promotion.
pub async fn load_approval_queue(
    session: &mut WorkspaceSession,
) -> Result<ApprovalQueue, ServiceError> {
    session.require_role(Role::Curator, "listing pending entries")?;
    let workspace = session.workspace().await?;
    let filter = EntryFilter {
        lifecycle: LifecycleFilter::All,
        ..EntryFilter::default()
    };
    let (mut queue, mut after) = (ApprovalQueue::default(), None);
    loop {
        let page = session.tx.list(&filter, after.as_ref(), Some(PAGE)).await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(EntryPosition::after);
        for entry in page {
            session.enqueue_entry(&mut queue, entry, &workspace).await?;
        }
        // Reading on would cost queries per entry without adding to the result.
        if is_last || queue.is_full() {
            break;
        }
    }
    queue.candidates.sort_by(|a, b| {
        let mean = |it: &PromotionCandidate| it.facts.posterior.mean();
        mean(b)
            .total_cmp(&mean(a))
            .then(a.entry.id.cmp(&b.entry.id))
    });
    Ok(queue)
}

/// Approves an entry: promotes it to the whole organization, or releases it if it is pending
/// approval.
pub async fn approve(
    session: &mut WorkspaceSession,
    wanted: &str,
    approval: ApprovalRequest,
) -> Result<Entry, ServiceError> {
    session.require_person("approving an entry")?;
    session.lock().await?;
    let entry = session.find(wanted).await?;
    let history = session.load_entry_events(entry.id).await?;
    let by = session.caller.actor.clone();
    // Eligibility comes first: an outdated digest does not matter for an entry that may not be.
    let widened = if needs_approval(&entry, &history) {
        None
    } else {
        let widening = session.draft_widening(&entry, &history, approval.overrides, &by);
        widening.await?
    };
    ensure_artifact_matches(&entry, &approval.artifact)?;
    let authors = session
        .load_statement_contributors(&entry, &history)
        .await?;
    let signature = approval.signature.map(|text| text.trim().to_owned());
    let granted = decide::approve(&entry, &authors, &by, signature)?;
    // Organization-wide entries need both events: the wider scope and the approval by a person who
    // is not an author.
    let drafts = [Some(granted), widened].into_iter().flatten().collect();
    session
        .append_decision(entry.id, drafts, &by, AuditAction::EntryApproved)
        .await
}

/// Rejects an entry: it keeps its scope. An entry that is pending approval is retracted.
pub async fn reject(
    session: &mut WorkspaceSession,
    wanted: &str,
    reason: Option<Note>,
) -> Result<Entry, ServiceError> {
    session.require_person("rejecting an entry")?;
    session.lock().await?;
    let entry = session.find(wanted).await?;
    let history = session.load_entry_events(entry.id).await?;
    let by = session.caller.actor.clone();
    let draft = if needs_approval(&entry, &history) {
        decide::retract(&entry, RetractReason::Unwanted, Channel::Command, reason)?
    } else if is_widening_declined(&entry, &history) {
        return Err(Refusal::NothingChanges.into());
    } else {
        decide::keep_scope(&entry, &by)?
    };
    session
        .append_decision(entry.id, vec![draft], &by, AuditAction::EntryRejected)
        .await
}

impl WorkspaceSession {
    /// Adds an entry to the list of the queue it belongs to, if any.
    async fn enqueue_entry(
        &mut self,
        queue: &mut ApprovalQueue,
        entry: Entry,
        workspace: &WorkspaceState,
    ) -> Result<(), ServiceError> {
        // Cheap checks on the entry come first; each history is a query of its own.
        let may_wait = entry.retracted.is_none() && requires_approval(&entry);
        if may_wait && !entry.quarantine.is_empty() {
            let history = self.load_entry_events(entry.id).await?;
            if needs_approval(&entry, &history) && queue.pending.len() < LISTED_MAX {
                let authors = self.load_statement_contributors(&entry, &history).await?;
                queue.pending.extend(ApprovalQueueItem::new(entry, authors));
            }
            return Ok(());
        }
        if entry.scope.value == EntryScope::Global {
            if may_have_lapsed(&entry, workspace) && queue.promoted.len() < LISTED_MAX {
                let history = self.load_entry_events(entry.id).await?;
                if is_promoted(&entry, &history) {
                    let authors = self.load_statement_contributors(&entry, &history).await?;
                    let item = ApprovalQueueItem::new(entry, authors);
                    queue.promoted.extend(item);
                }
            }
            return Ok(());
        }
        let facts = EntryFacts::from_entry(&entry, None, self.now);
        if !may_qualify(&entry, &facts, workspace) || queue.candidates.len() >= LISTED_MAX {
            return Ok(());
        }
        let against = self.load_opponents(&entry, workspace).await?.pop_first();
        let history = self.load_entry_events(entry.id).await?;
        let artifact = PromotionArtifact::from_entry(&entry).map(|it| it.digest());
        if let (None, false, Some(artifact)) =
            (against, is_widening_declined(&entry, &history), artifact)
        {
            queue.candidates.push(PromotionCandidate {
                entry,
                facts,
                artifact,
            });
        }
        Ok(())
    }

    /// Returns the number of entries that a clone promoted and that are not approved; of more than
    /// [`LISTED_MAX`] that number.
    pub(super) async fn count_promoted(&mut self) -> Result<u64, ServiceError> {
        let workspace = self.workspace().await?;
        let limit = u32::try_from(LISTED_MAX).unwrap_or(u32::MAX);
        let mut count = 0;
        for entry in self.tx.unpublished_global_entries(limit).await? {
            if may_have_lapsed(&entry, &workspace) {
                let history = self.load_entry_events(entry.id).await?;
                count += u64::from(is_promoted(&entry, &history));
            }
        }
        Ok(count)
    }

    /// Returns the draft that widens an entry's scope to the organization; `None` if the scope is
    /// already that wide and only the approval is missing. Fails if the entry does not qualify.
    async fn draft_widening(
        &mut self,
        entry: &Entry,
        history: &[Event],
        despite: bool,
        by: &Actor,
    ) -> Result<Option<Draft>, ServiceError> {
        if entry.scope.value == EntryScope::Thread {
            return Err(ServiceError::Conflict(format!(
                "{} belongs to a thread; promote it to its workspace first: `ken entry promote {} --to workspace`",
                entry.id, entry.id
            )));
        }
        let workspace = self.workspace().await?;
        if workspace.is_revoked(entry) {
            return Err(ServiceError::Conflict(format!(
                "the author or origin of {} is revoked",
                entry.id
            )));
        }
        if entry.scope.value == EntryScope::Global && is_approved(entry, history.iter()) {
            return Err(ServiceError::Conflict(format!(
                "{} is already approved for the whole organization with its current text",
                entry.id
            )));
        }
        let facts = EntryFacts::from_entry(entry, None, self.now);
        // The smallest id, so repeated requests name the same entry in their error.
        let against = self.load_opponents(entry, &workspace).await?.pop_first();
        let overridden = despite.then_some(by);
        if is_global_unapproved(entry, history) {
            decide::check_scope(entry, &facts, against, overridden)?;
            return Ok(None);
        }
        let widened = decide::widen_scope(entry, &facts, against, EntryScope::Global, overridden)?;
        Ok(Some(widened))
    }

    /// Returns the contributors of an entry's statement, who may not approve it.
    async fn load_statement_contributors(
        &mut self,
        entry: &Entry,
        history: &[Event],
    ) -> Result<BTreeSet<Actor>, ServiceError> {
        let worded = history.iter().filter(|it| sets_statement(entry.id, it));
        self.load_contributors(worded).await
    }

    /// Returns the authors of events and the owners of the tokens that brought them.
    ///
    /// An author is a claim, and a curator may name any agent. The token is a fact.
    pub(super) async fn load_contributors<'a>(
        &mut self,
        events: impl Iterator<Item = &'a Event>,
    ) -> Result<BTreeSet<Actor>, ServiceError> {
        let (ids, mut contributors): (Vec<EventId>, BTreeSet<Actor>) =
            events.map(|it| (it.id, it.by.clone())).unzip();
        let arrivals = self.tx.arrivals(&ids).await?.into_values();
        contributors.extend(arrivals.filter_map(|(by, _)| by.parse().ok()));
        Ok(contributors)
    }

    pub(super) async fn load_entry_events(
        &mut self,
        id: EntryId,
    ) -> Result<Vec<Event>, ServiceError> {
        let history = self.tx.history(id).await?;
        Ok(history.into_iter().map(|it| it.event).collect())
    }

    /// Appends a person's decision about an entry and adds it to the audit log.
    pub(super) async fn append_decision(
        &mut self,
        id: EntryId,
        drafts: Vec<Draft>,
        by: &Actor,
        act: AuditAction,
    ) -> Result<Entry, ServiceError> {
        let drafts = drafts.into_iter().map(|draft| (None, draft)).collect();
        self.append_drafts(drafts, by, (act, &id.to_string()))
            .await?;
        self.load_entry(id).await
    }
}

impl ApprovalQueueItem {
    /// Returns the queue item of an entry; `None` for an entry without content.
    fn new(entry: Entry, authors: BTreeSet<Actor>) -> Option<Self> {
        Some(Self {
            authors,
            artifact: PromotionArtifact::from_entry(&entry)?.digest(),
            entry,
        })
    }
}

/// Returns whether only an approval releases an entry.
pub(super) fn needs_approval(entry: &Entry, history: &[Event]) -> bool {
    requires_approval(entry) && has_quarantined_statement(entry, history.iter())
}

/// Returns whether an entry has organization scope without an approval of its current text.
fn is_global_unapproved(entry: &Entry, history: &[Event]) -> bool {
    entry.scope.value == EntryScope::Global && !is_approved(entry, history.iter())
}

/// Returns whether a clone promoted an entry to the organization, and no person decided on it yet.
fn is_promoted(entry: &Entry, history: &[Event]) -> bool {
    is_global_unapproved(entry, history) && !is_widening_declined(entry, history)
}

/// Returns whether [`is_global_unapproved`] is possible, judged without the entry's history.
fn may_have_lapsed(entry: &Entry, workspace: &WorkspaceState) -> bool {
    entry.scope.value == EntryScope::Global
        && entry.is_live()
        && !is_approved_outright(entry)
        && !workspace.is_revoked(entry)
}

/// Returns whether an entry may qualify for the organization, judged without its contradictions.
fn may_qualify(entry: &Entry, facts: &EntryFacts, workspace: &WorkspaceState) -> bool {
    entry.scope.value == EntryScope::Workspace
        && !workspace.is_revoked(entry)
        && promotion_barrier(entry, facts, None, EntryScope::Global).is_none()
}

/// Refuses a decision whose digest differs from the entry's current text.
pub(super) fn ensure_artifact_matches(entry: &Entry, read: &str) -> Result<(), ServiceError> {
    let artifact = PromotionArtifact::from_entry(entry).ok_or(Refusal::NoContent(entry.id))?;
    if read != artifact.digest() {
        return Err(ServiceError::Conflict(format!(
            "`artifact` is not the digest of the current text of {id}; read the entry again and send its digest (GET /v1/workspaces/{{workspace}}/entries/{id} returns both)",
            id = entry.id
        )));
    }
    Ok(())
}
