//! Request context of the use cases, and the single write path for events the hub creates itself.

use std::sync::Arc;

use ken_core::decide::EventStamper;
use ken_core::decide::closing_events::DraftWithId;
use ken_core::ledger::event::RecordedEvent;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::trust::review::ReviewPolicy;
use ken_core::trust::run::Run;
use ken_core::values::actor::Actor;
use ken_core::values::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::values::id::NodeId;
use ken_core::values::time::Timestamp;
use ken_guard::Guard;
use ken_sign::AllowedSigners;

use super::overlays::PersonalOverlays;
use super::{EntryReader, ServiceError};
use crate::clock::HubClock;
use crate::config::DefaultQuotas;
use crate::database::audit::{AuditAction, AuditedEvents, NewAuditRecord};
use crate::database::{HubDatabase, WorkspaceTx};
use crate::identity::AuthenticatedCaller;
use crate::ids::{Role, WorkspaceId};

/// Services shared by every use case of a process: clock, random source, guard and quotas.
#[derive(Clone, Debug)]
pub struct ServiceContext {
    pub clock: HubClock,
    pub guard: Arc<Guard>,
    /// Default limits per workspace; an organization's own row overrides them.
    pub quotas: DefaultQuotas,
    /// Signers of the caller's organization; loaded for a push with signatures.
    pub signers: Option<Arc<AllowedSigners>>,
}

/// One transaction on one workspace, together with the caller and the time of the request.
#[derive(Debug)]
pub struct WorkspaceSession {
    pub(crate) tx: WorkspaceTx,
    pub(super) caller: AuthenticatedCaller,
    pub(super) services: ServiceContext,
    /// Start of the transaction; constant for the whole use case.
    pub(super) now: Timestamp,
    /// Workspace-level state, cached until the next lock or write.
    pub(super) workspace: Option<Arc<WorkspaceState>>,
    /// Overlays of the caller, cached from their first use on.
    pub(super) overlays: Option<Arc<PersonalOverlays>>,
}

impl WorkspaceSession {
    /// Begins a transaction on a workspace that `caller` may access.
    pub async fn begin(
        database: &HubDatabase,
        services: &ServiceContext,
        caller: AuthenticatedCaller,
        workspace: WorkspaceId,
    ) -> Result<Self, ServiceError> {
        ensure_workspace_access(&caller, workspace)?;
        let tx = database
            .begin_workspace(caller.organization, workspace)
            .await?;
        Ok(Self::with_tx(tx, services, caller))
    }

    /// Wraps a transaction that has already begun.
    pub(super) fn with_tx(
        mut tx: WorkspaceTx,
        services: &ServiceContext,
        caller: AuthenticatedCaller,
    ) -> Self {
        tx.set_pusher(Some(caller.pusher()));
        Self {
            now: tx.now(),
            caller: caller.in_workspace(tx.workspace_id()),
            tx,
            services: services.clone(),
            workspace: None,
            overlays: None,
        }
    }

    /// Commits the transaction. Dropping the session without this call rolls back every write.
    pub async fn commit(self) -> Result<(), ServiceError> {
        Ok(self.tx.commit().await?)
    }

    /// Returns the workspace's name and id.
    pub async fn workspace_label(&mut self) -> Result<(String, String), ServiceError> {
        let row = self.tx.workspace_row().await?;
        Ok((row.name.to_string(), row.id.0.to_string()))
    }

    /// Returns the authenticated caller.
    #[must_use]
    pub fn caller(&self) -> &AuthenticatedCaller {
        &self.caller
    }

    /// Returns the time of this use case.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Refuses callers whose role is below `needs`.
    pub(super) fn require_role(&self, needs: Role, what: &'static str) -> Result<(), ServiceError> {
        let has = self.caller.role;
        if has >= needs {
            Ok(())
        } else {
            Err(ServiceError::Forbidden { what, needs, has })
        }
    }

    /// Refuses callers that are not people or may not act for people. Agents never approve,
    /// whatever their role.
    pub(super) fn require_person(&self, what: &'static str) -> Result<(), ServiceError> {
        self.require_role(Role::Curator, what)?;
        // The role alone is not enough: a pipeline or an import may hold a curator token.
        if self.caller.actor.is_human() {
            Ok(())
        } else {
            Err(ServiceError::PersonNeeded { what })
        }
    }

    /// Returns whether the caller may act in `agent`'s name: as itself, as an agent below it
    /// (`agent:bot/reviewer`), as its own MCP client, or, as a curator, as
    /// any agent but another person's client.
    pub(super) fn may_act_as(&self, agent: &Actor) -> bool {
        let actor = &self.caller.actor;
        let is_any = self.caller.role >= Role::Curator && !agent.is_client();
        is_any || actor.covers(agent) || agent.is_client_of(actor)
    }

    /// Refuses to read or record findings for another agent, unless the caller opened that agent's
    /// run: an orchestrator that builds the prompts of several agents is their witness, and a run
    /// relies on its reports.
    ///
    /// Returns that run if it had to be loaded.
    pub(super) async fn ensure_may_read_for(
        &mut self,
        reader: &EntryReader,
    ) -> Result<Option<Run>, ServiceError> {
        if self.may_act_as(&reader.agent) {
            return Ok(None);
        }
        let what = "reading or reporting for another agent outside a run that you opened";
        self.require_role(Role::Agent, what)?;
        // Nobody reports for another person, nor for the person's MCP client.
        if reader.agent.acts_for_person() {
            return Err(ServiceError::NotPermittedForAgent { what });
        }
        let run = match &reader.run {
            Some(id) => self.load_open_run(id).await?,
            None => None,
        };
        // Anyone can name a run; only the token that opened it may report for its agents.
        match run.filter(|run| run.by == self.caller.actor) {
            Some(run) => Ok(Some(run)),
            None => Err(ServiceError::NotPermittedForAgent { what }),
        }
    }

    /// Refuses to write events in another agent's name.
    pub(super) fn ensure_may_write_as(&self, agent: &Actor) -> Result<(), ServiceError> {
        let what = "writing in another agent's name";
        if self.may_act_as(agent) {
            Ok(())
        } else {
            Err(ServiceError::NotPermittedForAgent { what })
        }
    }

    /// Locks the workspace's row. Decisions made after this call see the latest committed state,
    /// and no other writer can change it.
    pub(crate) async fn lock(&mut self) -> Result<(), ServiceError> {
        // The previous lock holder may have committed changes to the cached state.
        self.workspace = None;
        Ok(self.tx.lock().await?)
    }

    /// Returns the workspace-level state; loaded once until a lock or write invalidates it.
    pub(super) async fn workspace(&mut self) -> Result<Arc<WorkspaceState>, ServiceError> {
        let state = match self.workspace.take() {
            Some(state) => state,
            None => Arc::new(self.tx.workspace_state().await?),
        };
        Ok(Arc::clone(self.workspace.insert(state)))
    }

    /// Returns the policy that decides when unconfirmed entries are archived.
    pub(super) async fn review_policy(&mut self) -> Result<ReviewPolicy, ServiceError> {
        let workspace = self.workspace().await?;
        Ok(ReviewPolicy::from_workspace(&workspace))
    }

    /// Adds a record about events to the audit log.
    pub(super) async fn audit_events(
        &mut self,
        act: AuditAction,
        subject: &str,
        events: AuditedEvents,
    ) -> Result<(), ServiceError> {
        let record = NewAuditRecord::new((&self.caller).into(), act, &subject);
        Ok(self.tx.add_audit_record(record.with_events(events)).await?)
    }

    /// Appends drafts in the name of `by`: the only write path for events the hub creates itself.
    ///
    /// Every draft passes the guard, receives a timestamp later than any event of the workspace,
    /// and is parsed back like a received line before it is appended. The audit log gets a record
    /// of the action `act` on `subject`.
    pub(super) async fn append_drafts(
        &mut self,
        drafts: Vec<DraftWithId>,
        by: &Actor,
        (act, subject): (AuditAction, &str),
    ) -> Result<(), ServiceError> {
        if drafts.is_empty() {
            return Ok(());
        }
        self.lock().await?;
        let seen = self.latest_clock().await?;
        let batch = self.stamp_drafts(drafts, by, seen)?;
        let events = AuditedEvents::of(batch.iter().map(|it| &it.event));
        self.append_events(batch).await?;
        self.audit_events(act, subject, events).await
    }

    /// Appends events whose lines are final. Fails if the workspace then exceeds its quota.
    pub(super) async fn append_events(
        &mut self,
        batch: Vec<RecordedEvent>,
    ) -> Result<(), ServiceError> {
        self.tx.append(batch).await?;
        self.workspace = None;
        // Checked after the write: the counters of the row include the new events then, and an
        // error rolls everything back.
        let usage = self.tx.workspace_usage().await?;
        Ok(self.services.quotas.check(&usage)?)
    }

    /// Returns the latest clock reading of the workspace's events.
    pub(super) async fn latest_clock(&mut self) -> Result<Option<Hlc>, ServiceError> {
        // A pushed event may carry a clock that is far ahead. Ignoring readings beyond the allowed
        // drift keeps one bad client from dragging the hub's clock forward.
        let limit = Hlc {
            wall: self.now.plus_millis(DRIFT_MAX_MS),
            counter: u16::MAX,
            node: NodeId::new(u128::MAX),
        };
        Ok(self.tx.latest_clock(limit).await?)
    }

    /// Turns drafts into events: each passes the guard, gets id and time and is parsed back.
    pub(super) fn stamp_drafts(
        &mut self,
        drafts: Vec<DraftWithId>,
        by: &Actor,
        seen: Option<Hlc>,
    ) -> Result<Vec<RecordedEvent>, ServiceError> {
        let ServiceContext { clock, guard, .. } = &mut self.services;
        let mut stamper = EventStamper {
            node: clock.node(),
            now: self.now,
            seen,
            ids: clock,
        };
        let mut batch = Vec::with_capacity(drafts.len());
        for (id, draft) in drafts {
            let (draft, admission) = guard.admit(draft, by, self.now)?;
            let event = match id {
                Some(id) => stamper.stamp_with_id(id, draft, by, admission),
                None => stamper.stamp(draft, by, admission),
            };
            // Parsing the serialized line catches an event that readers could not read before it
            // reaches the log.
            batch.push(RecordedEvent::new_verified(event).map_err(ServiceError::invalid_request)?);
        }
        Ok(batch)
    }
}

/// Refuses callers without access to a workspace, with the same error as for a missing one: its
/// existence must not leak.
pub(super) fn ensure_workspace_access(
    caller: &AuthenticatedCaller,
    workspace: WorkspaceId,
) -> Result<(), ServiceError> {
    if caller.may_enter(workspace) {
        return Ok(());
    }
    let (what, wanted) = ("workspace", workspace.0.to_string());
    Err(ServiceError::NotFound { what, wanted })
}
