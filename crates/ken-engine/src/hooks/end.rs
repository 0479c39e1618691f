//! Stop and end hooks: reminds an agent to record its findings, and closes the run.

use ken_core::retrieval::agent_texts;
use ken_core::trust::run::RunNote;
use ken_core::trust::run::closing::RunEnding;

use super::HookSession;
use super::session_state::{HookState, HookStateLine, append_line, delete_state};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::health::report::LEDGER_BYTES_ON_BRIEF_MAX;
use crate::runs::closing::RunVisibility;
use crate::{health, maintenance, runs};

/// Reminds an agent to record its findings. The reminder appears once per session, and only if
/// there are findings or fixed failures and no entry was added yet.
pub(crate) fn handle_stop_hook(
    engine: &mut Engine,
    hook: &HookSession,
) -> Result<Option<String>, EngineError> {
    let (Some(id), true) = (hook.run_id(), hook.accepts_context) else {
        return Ok(None);
    };
    let Some(run) = engine.open_run_for(&hook.reader())? else {
        return Ok(None);
    };
    let memory = HookState::load(&engine.place, &id);
    let found: usize = run.agents.values().map(|it| it.findings.len()).sum();
    let is_written = run.agents.values().any(|it| !it.added.is_empty());
    let fixed = memory.fixed.len();
    if memory.reminded || is_written || found + fixed == 0 {
        return Ok(None);
    }
    // Stored before it is returned: a lost reminder is better than one at every stop.
    append_line(&engine.place, &id, HookStateLine::Reminded);
    Ok(Some(agent_texts::stop_reminder(found, fixed)))
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
