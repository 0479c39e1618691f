//! Stop and end hooks: reminds an agent to record its findings, and closes the run.

use ken_core::retrieval::agent_texts;
use ken_core::trust::run::RunNote;
use ken_core::trust::run::closing::RunEnding;

use super::session_state::{HookState, HookStateLine, append_line, delete_state};
use super::{HookSession, decisions};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::health::report::LEDGER_BYTES_ON_BRIEF_MAX;
use crate::runs::closing::RunVisibility;
use crate::{health, maintenance, runs};

/// Asks an agent to record the decisions of its user, or reminds it to record its findings. Each
/// text appears once per session, and only if there is something to record and no entry was added
/// yet. `said` is the agent's last message.
pub(crate) fn handle_stop_hook(
    engine: &mut Engine,
    hook: &HookSession,
    said: Option<&str>,
) -> Result<Option<String>, EngineError> {
    let (Some(id), true) = (hook.run_id(), hook.accepts_context) else {
        return Ok(None);
    };
    let Some(run) = engine.open_run_for(&hook.reader())? else {
        return Ok(None);
    };
    let request = decisions::request_record(engine, hook, &run, said);
    if request.is_some() {
        return Ok(request);
    }
    let memory = HookState::load(&engine.place, &id);
    let found: usize = run.agents.values().map(|it| it.findings.len()).sum();
    let is_written = run.agents.values().any(|it| !it.added.is_empty());
    let fixed = memory.fixed.len();
    if memory.reminded || is_written || found + fixed == 0 {
        return Ok(None);
    }
    // Stored before it is returned: a lost reminder is better than one at every stop.
    append_line(&engine.place, &id, HookStateLine::Reminded);
    let mut reminder = agent_texts::stop_reminder(found, fixed);
    let unresolved = memory.count_unresolved();
    if unresolved > 0 && !runs::handoff::has_written(engine, &id)? {
        reminder.push_str(&agent_texts::handoff_request(unresolved));
    }
    Ok(Some(reminder))
}

/// Ends a session's run. Its outcome is unknown, so the run is stored as abandoned; without
/// results it is deferred, and no tracked file changes unless the policy allows maintenance.
///
/// No agent waits for this hook, so it also updates the health report for the next session, unless
/// the ledger is large.
pub(crate) fn handle_end_hook(engine: &mut Engine, hook: &HookSession) -> Result<(), EngineError> {
    let (Some(id), None) = (hook.run_id(), &hook.run) else {
        // A run set by an orchestrator is closed by the orchestrator.
        return Ok(());
    };
    if engine
        .open_run_for(&hook.as_main_agent().reader())?
        .is_none()
    {
        // The run was closed in another way, for example as abandoned.
        delete_state(&engine.place, &id);
        return Ok(());
    }
    let ending = RunEnding::abandoned();
    let (agent, outcome) = (hook.agent.clone(), ending.outcome);
    engine.record_note(&id, RunNote::Ended { agent, outcome }, &hook.agent)?;
    runs::note_facts(engine, &id, &hook.agent)?;
    if engine.run(&id)?.has_results() {
        engine.close_run(&id, &ending, &hook.agent)?;
    } else {
        runs::closing::defer_run(engine, &id, RunVisibility::Complete, &hook.agent)?;
        // Closing a run asks for it, too. It changes nothing unless a person allowed it.
        maintenance::run_due_maintenance(engine, &hook.agent);
    }
    delete_state(&engine.place, &id);
    health::report::update_small_health_report(engine, LEDGER_BYTES_ON_BRIEF_MAX);
    Ok(())
}
