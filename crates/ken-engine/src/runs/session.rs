//! Session runs: an agent's session as a run, opened on first contact and closed at its end.
//!
//! Hooks observe every prompt and every read, so a run they open has a witness. A server that an
//! agent calls observes only its own requests: it joins the run of the hooks, or opens a run that
//! confirms nothing.

use ken_core::trust::run::name::{SESSION_PREFIX, session_run_name};
use ken_core::trust::run::{Run, RunMember, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::text::Tag;

use super::OpenRunRequest;
use super::store::RunStore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::runs;

/// Returns the run of `agent`'s `session`, opened if needed.
///
/// Two processes may open it at the same time; both get the same run.
pub(crate) fn ensure_session_run(
    engine: &mut Engine,
    agent: &Actor,
    session: &str,
    witness: RunWitness,
) -> Result<Run, EngineError> {
    ensure_session_run_on_thread(engine, agent, session, witness, None)
}

/// Like [`Engine::ensure_session_run`], on a thread of work.
///
/// An agent waits for the result, so unlike [`Engine::open_run`] this does not update the health
/// report. The start and end hooks do, unless the ledger is large.
pub(crate) fn ensure_session_run_on_thread(
    engine: &mut Engine,
    agent: &Actor,
    session: &str,
    witness: RunWitness,
    thread: Option<Tag>,
) -> Result<Run, EngineError> {
    let id = session_run_name(agent, session);
    if RunStore::new(&engine.place)?.is_open(&id)? {
        return engine.run(&id);
    }
    // A failure to close old runs must not prevent a new one.
    let _ = engine.close_abandoned_runs(agent);
    let member = RunMember {
        session: Some(session.to_owned()),
        ..RunMember::default()
    };
    let new_run = OpenRunRequest {
        id: Some(id.clone()),
        agents: vec![(agent.clone(), member)],
        witness,
        thread,
        ..OpenRunRequest::default()
    };
    match runs::create_run(engine, new_run, agent) {
        // Another process created the run since the check above.
        Err(EngineError::Usage(_)) if RunStore::new(&engine.place)?.is_open(&id)? => {
            engine.run(&id)
        }
        other => other,
    }
}

/// Returns the id of `agent`'s session run if it has exactly one open.
///
/// With several, the right one is unknown, and an exposure recorded in the wrong run would
/// count as unseen in the other.
pub(crate) fn only_session_run(
    engine: &Engine,
    agent: &Actor,
) -> Result<Option<String>, EngineError> {
    let open = runs::open_runs_matching(engine, |id| id.starts_with(SESSION_PREFIX))?;
    let mut own = open.into_iter().filter(|run| run.by == *agent);
    Ok(match (own.next(), own.next()) {
        (Some(only), None) => Some(only.id),
        (Some(_), Some(_)) | (None, _) => None,
    })
}
