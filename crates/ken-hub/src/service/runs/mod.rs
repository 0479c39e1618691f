//! Runs: open, add notes, close. Notes are stored until the run ends; closing turns them into
//! events.

mod closing;
mod matching;

use std::collections::BTreeSet;

use ken_core::ledger::event::RunClosed;
use ken_core::trust::run::closed::{ClosedRun, PastRun};
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::name::{self, IMPLICIT_PREFIX, SESSION_PREFIX};
use ken_core::trust::run::opening::{OpenRunRequest, check_finding, opening_notes};
use ken_core::trust::run::{ABANDONED_AFTER_MS, AGENTS_MAX, Run, RunFinding, RunNote, RunRecord};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use serde_json::Value;

use super::health::recent_period_start;
use super::reader::invalid_run_name;
use super::{EntryReader, ServiceError, WorkspaceSession};
use crate::clock::random_u128;
use crate::config::QuotaExceeded;
use crate::ids::Role;

/// Abandoned runs closed per opened run; the rest is left to later requests, so no request takes
/// too long.
const SWEPT_MAX: u32 = 4;

/// Abandoned runs closed per implicit run. One for one, so their number cannot grow.
const SWEPT_BY_READING: u32 = 1;

/// Implicit and conversation runs per agent; beyond that, the least recently used ones are deleted.
const MADE_MAX: u32 = 64;

/// Implicit and conversation runs per workspace; beyond that, the least recently used ones are
/// deleted. An agent may read under any number of names below its own.
const MADE_TOTAL_MAX: u32 = 2_000;

/// Maximum number of explicitly opened runs per workspace.
const OPENED_MAX: u64 = 1_000;

/// Maximum number of explicitly opened runs per actor and workspace.
const OPENED_PER_ACTOR_MAX: u64 = 200;

/// Maximum number of open runs listed, oldest first.
const OPEN_MAX: u32 = 50;

/// Maximum number of notes per run; an agent that never stops has to open another run.
const NOTES_MAX: i64 = 5_000;

/// Maximum size of a run's notes in bytes.
const NOTES_BYTES_MAX: i64 = 4 << 20;

/// Maximum number of ended runs listed.
const PAST_MAX: usize = 200;

/// A finding and the reader that reports it.
#[derive(Clone, Debug)]
pub struct ObservedFinding {
    pub reader: EntryReader,
    pub finding: RunFinding,
}

/// Opens a run. A few abandoned runs are closed first.
pub async fn load_open_run(
    session: &mut WorkspaceSession,
    request: OpenRunRequest,
) -> Result<Run, ServiceError> {
    session.require_role(Role::Agent, "opening a run")?;
    if request.agents.iter().any(|(agent, _)| agent.is_human()) {
        return Err(ServiceError::invalid_request(
            "an agent of a run must not be a person",
        ));
    }
    let (id, notes) = opening_notes(request, random_u128)?;
    if !name::is_run_name(&id) {
        return Err(invalid_run_name(&id));
    }
    session.lock().await?;
    session.close_abandoned_runs(SWEPT_MAX).await?;
    let by = session.caller.actor.clone();
    session.ensure_run_capacity(&by).await?;
    // The name is chosen by the caller and ends up in events, so it must not contain a secret
    // either.
    session
        .services
        .guard
        .admit_text(&Value::from(id.clone()), &by)?;
    let notes = notes
        .into_iter()
        .map(|note| session.guard_note(session.stamp_note(note, &by)));
    let notes = notes.collect::<Result<Vec<RunRecord>, ServiceError>>()?;
    if !session.begin_run(&id, &notes).await? {
        return Err(ServiceError::Conflict(format!(
            "a run `{id}` is already open; choose another id or omit it"
        )));
    }
    session.check_waiting_quota().await?;
    get_open_run(session, &id).await
}

/// Adds a note to an open run.
///
/// The hub itself records exposures and findings; the owner of the run reports the rest.
pub async fn record_note(
    session: &mut WorkspaceSession,
    id: &str,
    note: RunNote,
) -> Result<Run, ServiceError> {
    session.require_role(Role::Agent, "adding a note to a run")?;
    match &note {
        RunNote::Joined { .. }
        | RunNote::Shown { .. }
        | RunNote::SawEverything { .. }
        | RunNote::Said { .. }
        | RunNote::Used { .. }
        | RunNote::Ended { .. }
        | RunNote::Gap => {}
        RunNote::Opened { .. }
        | RunNote::Pushed { .. }
        | RunNote::Passed { .. }
        | RunNote::Added { .. }
        | RunNote::Feedback { .. }
        | RunNote::Facts { .. }
        | RunNote::Observed { .. } => {
            return Err(ServiceError::invalid_request(
                "the hub writes this note itself; send joined, shown, saw_everything, said, used, ended or gap",
            ));
        }
    }
    let open = get_open_run(session, id).await?;
    ensure_agent_capacity(&open, &note)?;
    let is_foreign = note.agent().is_some_and(|agent| !session.may_act_as(agent));
    // Whoever opened a run reports for its agents, but for no person and no person's client.
    let is_person = note.agent().is_some_and(Actor::acts_for_person);
    if is_foreign && (open.by != session.caller.actor || is_person) {
        let what =
            "adding a note about a person, or about another agent to a run that you did not open";
        return Err(ServiceError::NotPermittedForAgent { what });
    }
    let by = session.caller.actor.clone();
    session.append_run_note(id, note, &by).await?;
    get_open_run(session, id).await
}

/// Records a finding and the entries that already state it.
pub async fn record_finding(
    session: &mut WorkspaceSession,
    observation: ObservedFinding,
) -> Result<Run, ServiceError> {
    session.require_role(Role::Agent, "recording a finding")?;
    let ObservedFinding { reader, finding } = observation;
    session.ensure_may_read_for(&reader).await?;
    check_finding(&finding)?;
    if let Some(run) = &reader.run {
        session.ensure_run_open(run).await?;
    }
    let says: BTreeSet<EntryId> = session.find_equivalent_entries(&finding.statement).await?;
    let id = session.ensure_run(&reader).await?;
    let note = RunNote::Observed {
        agent: reader.agent.clone(),
        finding: Box::new(finding),
        says,
    };
    ensure_agent_capacity(&get_open_run(session, &id).await?, &note)?;
    // Signed with the token's actor: findings that one token reports under several agent names are
    // not independent.
    let by = session.caller.actor.clone();
    session.append_run_note(&id, note, &by).await?;
    get_open_run(session, &id).await
}

/// Closes a run and appends the resulting events.
pub async fn close_run(
    session: &mut WorkspaceSession,
    id: &str,
    ending: &RunEnding,
) -> Result<ClosedRun, ServiceError> {
    session.require_role(Role::Agent, "closing a run")?;
    session.lock().await?;
    let open = get_open_run(session, id).await?;
    if open.by != session.caller.actor && !session.may_act_as(&open.by) {
        let what = "closing a run that another actor opened";
        return Err(ServiceError::NotPermittedForAgent { what });
    }
    let by = session.caller.actor.clone();
    session.end_run(open, ending, &by).await
}

/// Loads an open run; fails if there is none of that name.
pub async fn get_open_run(session: &mut WorkspaceSession, id: &str) -> Result<Run, ServiceError> {
    session.ensure_run_open(id).await?;
    let run = session.load_open_run(id).await?;
    run.ok_or_else(|| run_not_found(id))
}

/// Lists explicitly opened runs, oldest first.
pub async fn list_open_runs(session: &mut WorkspaceSession) -> Result<Vec<Run>, ServiceError> {
    session.load_open_runs().await
}

/// Lists runs that ended recently, latest first.
pub async fn list_past_runs(session: &mut WorkspaceSession) -> Result<Vec<PastRun>, ServiceError> {
    let since = recent_period_start(session.now);
    let mut runs = session.ended_runs(Some(since)).await?;
    runs.reverse();
    runs.truncate(PAST_MAX);
    Ok(runs)
}

/// Refuses a note that would exceed a run's maximum number of agents.
fn ensure_agent_capacity(run: &Run, note: &RunNote) -> Result<(), ServiceError> {
    if !run.has_room_for(note) {
        return Err(ServiceError::Conflict(format!(
            "run `{}` has reached the limit of {AGENTS_MAX} agents; open another run",
            run.id
        )));
    }
    Ok(())
}

fn run_not_found(id: &str) -> ServiceError {
    let (what, wanted) = ("open run", id.to_owned());
    ServiceError::NotFound { what, wanted }
}

impl WorkspaceSession {
    /// Loads an open run; `None` if there is none of that name.
    pub(super) async fn load_open_run(&mut self, id: &str) -> Result<Option<Run>, ServiceError> {
        if name::is_run_name(id) {
            self.read_run(id).await
        } else {
            Ok(None)
        }
    }

    /// Loads the runs that ended, optionally only since a time, in the order they ended.
    pub(super) async fn ended_runs(
        &mut self,
        since: Option<ken_core::values::time::Timestamp>,
    ) -> Result<Vec<PastRun>, ServiceError> {
        let since = since.map(|it| it.to_string());
        let ended = self
            .tx
            .events_of_type::<RunClosed>(since.as_deref())
            .await?;
        Ok(ended.iter().filter_map(PastRun::from_event).collect())
    }

    /// Loads the open runs except implicit ones.
    async fn load_open_runs(&mut self) -> Result<Vec<Run>, ServiceError> {
        let mut runs = Vec::new();
        for open in self.tx.open_runs(IMPLICIT_PREFIX, OPEN_MAX).await? {
            runs.extend(self.read_run(&open.id).await?);
        }
        Ok(runs)
    }

    async fn ensure_run_open(&mut self, id: &str) -> Result<(), ServiceError> {
        if name::is_run_name(id) && self.tx.is_run_open(id).await? {
            Ok(())
        } else {
            Err(run_not_found(id))
        }
    }

    /// Appends a note to an open run after the guard admitted it.
    pub(super) async fn append_run_note(
        &mut self,
        id: &str,
        note: RunNote,
        by: &Actor,
    ) -> Result<(), ServiceError> {
        let noted = self.guard_note(self.stamp_note(note, by))?;
        match self.add_note(id, &noted).await? {
            None => Err(run_not_found(id)),
            Some(size) if size.notes <= NOTES_MAX && size.bytes <= NOTES_BYTES_MAX => {
                self.check_note_quota(size).await
            }
            Some(_) => Err(ServiceError::Conflict(format!(
                "run `{id}` has reached the limit of {NOTES_MAX} notes or {NOTES_BYTES_MAX} bytes; close it and open another run"
            ))),
        }
    }

    pub(super) fn stamp_note(&self, note: RunNote, by: &Actor) -> RunRecord {
        RunRecord {
            at: self.now,
            by: by.clone(),
            note,
        }
    }

    /// Runs a note through the guard. Notes are stored like events, so they must not contain
    /// secrets either.
    pub(super) fn guard_note(&self, noted: RunRecord) -> Result<RunRecord, ServiceError> {
        Ok(self.services.guard.admit_note(noted)?)
    }

    /// Refuses another open run of an actor if it or the workspace has too many.
    async fn ensure_run_capacity(&mut self, by: &Actor) -> Result<(), ServiceError> {
        let prefixes = [IMPLICIT_PREFIX, SESSION_PREFIX];
        let (all, own) = self.tx.count_open_runs(&by.to_string(), prefixes).await?;
        QuotaExceeded::check("open runs of one actor", own + 1, OPENED_PER_ACTOR_MAX)?;
        Ok(QuotaExceeded::check(
            "open runs in this workspace",
            all + 1,
            OPENED_MAX,
        )?)
    }

    /// Makes room for another implicit run of `agent`: closes an abandoned run, and deletes the
    /// agent's least recently used runs beyond the limit.
    pub(super) async fn trim_agent_runs(&mut self, agent: &Actor) -> Result<(), ServiceError> {
        // Closing a run appends events, which a reader may not cause.
        if self.caller.role >= Role::Agent {
            self.close_abandoned_runs(SWEPT_BY_READING).await?;
        }
        let (by, prefixes) = (agent.to_string(), [IMPLICIT_PREFIX, SESSION_PREFIX]);
        // One less than the limit leaves room for the run that is about to be opened.
        let own = (Some(by.as_str()), (MADE_MAX - 1, SWEPT_MAX));
        let all = (None, (MADE_TOTAL_MAX - 1, SWEPT_MAX));
        let mut excess = Vec::new();
        for (by, kept_and_limit) in [own, all] {
            excess.extend(self.tx.excess_run_ids(by, prefixes, kept_and_limit).await?);
        }
        for id in excess {
            match self.read_run(&id).await? {
                Some(run) => self.remove_run(&run).await?,
                None => drop(self.tx.delete_open_run(&id).await?),
            }
        }
        Ok(())
    }

    /// Closes up to `limit` runs without recent notes as abandoned. Their end was not observed, so
    /// the exposures are incomplete.
    async fn close_abandoned_runs(&mut self, limit: u32) -> Result<(), ServiceError> {
        let before = self.now.minus_millis(ABANDONED_AFTER_MS);
        let silent = self.tx.silent_runs(before, limit).await?;
        if silent.is_empty() {
            return Ok(());
        }
        self.lock().await?;
        // Reads outside a run disable synchronous commit, but the events appended here must survive
        // a crash.
        self.tx.require_sync_commit().await?;
        for id in silent {
            match self.read_run(&id).await? {
                // A note was added before this transaction had the lock, so the run is not
                // abandoned.
                Some(run) if run.last >= before => {}
                Some(mut run) => {
                    run.apply(RunNote::Gap);
                    self.abandon_run(run).await?;
                }
                None => drop(self.tx.delete_open_run(&id).await?),
            }
        }
        Ok(())
    }

    /// Closes an abandoned run. A run that cannot be closed is deleted instead: it must not block
    /// every later request that opens a run.
    async fn abandon_run(&mut self, run: Run) -> Result<(), ServiceError> {
        let by = self.caller.actor.clone();
        // Closing may fail after it wrote some events. The savepoint undoes those and nothing else.
        self.tx.set_savepoint().await?;
        let ended = self
            .end_run(run.clone(), &RunEnding::abandoned(), &by)
            .await;
        match ended {
            Ok(_) => Ok(()),
            Err(error @ (ServiceError::Store(_) | ServiceError::Database(_))) => Err(error),
            // The run stays open until the workspace has room for its events.
            Err(ServiceError::Quota(_)) => self.rollback_to_savepoint().await,
            Err(why) => {
                self.rollback_to_savepoint().await?;
                tracing::warn!(%why, "an abandoned run cannot be closed and is deleted");
                self.remove_run(&run).await
            }
        }
    }

    /// Rolls back to the savepoint and drops the state cached since.
    async fn rollback_to_savepoint(&mut self) -> Result<(), ServiceError> {
        self.workspace = None;
        Ok(self.tx.rollback_to_savepoint().await?)
    }
}
