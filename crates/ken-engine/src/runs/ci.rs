//! Results of CI: a job records how its checks ended, for the commits of a change.
//!
//! The job knows commits, not runs. Runs are joined to them by the commits that hooks saw and by
//! the trailers of their messages.

use std::collections::BTreeSet;

use ken_core::decide::Draft;
use ken_core::ledger::event::{CheckResult, EventBody, RunObserved, RunObserver};
use ken_core::trust::outcome::{COMMITS_MAX, short_commit};
use ken_core::trust::run::name::is_run_name;
use ken_core::values::actor::{Actor, ActorRole};
use ken_ledger::git::GitRunner;

use super::blame::trailer_run;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::git::{self, read_log};

/// Records the result of the checks of a change and returns the number of its commits.
///
/// Only a CI job may: an agent that reports results would report its own work.
pub(crate) fn record_ci_result(
    engine: &mut Engine,
    (base, head): (Option<&str>, Option<&str>),
    result: CheckResult,
    by: &Actor,
) -> Result<usize, EngineError> {
    if by.role() != ActorRole::Ci {
        return Err(EngineError::Usage(format!(
            "only a CI job records results, and `{by}` is none; set KEN_ACTOR=ci:NAME in the job"
        )));
    }
    let Some(dirs) = &engine.place.git else {
        return Err(EngineError::Usage("there is no git repository".to_owned()));
    };
    let git = GitRunner::new(&engine.place.root, dirs);
    let base = base.map_or_else(|| git::default_base(&engine.place), str::to_owned);
    // Commits that the change adds: those of the base had their own checks.
    let range = format!("{base}..{}", head.unwrap_or("HEAD"));
    let count = format!("--max-count={COMMITS_MAX}");
    let log = read_log(&git, &[&count, "--end-of-options", &range, "--"])?;
    let commits: Vec<String> = log.iter().map(|it| short_commit(&it.id)).collect();
    if commits.is_empty() {
        // The checks ran on the base itself.
        return Ok(0);
    }
    let named = log
        .iter()
        .filter_map(trailer_run)
        .filter(|it| is_run_name(it));
    let named: BTreeSet<&str> = named.collect();
    // A squashed commit has a new id, so its trailer is the only way to its run.
    let mut drafts = vec![observation(None, commits.clone(), result)];
    drafts.extend(
        named
            .into_iter()
            .map(|run| observation(Some(run.to_owned()), Vec::new(), result)),
    );
    engine.record(drafts, by)?;
    Ok(commits.len())
}

fn observation(run: Option<String>, commits: Vec<String>, result: CheckResult) -> Draft {
    let body = RunObserved {
        run,
        observer: RunObserver::Ci,
        prompts: None,
        corrections: None,
        test_runs: None,
        tests_passed_at: None,
        commits,
        merged: None,
        reverted: None,
        ci: Some(result),
        assigned: Vec::new(),
    };
    Draft {
        about: Vec::new(),
        body: EventBody::RunObserved(body),
    }
}
