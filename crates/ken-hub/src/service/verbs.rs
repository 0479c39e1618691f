//! Verbs on existing entries and events: confirm, edit, cite, retract, redact, revoke, resolve.
//!
//! Each drafts the events that the command of the same name drafts in a repository and submits
//! them as if the caller had pushed them ([`submit_drafts`]). So the rules about pushed events
//! decide here, too, and a change of protected content by an agent waits for a curator.

use std::time::{Duration, Instant};

use ken_core::decide::{self, ContradictionResolution, Draft, Refusal};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{BlankReason, Channel, OriginRevoked, RetractReason, Switch};
use ken_core::ledger::source::ContributionSource;
use ken_core::values::actor::Actor;
use ken_core::values::citation::CitationSource;
use ken_core::values::content::ContentChanges;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::text::{Note, Tag};
use ken_core::values::time::Date;
use ken_remote::name::HubName;
use ken_remote::wire::{EventVerdict, PushVerdict};

use super::promotion::ensure_artifact_matches;
use super::push::submit_drafts;
use super::{PushOutcome, ServiceContext, ServiceError, WorkspaceSession};
use crate::database::{HubDatabase, WorkspaceRow};
use crate::identity::AuthenticatedCaller;

/// Time after which a revocation of the organization stops and says where to continue.
const REVOCATION_TIME: Duration = Duration::from_secs(15);

/// Workspaces per query of a revocation of the organization.
const WORKSPACES_PAGE: u32 = 200;

/// Result of a verb.
#[derive(Clone, Debug)]
pub struct VerbOutcome {
    /// The entries that the events are about; empty for a revocation.
    pub entries: Vec<EntryId>,
    /// One verdict per event: admitted, or quarantined until a curator decides.
    pub events: Vec<EventVerdict>,
    /// True if the log changed.
    pub log_changed: bool,
}

impl VerbOutcome {
    fn new(entries: Vec<EntryId>, outcome: PushOutcome) -> Self {
        Self {
            entries,
            events: outcome.answers,
            log_changed: outcome.log_changed,
        }
    }

    /// Returns the reason why the change waits, if it does.
    #[must_use]
    pub fn waits_for(&self) -> Option<&str> {
        let mut events = self.events.iter();
        let waiting = events.find(|it| it.verdict == PushVerdict::Quarantined)?;
        Some(waiting.reason.as_deref().unwrap_or_default())
    }
}

/// An edit of an entry.
#[derive(Clone, Debug, Default)]
pub struct EditRequest {
    pub changes: ContentChanges,
    pub add_tags: Vec<Tag>,
    pub remove_tags: Vec<Tag>,
    pub note: Option<Note>,
}

/// A revocation of a source, or its end.
#[derive(Clone, Debug)]
pub struct RevokeRequest {
    pub source: ContributionSource,
    pub state: Switch,
}

/// Result of a revocation in one workspace.
#[derive(Debug)]
pub struct RevokedWorkspace {
    pub workspace: WorkspaceRow,
    pub result: Result<VerbOutcome, ServiceError>,
}

/// Confirms an entry on the date `on`; today by default. `artifact` is the digest of the text that
/// the person read: an agent may edit the entry between reading and confirming.
pub async fn confirm_entry(
    session: &mut WorkspaceSession,
    wanted: &str,
    on: Option<Date>,
    artifact: Option<&str>,
) -> Result<VerbOutcome, ServiceError> {
    let by = session.caller.actor.clone();
    let today = session.now.date();
    let on = on.unwrap_or(today);
    if today < on {
        let detail = "a confirmation cannot be in the future";
        return Err(ServiceError::InvalidRequest(detail.to_owned()));
    }
    session
        .change_entry(wanted, &by, |entry| {
            if let Some(artifact) = artifact {
                ensure_artifact_matches(entry, artifact)?;
            }
            Ok(vec![decide::confirm(entry, &by, on)?])
        })
        .await
}

/// Edits fields of an entry in the name of `by`.
pub async fn edit_entry(
    session: &mut WorkspaceSession,
    wanted: &str,
    edit: EditRequest,
    by: &Actor,
) -> Result<VerbOutcome, ServiceError> {
    let mut changes = edit.changes;
    // A person may take up a claim again that was retracted.
    if let Some(statement) = changes.statement.as_ref().filter(|_| !by.is_human()) {
        session
            .load_retracted_claims()
            .await?
            .check(statement, None, by)?;
    }
    session
        .change_entry(wanted, by, |entry| {
            if !edit.add_tags.is_empty() || !edit.remove_tags.is_empty() {
                let content = entry.content.as_ref();
                changes.change_tags(content, &edit.add_tags, &edit.remove_tags);
            }
            let draft = decide::edit(entry, changes, None, Channel::Command, edit.note)?;
            // Refuses nothing: a change of protected content waits.
            Ok(vec![decide::declare_origin(draft, entry, by)])
        })
        .await
}

/// Adds citations to an entry in the name of `by`.
pub async fn cite_entry(
    session: &mut WorkspaceSession,
    wanted: &str,
    cites: Vec<CitationSource>,
    by: &Actor,
) -> Result<VerbOutcome, ServiceError> {
    if cites.is_empty() {
        return Err(Refusal::ProvenanceRequired.into());
    }
    let now = session.now;
    session
        .change_entry(wanted, by, |entry| {
            let cited = cites.into_iter().map(|it| it.cite(by, now));
            let drafts: Result<Vec<Draft>, Refusal> =
                cited.map(|it| decide::cite(entry, it)).collect();
            Ok(drafts?)
        })
        .await
}

/// Retracts an entry.
pub async fn retract_entry(
    session: &mut WorkspaceSession,
    wanted: &str,
    reason: RetractReason,
    note: Option<Note>,
) -> Result<VerbOutcome, ServiceError> {
    let by = session.caller.actor.clone();
    session
        .change_entry(wanted, &by, |entry| {
            let draft = decide::retract(entry, reason, Channel::Command, note)?;
            Ok(vec![draft])
        })
        .await
}

/// Redacts an event: its data is deleted here and in every clone that pulls.
pub async fn redact_event(
    session: &mut WorkspaceSession,
    id: EventId,
    reason: BlankReason,
) -> Result<VerbOutcome, ServiceError> {
    session.lock().await?;
    let target = session.tx.event(id).await?;
    let target = target.ok_or_else(|| ServiceError::NotFound {
        what: "event",
        wanted: id.to_string(),
    })?;
    let by = session.caller.actor.clone();
    let draft = decide::redact(&target, &by, reason)?;
    let entries = target.event.entries().collect();
    let outcome = submit_drafts(session, vec![draft], &by).await?;
    Ok(VerbOutcome::new(entries, outcome))
}

/// Resolves a contradiction between two entries.
pub async fn resolve_contradiction(
    session: &mut WorkspaceSession,
    (one, other): (&str, &str),
    how: impl FnOnce(EntryId, EntryId) -> Result<ContradictionResolution, ServiceError>,
) -> Result<VerbOutcome, ServiceError> {
    session.lock().await?;
    let (one, other) = (session.find(one).await?, session.find(other).await?);
    session.ensure_visible(&one)?;
    session.ensure_visible(&other)?;
    let workspace = session.workspace().await?;
    let by = session.caller.actor.clone();
    let how = how(one.id, other.id)?;
    let drafts = decide::resolve_contradiction(&one, &other, how, &workspace, &by)?;
    let outcome = submit_drafts(session, drafts, &by).await?;
    Ok(VerbOutcome::new(vec![one.id, other.id], outcome))
}

/// Revokes an author or origin in one workspace, or ends that.
pub async fn revoke_source(
    session: &mut WorkspaceSession,
    request: &RevokeRequest,
) -> Result<VerbOutcome, ServiceError> {
    session.lock().await?;
    let source = &request.source;
    let earlier = session.tx.events_of_type::<OriginRevoked>(None).await?;
    let earlier = earlier.into_iter().filter(|it| {
        let data = it.event.get::<OriginRevoked>();
        data.is_some_and(|data| data.source == *source)
    });
    let earlier = earlier.map(|it| it.event.id).collect();
    let workspace = session.workspace().await?;
    let by = session.caller.actor.clone();
    let draft = decide::revoke(&workspace, source.clone(), request.state, earlier, &by)?;
    let outcome = submit_drafts(session, vec![draft], &by).await?;
    Ok(VerbOutcome::new(Vec::new(), outcome))
}

/// Revokes an author or origin in every workspace that the caller may enter, or ends that.
///
/// Each workspace has its own transaction, so one that fails keeps no other from its revocation.
/// Returns the results in the order of the names, and the name to continue after if the time is up.
/// Repeating the request is safe.
pub async fn revoke_everywhere(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: &AuthenticatedCaller,
    request: &RevokeRequest,
    after: Option<HubName>,
) -> Result<(Vec<RevokedWorkspace>, Option<HubName>), ServiceError> {
    let (began, mut done, mut after) = (Instant::now(), Vec::new(), after);
    loop {
        let page = list_workspaces(database, caller, after.as_ref(), WORKSPACES_PAGE).await?;
        let is_last = page.len() < WORKSPACES_PAGE as usize;
        for workspace in page {
            if began.elapsed() > REVOCATION_TIME {
                return Ok((done, after));
            }
            after = Some(workspace.name.clone());
            let result = revoke_in(database, services, caller, &workspace, request).await;
            done.push(RevokedWorkspace { workspace, result });
        }
        if is_last {
            return Ok((done, None));
        }
    }
}

async fn revoke_in(
    database: &HubDatabase,
    services: &ServiceContext,
    caller: &AuthenticatedCaller,
    workspace: &WorkspaceRow,
    request: &RevokeRequest,
) -> Result<VerbOutcome, ServiceError> {
    let begun = WorkspaceSession::begin(database, services, caller.clone(), workspace.id);
    let mut session = begun.await?;
    let outcome = revoke_source(&mut session, request).await?;
    session.commit().await?;
    Ok(outcome)
}

/// Returns up to `limit` workspaces that the caller may enter, sorted by name.
pub(crate) async fn list_workspaces(
    database: &HubDatabase,
    caller: &AuthenticatedCaller,
    after: Option<&HubName>,
    limit: u32,
) -> Result<Vec<WorkspaceRow>, ServiceError> {
    let mut tx = database.begin_organization(caller.organization).await?;
    let rows = match &caller.workspaces {
        None => tx.workspaces(after, limit).await?,
        // A restricted token names its workspaces by id, while pages are sorted by name: load all
        // of its rows and cut the page here.
        Some(ids) => {
            let mut rows = Vec::with_capacity(ids.len());
            for id in ids {
                rows.extend(tx.workspace(&id.0.to_string()).await?);
            }
            rows.retain(|row| after.is_none_or(|after| row.name > *after));
            rows.sort_by(|a, b| a.name.cmp(&b.name));
            rows.truncate(limit as usize);
            rows
        }
    };
    tx.commit().await?;
    Ok(rows)
}

impl WorkspaceSession {
    /// Submits the drafts of a change of one entry in the name of `by`.
    async fn change_entry(
        &mut self,
        wanted: &str,
        by: &Actor,
        decide: impl FnOnce(&Entry) -> Result<Vec<Draft>, ServiceError>,
    ) -> Result<VerbOutcome, ServiceError> {
        self.ensure_may_write_as(by)?;
        self.lock().await?;
        let entry = self.find(wanted).await?;
        self.ensure_visible(&entry)?;
        // An agent must not learn about quarantined text, even with the token of a curator.
        if !by.is_human() && !entry.quarantine.is_empty() {
            return Err(ServiceError::Quarantined(entry.id));
        }
        let outcome = submit_drafts(self, decide(&entry)?, by).await?;
        Ok(VerbOutcome::new(vec![entry.id], outcome))
    }
}
