//! Facts of a run: what its hooks counted, and the commits made in it.
//!
//! Hooks keep their counts in a local file of the session. Before a run ends, they become a note of
//! the run, so that they survive until the run is in the ledger.

use ken_core::trust::outcome::{COMMITS_MAX, RunFacts, short_commit, step};
use ken_core::trust::run::name::SESSION_PREFIX;
use ken_core::trust::run::{Run, RunNote};
use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use ken_ledger::git::GitRunner;

use super::blame::{COMMIT_AFTER_MS, trailer_run};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::git::{self, read_log};
use crate::hooks::session_state::HookState;
use crate::runs;

/// Number of commits of the branch that are searched for those of a session, newest first.
const COMMITS_SEARCHED: usize = 100;

/// Notes the facts of an open run, unless no hook observed it or they are noted already.
pub(super) fn note_facts(engine: &mut Engine, id: &str, by: &Actor) -> Result<(), EngineError> {
    let state = HookState::load(&engine.place, id);
    if !state.observed {
        return Ok(());
    }
    let run = engine.run(id)?;
    // An agent that runs `ken hook` itself counts as having seen everything. What its hooks say may
    // be its own invention, so it is not a fact.
    let main = run.agents.get(&run.by);
    if main.is_some_and(|it| it.saw_everything) {
        return Ok(());
    }
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let counted = RunFacts {
        prompts: count(state.prompts),
        corrections: Some(count(state.corrected.len())),
        test_runs: count(state.tests.len()),
        tests_passed_at: state
            .tests
            .iter()
            .position(|it| *it)
            .map(|at| count(at + 1)),
        ..RunFacts::default()
    };
    // The end hook notes them before it decides whether the run has results, and closing again.
    let is_noted = run.facts.as_ref().is_some_and(|noted| {
        let commits = noted.commits.clone();
        *noted
            == RunFacts {
                commits,
                ..counted.clone()
            }
    });
    if is_noted {
        return Ok(());
    }
    let facts = RunFacts {
        commits: commits_of(engine, &run, state.commits),
        ..counted
    };
    engine.record_note(id, RunNote::Facts { facts }, by)
}

/// Returns the commits of a run: those that its hooks saw, those whose trailer names it, and
/// without either those that the user of this clone made on the branch while only this session was
/// open.
fn commits_of(engine: &Engine, run: &Run, seen: Vec<String>) -> Vec<String> {
    let Some(dirs) = &engine.place.git else {
        // The agent may have committed in another repository than that of the ledger.
        return seen;
    };
    let git = GitRunner::new(&engine.place.root, dirs);
    let count = format!("--max-count={COMMITS_SEARCHED}");
    // A branch without commits.
    let log = read_log(&git, &[&count, "--no-merges"]).unwrap_or_default();
    let since = run.opened.millis() / 1_000;
    // Commits of the ledger alone are made by whoever syncs it, not by the work of a session.
    let made: Vec<_> = log
        .into_iter()
        // Git counts whole seconds.
        .filter(|it| it.at.millis() / 1_000 >= since && !git::changes_only_ledger(it))
        .collect();
    let mut commits: Vec<String> = Vec::new();
    // Oldest first, in the order in which they were made.
    for commit in made.iter().rev() {
        let is_named = trailer_run(commit) == Some(run.id.as_str());
        if is_named || seen.iter().any(|it| step::is_same_commit(it, &commit.id)) {
            commits.push(short_commit(&commit.id));
        }
    }
    // A commit that was seen and is no longer on the branch was amended or rebased.
    if commits.is_empty() && run.id.starts_with(SESSION_PREFIX) && is_only_session(engine, run) {
        // A colleague's commits arrive by pull while the session is open.
        let mine = git::commits_by_user(&git, &engine.place, COMMITS_SEARCHED);
        // A commit of the second in which the session opened was made before it.
        let is_in_time = |at: Timestamp| {
            at.millis() / 1_000 > since && at <= run.last.plus_millis(COMMIT_AFTER_MS)
        };
        let own = made
            .iter()
            .rev()
            .filter(|it| trailer_run(it).is_none() && is_in_time(it.at) && mine.contains(&it.id));
        commits.extend(own.map(|it| short_commit(&it.id)));
    }
    // A rebase can put many commits into the time of one session.
    commits.truncate(COMMITS_MAX);
    commits
}

/// Returns whether no other session is open, so that a commit can only be of this one.
fn is_only_session(engine: &Engine, run: &Run) -> bool {
    let open = runs::open_runs_matching(engine, |id| id.starts_with(SESSION_PREFIX));
    open.is_ok_and(|open| open.iter().all(|it| it.id == run.id))
}
