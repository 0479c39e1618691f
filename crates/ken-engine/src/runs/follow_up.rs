//! What became of the commits of earlier runs: merged into the default branch, reverted, kept.

use std::collections::BTreeMap;

use ken_core::decide::Draft;
use ken_core::ledger::event::{EventBody, RunObserved, RunObserver};
use ken_core::trust::outcome::{ObservedRun, REVERT_MS, step};
use ken_core::values::actor::Actor;
use ken_core::values::time::{DAY_MS, Timestamp};
use ken_ledger::git::GitRunner;

use super::blame::trailer_run;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::git::{self, LoggedCommit, read_log};

/// Milliseconds after which a run whose commits were never merged is no longer looked at.
const FOLLOWED_MS: u64 = 60 * DAY_MS;

/// Maximum number of runs that are followed at once, newest first.
const RUNS_FOLLOWED: usize = 100;

/// Number of commits of the default branch that are read, newest first.
const COMMITS_READ: usize = 2_000;

/// Line that `git revert` writes into the message of a commit.
const REVERTS: &str = "This reverts commit ";

/// Records what became of the commits of earlier runs, as far as it is new.
pub(super) fn record_follow_ups(engine: &mut Engine, by: &Actor) -> Result<(), EngineError> {
    let now = engine.now();
    let mut open = super::observed_runs(engine)?;
    open.retain(|it| {
        // A branch that waited so long is seldom merged, and each run costs a look at the log.
        let is_recent = it.at.plus_millis(FOLLOWED_MS) > now;
        is_recent && it.facts.reverted.is_none() && !it.facts.commits.is_empty()
    });
    // The newest are the ones whose fate still changes.
    let skipped = open.len().saturating_sub(RUNS_FOLLOWED);
    let Some(dirs) = engine.place.git.as_ref().filter(|_| !open.is_empty()) else {
        return Ok(());
    };
    let git = GitRunner::new(&engine.place.root, dirs);
    let base = git::default_base(&engine.place);
    let count = format!("--max-count={COMMITS_READ}");
    // The default branch may not exist yet; then nothing was merged.
    let log = read_log(&git, &[&count, "--end-of-options", &base, "--"]).unwrap_or_default();
    let reverts = reverted_commits(&log);
    let news = open[skipped..].iter().filter_map(|run| {
        let (merged, reverted) = fate(run, &log, &reverts, now);
        let is_new = merged != run.facts.merged || reverted.is_some();
        is_new.then(|| follow_up(run, merged, reverted))
    });
    // Mostly there is nothing new, and then nothing is written.
    let drafts: Vec<Draft> = news.collect();
    if !drafts.is_empty() {
        engine.record(drafts, by)?;
    }
    Ok(())
}

/// Returns whether the commits of a run were merged and reverted, as far as it is known.
fn fate(
    run: &ObservedRun,
    log: &[LoggedCommit],
    reverts: &BTreeMap<String, Timestamp>,
    now: Timestamp,
) -> (Option<bool>, Option<bool>) {
    let is_own = |it: &&LoggedCommit| {
        // A squashed commit has another id, but may keep the trailer.
        let has_id = run
            .facts
            .commits
            .iter()
            .any(|id| step::is_same_commit(id, &it.id));
        has_id || trailer_run(it) == Some(run.run.as_str())
    };
    let merged: Vec<&LoggedCommit> = log.iter().filter(is_own).collect();
    // Not merged yet, or deleted with its branch: only time tells them apart.
    let Some(last) = merged.iter().map(|it| it.at).max() else {
        return (run.facts.merged, None);
    };
    let is_reverted = |it: &&LoggedCommit| {
        let mut at = reverts
            .iter()
            .filter(|(id, _)| step::is_same_commit(id, &it.id));
        at.any(|(_, at)| *at <= it.at.plus_millis(REVERT_MS))
    };
    // A revert is final at once, that there was none only after the period.
    let reverted = if merged.iter().any(is_reverted) {
        Some(true)
    } else {
        (last.plus_millis(REVERT_MS) < now).then_some(false)
    };
    (Some(true), reverted)
}

/// Returns the commits that later ones revert, with the time of the revert.
fn reverted_commits(log: &[LoggedCommit]) -> BTreeMap<String, Timestamp> {
    let mut found = BTreeMap::new();
    for commit in log {
        for line in commit.body.lines() {
            let Some(rest) = line.trim().strip_prefix(REVERTS) else {
                continue;
            };
            // Git ends the sentence with a period, and some tools abbreviate the id.
            let id: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
            if id.len() >= step::COMMIT_DIGITS_MIN {
                found.insert(id, commit.at);
            }
        }
    }
    found
}

fn follow_up(run: &ObservedRun, merged: Option<bool>, reverted: Option<bool>) -> Draft {
    let body = RunObserved {
        run: Some(run.run.clone()),
        observer: RunObserver::Git,
        prompts: None,
        corrections: None,
        test_runs: None,
        tests_passed_at: None,
        commits: Vec::new(),
        merged,
        reverted,
        ci: None,
        assigned: Vec::new(),
    };
    Draft {
        // About no entry: see the type.
        about: Vec::new(),
        body: EventBody::RunObserved(body),
    }
}
