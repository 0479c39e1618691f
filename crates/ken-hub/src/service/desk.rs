//! What a use case works with, and the one way in for what the hub writes itself.

use std::sync::Arc;

use ken_core::actor::Actor;
use ken_core::decide::Clock;
use ken_core::event::{LINE_BYTES_MAX, Recorded};
use ken_core::hlc::{DRIFT_MAX_MS, Hlc};
use ken_core::id::NodeId;
use ken_core::review::{REVIEW_KEY, ReviewPolicy};
use ken_core::run::Run;
use ken_core::run::written::Stamped;
use ken_core::time::Timestamp;
use ken_core::workspace::Workspace;
use ken_guard::Guard;

use super::{Failure, Reader};
use crate::database::{Database, Tenant};
use crate::identity::audit::Act;
use crate::identity::{Caller, Role, WorkspaceId};
use crate::serve::settings::Quotas;
use crate::world::World;

/// What every use case of a process shares: clock, dice and guard.
#[derive(Clone, Debug)]
pub struct House {
    pub world: World,
    pub guard: Arc<Guard>,
    /// What a workspace may hold, where its organisation's row says nothing else.
    pub quotas: Quotas,
}

/// One workspace in one transaction, and who asks.
#[derive(Debug)]
pub struct Desk {
    pub(crate) tenant: Tenant,
    pub(super) caller: Caller,
    pub(super) house: House,
    /// The same for the whole use case.
    pub(super) now: Timestamp,
    /// The state that belongs to no entry, as it was read since the workspace was last locked or written to.
    workspace: Option<Arc<Workspace>>,
}

impl Desk {
    /// Begins to work in a workspace that `caller` may enter.
    pub async fn begin(
        database: &Database,
        house: &House,
        caller: Caller,
        workspace: WorkspaceId,
    ) -> Result<Self, Failure> {
        check_door(&caller, workspace)?;
        let tenant = database.tenant(caller.organisation, workspace).await?;
        Ok(Self::over(tenant, house, caller))
    }

    /// Works over a transaction that began.
    pub(super) fn over(tenant: Tenant, house: &House, caller: Caller) -> Self {
        Self {
            now: tenant.now(),
            tenant,
            caller,
            house: house.clone(),
            workspace: None,
        }
    }

    /// Keeps what was written; without it nothing was.
    pub async fn finish(self) -> Result<(), Failure> {
        Ok(self.tenant.commit().await?)
    }

    /// Returns the workspace's name and its id.
    pub async fn place(&mut self) -> Result<(String, String), Failure> {
        let row = self.tenant.row().await?;
        Ok((row.name.to_string(), row.id.0.to_string()))
    }

    /// Returns who asks.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns when this use case happens.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Refuses who has a smaller role.
    pub(super) fn needs(&self, needs: Role, what: &'static str) -> Result<(), Failure> {
        let has = self.caller.role;
        match needs <= has {
            true => Ok(()),
            false => Err(Failure::Forbidden { what, needs, has }),
        }
    }

    /// Refuses who is no person or may not speak for people: agents never approve, whatever their role.
    pub(super) fn needs_person(&self, what: &'static str) -> Result<(), Failure> {
        self.needs(Role::Curator, what)?;
        match self.caller.actor.is_human() {
            true => Ok(()),
            false => Err(Failure::PersonNeeded { what }),
        }
    }

    /// Returns whether whatever the caller says in `agent`'s name is its own word: itself, or an agent below it
    /// (`agent:bot/reviewer`); curators speak for everybody.
    pub(super) fn is_own(&self, agent: &Actor) -> bool {
        Role::Curator <= self.caller.role || self.caller.actor.covers(agent)
    }

    /// Refuses to read or find for another agent, unless the caller opened the run that is in: whoever builds the
    /// prompts of several agents is their witness, and its word about them is what a run rests on.
    ///
    /// Returns that run, where it had to be read.
    pub(super) async fn check_reader(&mut self, reader: &Reader) -> Result<Option<Run>, Failure> {
        if self.is_own(&reader.agent) {
            return Ok(None);
        }
        let what = "speaking for another agent outside a run of your own";
        self.needs(Role::Agent, what)?;
        let run = match &reader.run {
            Some(id) => self.open_run(id).await?,
            None => None,
        };
        match run.filter(|it| it.by == self.caller.actor) {
            Some(run) => Ok(Some(run)),
            None => Err(Failure::NotYours { what }),
        }
    }

    /// Refuses to write events in another agent's name.
    pub(super) fn check_author(&self, agent: &Actor) -> Result<(), Failure> {
        let what = "writing in another agent's name";
        match self.is_own(agent) {
            true => Ok(()),
            false => Err(Failure::NotYours { what }),
        }
    }

    /// Waits until nobody else writes to the workspace, so that what is decided now is decided about what is there.
    pub(crate) async fn lock(&mut self) -> Result<(), Failure> {
        // Whoever had it before may have changed anything.
        self.workspace = None;
        Ok(self.tenant.lock().await?)
    }

    /// Returns the state that belongs to no entry; read once until somebody may have changed it.
    pub(super) async fn workspace(&mut self) -> Result<Arc<Workspace>, Failure> {
        let known = match self.workspace.take() {
            Some(known) => known,
            None => Arc::new(self.tenant.workspace().await?),
        };
        Ok(Arc::clone(self.workspace.insert(known)))
    }

    /// Returns when silence lays an entry aside here.
    pub(super) async fn review_policy(&mut self) -> Result<ReviewPolicy, Failure> {
        let workspace = self.workspace().await?;
        let own = workspace.config(REVIEW_KEY);
        let own = own.and_then(|it| serde_json::from_value(it.value.clone()).ok());
        Ok(own.unwrap_or_default())
    }

    /// Writes down who did what, for whoever looks after the hub.
    pub(super) async fn audit(&mut self, act: Act, subject: &str) -> Result<(), Failure> {
        Ok(self.tenant.audit(&self.caller, act, subject).await?)
    }

    /// Writes drafts down in the name of `by`: the only way in for what the hub writes itself.
    ///
    /// Every draft passes the guard, gets a time after everything the workspace knows, and is read back as a reader
    /// would before it is appended.
    pub(super) async fn record(&mut self, drafts: Vec<Stamped>, by: &Actor) -> Result<(), Failure> {
        self.lock().await?;
        let limit = Hlc {
            wall: self.now.plus_millis(DRIFT_MAX_MS),
            counter: u16::MAX,
            node: NodeId::new(u128::MAX),
        };
        let seen = self.tenant.latest(limit).await?;
        let batch = self.stamped(drafts, by, seen)?;
        self.append(batch).await
    }

    /// Appends events whose lines are final, and refuses those that make the workspace larger than it may be.
    pub(super) async fn append(&mut self, batch: Vec<Recorded>) -> Result<(), Failure> {
        self.tenant.append(batch).await?;
        self.workspace = None;
        let room = self.tenant.room().await?;
        Ok(self.house.quotas.check(&room)?)
    }

    fn stamped(
        &mut self,
        drafts: Vec<Stamped>,
        by: &Actor,
        seen: Option<Hlc>,
    ) -> Result<Vec<Recorded>, Failure> {
        let House { world, guard, .. } = &mut self.house;
        let mut clock = Clock {
            node: world.node(),
            now: self.now,
            seen,
            ids: world,
        };
        let mut batch = Vec::with_capacity(drafts.len());
        for (id, draft) in drafts {
            let (draft, admission) = guard.admit(draft, by)?;
            let event = match id {
                Some(id) => clock.stamp_as(id, draft, by, admission),
                None => clock.stamp(draft, by, admission),
            };
            batch.push(checked(&Recorded::new(event))?);
        }
        Ok(batch)
    }
}

/// Refuses who may not enter a workspace, as if there were none.
pub(super) fn check_door(caller: &Caller, workspace: WorkspaceId) -> Result<(), Failure> {
    if caller.may_enter(workspace) {
        return Ok(());
    }
    let (what, wanted) = ("workspace", workspace.0.to_string());
    Err(Failure::NotFound { what, wanted })
}

/// What is written must be what a reader accepts.
fn checked(recorded: &Recorded) -> Result<Recorded, Failure> {
    let bytes = recorded.line().len();
    if LINE_BYTES_MAX < bytes {
        return Err(Failure::Usage(format!(
            "this would take {bytes} bytes; an event has at most {LINE_BYTES_MAX}"
        )));
    }
    Ok(Recorded::parse(recorded.line().as_bytes()).expect("a written line reads back"))
}
