//! Decisions in a session: notices messages that decide something and asks the agent to record
//! them.
//!
//! The prompt hook sees every message, so no transcript is read, and only a hash of a message is
//! stored. The agent is asked once per conversation, at a stop or after its context was compacted,
//! and only while the run has no entry of its own.

use ken_core::retrieval::agent_texts;
use ken_core::trust::run::Run;
use ken_digest::transcript::{message_decides, sums_up};

use super::HookSession;
use super::session_state::{HookState, HookStateLine, append_line, short_hash};
use crate::engine::Engine;

/// Notices a prompt that corrects the agent or decides something. The first prompt is the task.
pub(super) fn notice_prompt(engine: &Engine, hook: &HookSession, prompt: &str) {
    // A subagent is prompted by an agent, not by a person.
    let (Some(run), None) = (hook.run_id(), &hook.subagent) else {
        return;
    };
    let state = HookState::load(&engine.place, &run);
    if !state.prompted {
        append_line(&engine.place, &run, HookStateLine::Prompted);
        return;
    }
    append_line(&engine.place, &run, HookStateLine::Said);
    if message_decides(prompt) {
        // The same words twice are one correction: some agents send a prompt again.
        let prompt = &short_hash(&[prompt]);
        append_line(&engine.place, &run, HookStateLine::Corrected { prompt });
        if !state.asked {
            append_line(&engine.place, &run, HookStateLine::Decided { prompt });
        }
    }
}

/// Returns the request to record the decisions of the session, if there are any. `said` is the
/// agent's last message.
pub(super) fn request_record(
    engine: &Engine,
    hook: &HookSession,
    run: &Run,
    said: Option<&str>,
) -> Option<String> {
    let id = hook.run_id()?;
    let state = HookState::load(&engine.place, &id);
    let is_written = run.agents.values().any(|it| !it.added.is_empty());
    let decided = state.decided.len();
    let recaps = said.is_some_and(|it| sums_up(it, decided > 0));
    if state.asked || is_written || decided == 0 && !recaps {
        return None;
    }
    // Stored before it is returned: a lost request is better than one at every stop.
    append_line(&engine.place, &id, HookStateLine::Asked);
    Some(agent_texts::decision_request(hook.session.as_deref()))
}
