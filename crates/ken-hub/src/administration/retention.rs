//! Operator commands on retention rules and legal holds.
//!
//! Applying a rule to entries writes redactions in the name of the person who applies it. So every
//! clone that pulls deletes the texts, too; a program may not redact.

use std::collections::BTreeMap;
use std::sync::Arc;

use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{Archived, BlankReason, EventBlanked, RecordedEvent, Retracted};
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::values::actor::Actor;
use ken_core::values::id::EventId;
use ken_core::values::time::{DAY_MS, Date};
use ken_guard::Guard;
use uuid::Uuid;

use super::{Administration, AdministrationError, find_workspace, load_workspaces};
use crate::config::DefaultQuotas;
use crate::database::audit::{AuditAction, AuditActor};
use crate::database::retention::{LegalHold, RetentionKind, RetentionRule};
use crate::database::{WorkspaceRow, WorkspaceTx};
use crate::identity::{AuthenticatedCaller, WorkspaceRoles};
use crate::ids::Role;
use crate::service::{ServiceContext, WorkspaceSession, redact_event};
use crate::store::{EntryPosition, StoreError};

/// Entries per page while a workspace is read.
const PAGE_ROWS: u32 = 500;

/// What a rule did, or would do, in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedRule {
    pub workspace: WorkspaceRow,
    pub kind: RetentionKind,
    pub days: u32,
    /// Runs and events that were deleted, or entries that were redacted.
    pub count: u64,
    /// Whether a hold kept everything.
    pub is_held: bool,
}

impl Administration {
    /// Sets the days of a retention rule, or removes it.
    pub async fn set_retention(
        &self,
        organization: &str,
        workspace: Option<&str>,
        kind: RetentionKind,
        days: Option<u32>,
    ) -> Result<(), AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let scope = match workspace {
            None => tx.id().0,
            Some(workspace) => find_workspace(&mut tx, workspace).await?.id.0,
        };
        tx.set_retention(self.operator(), (scope, kind), days)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Returns the retention rules of an organization and the names of its workspaces.
    pub async fn retention_rules(
        &self,
        organization: &str,
    ) -> Result<(Vec<RetentionRule>, BTreeMap<Uuid, String>), AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let rules = tx.retention_rules().await?;
        Ok((rules, workspace_names(&mut tx).await?))
    }

    /// Places a legal hold on a workspace, or on the whole organization.
    pub async fn place_hold(
        &self,
        organization: &str,
        workspace: Option<&str>,
        reason: &str,
    ) -> Result<Uuid, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let scope = match workspace {
            None => tx.id().0,
            // A removed workspace is the one that is about to be erased.
            Some(workspace) => match tx.removed_workspace(workspace).await? {
                Some(removed) => removed.workspace.id.0,
                None => find_workspace(&mut tx, workspace).await?.id.0,
            },
        };
        let id = tx.place_hold(self.operator(), scope, reason).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Releases a legal hold.
    pub async fn release_hold(
        &self,
        organization: &str,
        hold: &str,
    ) -> Result<(), AdministrationError> {
        let missing = || AdministrationError::NoHold(hold.to_owned());
        let id = Uuid::try_parse(hold).map_err(|_| missing())?;
        let mut tx = self.begin_organization(organization).await?;
        if !tx.release_hold(self.operator(), id).await? {
            return Err(missing());
        }
        Ok(tx.commit().await?)
    }

    /// Returns the legal holds of an organization and the names of its workspaces.
    pub async fn holds(
        &self,
        organization: &str,
    ) -> Result<(Vec<LegalHold>, BTreeMap<Uuid, String>), AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let holds = tx.holds().await?;
        Ok((holds, workspace_names(&mut tx).await?))
    }

    /// Applies the retention rules of an organization, or only counts what they would do.
    pub async fn apply_retention(
        &self,
        organization: &str,
        is_trial: bool,
    ) -> Result<Vec<AppliedRule>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let (rules, workspaces) = (tx.retention_rules().await?, load_workspaces(&mut tx).await?);
        let own = tx.id().0;
        // Every rule has its own transactions, and this one would hold a connection meanwhile.
        drop(tx);
        let mut applied = Vec::new();
        for workspace in workspaces {
            for rule in effective_rules(&rules, own, workspace.id.0) {
                applied.push(self.apply_rule(&workspace, rule, is_trial).await?);
            }
        }
        Ok(applied)
    }

    async fn apply_rule(
        &self,
        workspace: &WorkspaceRow,
        rule: RetentionRule,
        is_trial: bool,
    ) -> Result<AppliedRule, AdministrationError> {
        let begun = self
            .database
            .begin_log(workspace.organization, workspace.id);
        let mut tx = begun.await?;
        let is_held = tx.is_held().await?;
        let before = tx.now().minus_millis(u64::from(rule.days) * DAY_MS);
        let count = match rule.kind {
            // Not an error: a hold on one workspace must not stop the rules of the others.
            _ if is_held => 0,
            RetentionKind::Runs => tx.delete_runs_before(before).await?,
            RetentionKind::Quarantine => tx.delete_quarantined_before(before).await?,
            RetentionKind::Entries(_) => {
                // Each entry has a transaction of its own, which asks for the hold again.
                tx.rollback().await?;
                return self.apply_to_entries(workspace, rule, is_trial).await;
            }
        };
        // A trial deletes and rolls back, so its number is that of the real statement.
        if is_trial || count == 0 {
            tx.rollback().await?;
        } else {
            let subject = format!("{}: {count} after {} days", rule.kind, rule.days);
            let act = AuditAction::RetentionApplied;
            tx.audit(self.operator(), act, subject).await?;
            tx.commit().await?;
        }
        Ok(AppliedRule {
            workspace: workspace.clone(),
            kind: rule.kind,
            days: rule.days,
            count,
            is_held,
        })
    }

    async fn apply_to_entries(
        &self,
        workspace: &WorkspaceRow,
        rule: RetentionRule,
        is_trial: bool,
    ) -> Result<AppliedRule, AdministrationError> {
        let due = self.due_entries(workspace, rule).await?;
        let mut applied = AppliedRule {
            workspace: workspace.clone(),
            kind: rule.kind,
            days: rule.days,
            count: due.len() as u64,
            is_held: false,
        };
        if is_trial || due.is_empty() {
            return Ok(applied);
        }
        applied.count = 0;
        // Asked for only now: a trial, or a rule without due entries, needs no person.
        let person = self.by.clone().filter(Actor::is_human);
        let person = person.ok_or(AdministrationError::NoPerson)?;
        for events in due {
            let mut session = self.begin_session(workspace, person.clone()).await?;
            // Asked again per entry: a hold that is placed meanwhile keeps the rest.
            if session.tx.is_held().await? {
                applied.is_held = true;
                break;
            }
            for event in events {
                redact_event(&mut session, event, BlankReason::Legal)
                    .await
                    .map_err(Box::new)?;
            }
            session.commit().await.map_err(Box::new)?;
            applied.count += 1;
        }
        let begun = self
            .database
            .begin_log(workspace.organization, workspace.id);
        let mut tx = begun.await?;
        let subject = format!("{}: {} after {} days", rule.kind, applied.count, rule.days);
        let act = AuditAction::RetentionApplied;
        tx.audit(AuditActor::Operator(Some(&person)), act, subject)
            .await?;
        tx.commit().await?;
        Ok(applied)
    }

    /// Returns the events to redact of each entry that a rule is about.
    async fn due_entries(
        &self,
        workspace: &WorkspaceRow,
        rule: RetentionRule,
    ) -> Result<Vec<Vec<EventId>>, AdministrationError> {
        let RetentionKind::Entries(kind) = rule.kind else {
            return Ok(Vec::new());
        };
        let filter = EntryFilter {
            kind: Some(kind),
            lifecycle: LifecycleFilter::All,
            ..EntryFilter::default()
        };
        let begun = self
            .database
            .begin_workspace(workspace.organization, workspace.id);
        let mut tx = begun.await?;
        let (today, mut due, mut after) = (tx.now().date(), Vec::new(), None);
        loop {
            let page = tx.list(&filter, after.as_ref(), Some(PAGE_ROWS)).await?;
            after = page.last().map(EntryPosition::after);
            let is_last = page.len() < PAGE_ROWS as usize;
            for entry in &page {
                let is_due = |since| today.days_since(since) >= rule.days;
                if out_of_use_since(entry).is_some_and(is_due) {
                    let history = tx.history(entry.id).await?;
                    if !noted_since(&mut tx, &history).await?.is_none_or(is_due) {
                        continue;
                    }
                    let history = history.into_iter();
                    // An order to redact stays: it has no text, and clones need it to delete
                    // theirs.
                    let has_text = history
                        .filter(|it| !it.is_redacted() && it.event.get::<EventBlanked>().is_none());
                    let events: Vec<EventId> = has_text.map(|it| it.event.id).collect();
                    // What an earlier run redacted is not counted again.
                    if !events.is_empty() {
                        due.push(events);
                    }
                }
            }
            if is_last {
                return Ok(due);
            }
        }
    }

    pub(super) async fn begin_session(
        &self,
        workspace: &WorkspaceRow,
        actor: Actor,
    ) -> Result<WorkspaceSession, AdministrationError> {
        let caller = AuthenticatedCaller {
            organization: workspace.organization,
            actor,
            role: Role::Admin,
            workspace_roles: WorkspaceRoles::default(),
            workspaces: None,
            token: None,
            address: None,
        };
        // A redaction adds no words, so the default guard and quotas are enough.
        let services = ServiceContext {
            clock: self.database.clock().clone(),
            guard: Arc::new(Guard::default()),
            quotas: DefaultQuotas::default(),
            signers: None,
        };
        let begun = WorkspaceSession::begin(&self.database, &services, caller, workspace.id);
        Ok(begun.await.map_err(Box::new)?)
    }
}

/// Returns the day since which an entry is archived or retracted, the later one.
fn out_of_use_since(entry: &Entry) -> Option<Date> {
    let archived = entry.archived.as_ref().map(|it| it.since);
    archived.max(entry.retracted.as_ref().map(|it| it.since))
}

/// Returns the day on which the hub received the last event that put an entry out of use.
///
/// The event says itself when it was written. If that were believed, a member could retract an
/// entry with a date of long ago, and the next run would delete another author's words at once.
async fn noted_since(
    tx: &mut WorkspaceTx,
    history: &[RecordedEvent],
) -> Result<Option<Date>, StoreError> {
    let ends = history
        .iter()
        .filter(|it| it.event.get::<Retracted>().is_some() || it.event.get::<Archived>().is_some());
    let ends: Vec<EventId> = ends.map(|it| it.event.id).collect();
    let arrivals = tx.arrivals(&ends).await?;
    let days = arrivals.values().map(|(_, received_at)| received_at.date());
    Ok(days.max())
}

/// Returns the rules of a workspace: its own, and the organization's for other kinds.
fn effective_rules(
    rules: &[RetentionRule],
    organization: Uuid,
    workspace: Uuid,
) -> impl Iterator<Item = RetentionRule> {
    let of = |scope| rules.iter().copied().filter(move |it| it.scope == scope);
    let mut effective: BTreeMap<RetentionKind, RetentionRule> = BTreeMap::new();
    // The workspace's own rules come last and replace the organization's.
    for rule in of(organization).chain(of(workspace)) {
        effective.insert(rule.kind, rule);
    }
    effective.into_values()
}

async fn workspace_names(
    tx: &mut crate::database::OrganizationTx,
) -> Result<BTreeMap<Uuid, String>, AdministrationError> {
    let removed = tx.removed_workspaces().await?.into_iter();
    let removed: Vec<WorkspaceRow> = removed.map(|it| it.workspace).collect();
    let all = load_workspaces(tx).await?.into_iter().chain(removed);
    Ok(all.map(|row| (row.id.0, row.name.to_string())).collect())
}
