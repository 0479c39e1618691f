//! Tool results: counts test runs and commits. Failure hook: returns entries about a tool's error
//! and counts the failure.
//!
//! A failure becomes a friction entry only when it recurs in several runs (`failure_counts`).

use std::path::Path;

use ken_core::ledger::event::SourceRun;
use ken_core::retrieval::unasked::UnaskedMoment;
use ken_core::trust::outcome::step::{made_commit, runs_tests};
use ken_core::values::content::FrictionType;
use ken_ledger::{GitEnv, discover};
use serde_json::json;

use super::HookSession;
use super::failure_counts::{count_failure, failure_hash, mark_recorded};
use super::session_state::{HookState, HookStateLine, append_line, short_hash};
use crate::config::RepositoryConfig;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::search::query_extraction::query_from_log;
use crate::validity::WorkTree;
use crate::{entries, friction, hooks};

/// Maximum number of distinct errors counted per session.
const FAILURES_MAX: usize = 20;

/// Maximum characters of the command and of the error in a friction entry.
const COMMAND_CHARS_MAX: usize = 200;
const ERROR_CHARS_MAX: usize = 500;

/// Call of an agent's tool.
#[derive(Clone, Copy, Debug)]
pub struct AgentToolCall<'a> {
    pub tool: &'a str,
    /// Input of the call, such as a shell command.
    pub input: &'a str,
}

impl AgentToolCall<'_> {
    /// Returns a hash that identifies the call.
    fn call_hash(&self) -> String {
        short_hash(&[self.tool, self.input])
    }
}

/// Result of an agent's tool call.
#[derive(Clone, Copy, Debug)]
pub struct ToolCallResult<'a> {
    pub has_failed: bool,
    pub output: &'a str,
}

/// Records test runs, commits, and that a call succeeded which failed before. Does not open the
/// ledger, because this runs after every tool call.
pub fn record_tool_result(
    start: &Path,
    git: &GitEnv,
    hook: &HookSession,
    call: AgentToolCall<'_>,
    result: ToolCallResult<'_>,
) {
    let (Ok(Some(place)), Some(run)) = (discover(start, git), hook.run_id()) else {
        return;
    };
    let passed = !result.has_failed;
    if runs_tests(call.input) {
        append_line(&place, &run, HookStateLine::Tested { passed });
    }
    // A commit that a git hook refused prints no id, but other output may look like one.
    if let Some(id) = made_commit(call.input, result.output).filter(|_| passed) {
        append_line(&place, &run, HookStateLine::Committed { id: &id });
    }
    let print = call.call_hash();
    // Only a call that is known to have failed is written.
    if passed && HookState::load(&place, &run).is_unresolved(&print) {
        append_line(&place, &run, HookStateLine::Fixed { call: &print });
    }
}

/// Returns entries about an error, once per error and session, and counts the failure.
pub(crate) fn handle_failure_hook(
    engine: &mut Engine,
    hook: &HookSession,
    call: AgentToolCall<'_>,
    error: &str,
) -> Result<Option<String>, EngineError> {
    let telling: Vec<&str> = error.lines().filter(|line| !is_bare_exit(line)).collect();
    let asked = query_from_log(engine, telling.join("\n").as_bytes())?;
    if asked.text.trim().is_empty() {
        // An exit code alone is not an error: `grep` exits with 1 when nothing matches.
        return Ok(None);
    }
    let failure = failure_hash(call.tool, &asked.text);
    if is_repeated_error(engine, hook, call, &failure) {
        return Ok(None);
    }
    let context = if hook.accepts_context {
        hooks::suggest_entries(engine, hook, asked.clone(), UnaskedMoment::Failure)?
    } else {
        None
    };
    // The entries are useful even if the friction cannot be recorded.
    let _ = record_recurring(engine, hook, call, &failure, &asked.text);
    Ok(context)
}

/// Returns true if the error is known in this session or the limit is reached, else stores it.
fn is_repeated_error(
    engine: &Engine,
    hook: &HookSession,
    call: AgentToolCall<'_>,
    failure: &str,
) -> bool {
    let Some(run) = hook.run_id() else {
        return false;
    };
    let memory = HookState::load(&engine.place, &run);
    if memory.failed.contains_key(failure) || memory.failed.len() >= FAILURES_MAX {
        return true;
    }
    let call = call.call_hash();
    let line = HookStateLine::Failed {
        error: failure,
        call: &call,
    };
    append_line(&engine.place, &run, line);
    false
}

/// Counts a failure, and adds a friction entry once it occurred in enough runs.
fn record_recurring(
    engine: &mut Engine,
    hook: &HookSession,
    call: AgentToolCall<'_>,
    failure: &str,
    error: &str,
) -> Result<(), EngineError> {
    // Without a session there is no run to tell a recurrence from a repetition.
    let Some(run) = hook.run_id() else {
        return Ok(());
    };
    let Some(runs) = count_failure(&engine.place, failure, &run) else {
        return Ok(());
    };
    let needed = RepositoryConfig::load(&WorkTree::new(&engine.place)?)?
        .friction
        .runs;
    if needed == 0 || runs < needed {
        return Ok(());
    }
    record_friction(engine, hook, call, error, runs)?;
    mark_recorded(&engine.place, failure);
    Ok(())
}

/// Adds a friction entry for a failed call. The guard scans it like every entry.
fn record_friction(
    engine: &mut Engine,
    hook: &HookSession,
    call: AgentToolCall<'_>,
    error: &str,
    runs: usize,
) -> Result<(), EngineError> {
    let short = |text: &str, most: usize| friction::shorten(&engine.guard.policy, text, most);
    let context = json!({
        "tool": call.tool,
        "asked": short(call.input, COMMAND_CHARS_MAX),
        "error": short(error, ERROR_CHARS_MAX),
        "runs": runs,
    });
    let by = hook.actor();
    let mut proposal = engine.friction_proposal(FrictionType::ToolError, context, &by)?;
    let run = engine.open_run_for(&hook.reader())?;
    // The outcome is unknown while the run is open.
    proposal.run = run.map(|run| SourceRun {
        id: run.id,
        outcome: None,
    });
    entries::add_without_rendering(engine, proposal, &by).map(drop)
}

/// Returns true if a line contains only the exit code of a command.
fn is_bare_exit(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    let rest = line.split_once("exit code").map(|(before, rest)| {
        let words = ["", "process", "command", "error:", "(", "exited with"];
        (words.contains(&before.trim()), rest)
    });
    rest.is_some_and(|(alone, rest)| {
        let digits = |c: char| c.is_ascii_digit() || ": =.)".contains(c);
        alone && rest.chars().all(digits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_command_ended_is_no_error_by_itself() {
        for line in ["Exit code 1", "exit code: 127", "Process exit code = 2."] {
            assert!(is_bare_exit(line), "{line}");
        }
        for line in [
            "error: exit code 1 of `cc`",
            "Exit code 1: no such file",
            "fatal",
        ] {
            assert!(!is_bare_exit(line), "{line}");
        }
    }
}
