//! What the outcomes of work add up to: a summary, what should be brought before a person, and what the
//! settings might learn from it. Told from events alone and kept nowhere.

use serde::Serialize;

use super::performance::{better, counted, strategies};
use super::{Facts, Outcome, quoted};
use crate::event;
use crate::text::Tag;

/// Runs of one thread that failed one after the other before a person should look.
pub const ESCALATE_AFTER: usize = 3;

/// Entries a run must have had at hand on average, that its failures may be theirs.
const READ_PER_RUN: u64 = 1;

/// How work ended here lately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub runs: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub cost_micros: u64,
    /// Entries that were shown, and entries that came out of it.
    pub accessed: u64,
    pub extracted: u64,
}

/// Something a person should look at, or a setting that might be another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    pub what: String,
    pub command: String,
}

/// Returns what the outcomes of the last [`OUTCOME_DAYS`](super::performance::OUTCOME_DAYS) add up to.
pub fn summary(facts: &Facts) -> Summary {
    let mut all = Summary::default();
    for Outcome { closed, .. } in counted(facts) {
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

/// Returns threads whose latest runs all failed.
pub fn escalations(facts: &Facts) -> Vec<Advice> {
    let mut threads: Vec<Option<&Tag>> =
        counted(facts).map(|it| it.closed.thread.as_ref()).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut found = Vec::new();
    for thread in threads {
        let own: Vec<&Outcome> = counted(facts)
            .filter(|it| it.closed.thread.as_ref() == thread)
            .collect();
        let failed = own.iter().rev();
        let failed = failed.take_while(|it| it.closed.outcome == event::Outcome::Failed);
        let failed = failed.count();
        if failed < ESCALATE_AFTER {
            continue;
        }
        let place = thread.map_or_else(
            || "outside any thread".to_owned(),
            |it| format!("in thread `{it}`"),
        );
        found.push(Advice {
            what: format!("the last {failed} runs {place} failed; a person should look"),
            command: "ken run list".to_owned(),
        });
    }
    found
}

/// Returns what the outcomes recommend; nothing is set by them.
pub fn recommendations(facts: &Facts) -> Vec<Advice> {
    let mut found = Vec::new();
    let known = strategies(facts);
    if let (Some((best, quality)), true) = (known.iter().copied().reduce(better), 1 < known.len()) {
        found.push(Advice {
            what: format!(
                "`{best}` has the best outcomes here (quality {quality:.2}): begin with it"
            ),
            command: format!(
                "ken run close --outcome succeeded --strategy {}",
                quoted(best.as_str())
            ),
        });
    }
    let all = summary(facts);
    let is_read = READ_PER_RUN * all.runs <= all.accessed;
    if is_read && all.succeeded < all.failed {
        found.push(Advice {
            what: format!(
                "{} of {} runs failed although entries were at hand: see which of them help",
                all.failed, all.runs
            ),
            command: "ken lift".to_owned(),
        });
    }
    found
}
