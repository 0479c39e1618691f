//! Outcome history: a summary of recent runs, escalations and recommendations.
//!
//! Everything is derived from events on request and stored nowhere.

use serde::Serialize;

use super::performance::{better_strategy, counted_outcomes, strategy_qualities};
use super::{HealthFacts, RunOutcome};
use crate::ledger::event;
use crate::values::text::Tag;

/// Consecutive failed runs of one thread that escalate to a person.
pub const ESCALATE_AFTER: usize = 3;

/// Average number of entries shown per run from which failures may be blamed on entries.
const READ_PER_RUN: u64 = 1;

/// Totals over recent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeSummary {
    pub runs: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub cost_micros: u64,
    /// Entries that were shown.
    pub accessed: u64,
    /// Entries that the runs produced.
    pub extracted: u64,
}

/// An escalation or recommendation with a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutcomeAdvice {
    pub what: String,
    pub command: String,
}

/// Sums the outcomes of the last [`OUTCOME_DAYS`](super::performance::OUTCOME_DAYS) days.
pub fn summarize_outcomes(facts: &HealthFacts) -> OutcomeSummary {
    let mut all = OutcomeSummary::default();
    for RunOutcome { closed, .. } in counted_outcomes(facts) {
        all.runs += 1;
        match closed.outcome {
            event::Outcome::Succeeded => all.succeeded += 1,
            event::Outcome::Failed => all.failed += 1,
            event::Outcome::Abandoned => {}
        }
        all.cost_micros += closed.cost_micros;
        all.accessed += u64::from(closed.accessed);
        all.extracted += u64::from(closed.extracted);
    }
    all
}

/// Returns the threads whose latest runs all failed.
pub fn escalations(facts: &HealthFacts) -> Vec<OutcomeAdvice> {
    let mut threads: Vec<Option<&Tag>> = counted_outcomes(facts)
        .map(|it| it.closed.thread.as_ref())
        .collect();
    // Runs outside any thread form a group of their own (`None`).
    threads.sort_unstable();
    threads.dedup();
    let mut found = Vec::new();
    for thread in threads {
        let own: Vec<&RunOutcome> = counted_outcomes(facts)
            .filter(|it| it.closed.thread.as_ref() == thread)
            .collect();
        // Outcomes are ordered by time, so the reverse starts with the latest run.
        let latest = own.iter().rev();
        let streak = latest.take_while(|it| it.closed.outcome == event::Outcome::Failed);
        let failed = streak.count();
        if failed < ESCALATE_AFTER {
            continue;
        }
        let place = thread.map_or_else(
            || "outside any thread".to_owned(),
            |it| format!("in thread `{it}`"),
        );
        found.push(OutcomeAdvice {
            what: format!("the last {failed} runs {place} failed; a person should investigate"),
            command: "ken run list".to_owned(),
        });
    }
    found
}

/// Returns the recommendations that follow from outcomes; they change no setting.
pub fn recommendations(facts: &HealthFacts) -> Vec<OutcomeAdvice> {
    let mut found = Vec::new();
    let known = strategy_qualities(facts);
    // A single strategy is trivially the best one; recommending it would be noise.
    if let (Some((best, quality)), true) = (
        known.iter().copied().reduce(better_strategy),
        known.len() > 1,
    ) {
        found.push(OutcomeAdvice {
            what: format!(
                "`{best}` has the best outcomes here (quality {quality:.2}): use it first"
            ),
            command: "ken run list".to_owned(),
        });
    }
    let all = summarize_outcomes(facts);
    let is_read = all.accessed >= READ_PER_RUN * all.runs;
    if is_read && all.failed > all.succeeded {
        found.push(OutcomeAdvice {
            what: format!(
                "{} of {} runs failed although agents were shown entries: check which entries help",
                all.failed, all.runs
            ),
            command: "ken health impact".to_owned(),
        });
    }
    found
}
