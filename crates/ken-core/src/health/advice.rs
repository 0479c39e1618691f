//! Rules 12 to 14: recommendations about how entries fade, what gets a chance, and how much Ken may do alone.

use std::collections::BTreeMap;

use super::{Facts, Insight, Rule, Severity, as_float};
use crate::content::DecayClass;
use crate::entry::Entry;
use crate::event::Outcome;
use crate::kind::Memory;
use crate::maintenance::Category;
use crate::text::shortened;
use crate::time::Date;

/// Rule 12: an ephemeral entry that helped on this many days over at least the half-life of its evidence is not
/// ephemeral; one that disappoints this often is not durable.
pub const DURABLE_HELPFUL_DAYS: usize = 5;
pub const DURABLE_SPAN_DAYS: u32 = 34;
pub const FLEETING_ERRORS: u64 = 5;

/// Rule 13: days that are looked at, uses there must have been, entries there must be to choose from, and the
/// effective number of entries in use that is too few.
pub const BRANCHING_DAYS: u32 = 30;
pub const BRANCHING_USES_MIN: usize = 10;
pub const BRANCHING_ENTRIES_MIN: usize = 10;
pub const BRANCHING_MIN: f64 = 3.0;
/// What is moved from meaning to chance where agents use the same few entries.
const EXPLORE_MORE: f64 = 0.05;

/// Rule 14: runs of a service that must have succeeded, and none failed, for it to be trusted more; and failures
/// that cost it that trust.
pub const AUTONOMY_EARNED: usize = 5;
pub const AUTONOMY_LOST: usize = 2;

/// Evidence about an entry fades faster or slower than what happened to it suggests.
pub fn evaporation(facts: &Facts) -> Vec<Insight> {
    let today = facts.now.date();
    let insight = |entry: &Entry| {
        let (to, why) = match entry.decay_class() {
            DecayClass::Ephemeral if has_lasted(entry, today) => ("stable", "kept helping"),
            DecayClass::Stable | DecayClass::Permanent
                if FLEETING_ERRORS <= facts.errors_of(entry.id) =>
            {
                ("ephemeral", "keeps coming up without answering")
            }
            DecayClass::Ephemeral | DecayClass::Stable | DecayClass::Permanent => return None,
        };
        let title = shortened(&entry.title(), 60);
        let what = format!("\"{title}\" {why}: its evidence should fade as {to}");
        let insight = Insight::new(Rule::Evaporation, Severity::Info, what);
        let command = format!("ken revise {} --decay {to}", entry.id);
        Some(insight.about([entry.id]).command(command))
    };
    facts.entries.iter().filter_map(insight).collect()
}

/// Whether an entry helped on several days, the first of them long ago.
fn has_lasted(entry: &Entry, today: Date) -> bool {
    let days = entry.tallies.days.iter();
    let helped: Vec<Date> = days
        .filter(|(_, tally)| tally.beta_milli < tally.alpha_milli)
        .map(|(day, _)| *day)
        .collect();
    let spans = |first: &Date| DURABLE_SPAN_DAYS <= today.days_since(*first);
    DURABLE_HELPFUL_DAYS <= helped.len() && helped.first().is_some_and(spans)
}

/// Agents use the same few entries, so that others get no chance to prove themselves.
pub fn branching(facts: &Facts) -> Vec<Insight> {
    let since = facts.now.date().minus_days(BRANCHING_DAYS);
    let known = facts.entries.iter();
    let known = known.filter(|it| it.id.prefix().memory() == Memory::Semantic);
    let (mut entries, mut uses) = (0, Vec::new());
    for entry in known {
        entries += 1;
        let days = entry.tallies.days.range(since..);
        let used = days.filter(|(_, it)| 0 < it.alpha_milli + it.beta_milli);
        uses.extend(Some(used.count()).filter(|it| 0 < *it));
    }
    let all: usize = uses.iter().sum();
    let reached = effective_number(&uses);
    let is_narrow =
        BRANCHING_USES_MIN <= all && BRANCHING_ENTRIES_MIN <= entries && reached < BRANCHING_MIN;
    if !is_narrow {
        return Vec::new();
    }
    let what = format!(
        "of {entries} entries agents effectively use {reached:.1}; others get no chance to prove themselves"
    );
    let insight = Insight::new(Rule::Branching, Severity::Info, what);
    vec![insight.command(explore_more(facts))]
}

/// Returns how many entries would be used as evenly as these are: the exponential of their entropy, in whole
/// millionths, so that three used alike are three.
fn effective_number(uses: &[usize]) -> f64 {
    let all = as_float(uses.iter().sum::<usize>() as u64);
    let entropy = uses.iter().map(|it| {
        let share = as_float(*it as u64) / all;
        -share * libm::log(share)
    });
    libm::round(libm::exp(entropy.sum::<f64>()) * 1e6) / 1e6
}

/// Returns the command that lets chance count for more, from the weights that hold now.
fn explore_more(facts: &Facts) -> String {
    let mut shares: BTreeMap<&str, f64> = facts.weights.named().into();
    let moved = shares["semantic"].min(EXPLORE_MORE);
    for (name, by) in [("semantic", -moved), ("thompson", moved)] {
        shares.entry(name).and_modify(|it| *it += by);
    }
    let named = facts.weights.named().into_iter();
    // Hundredths, as they are shown; the last one takes what rounding leaves.
    let mut rest = 100;
    let mut parts: Vec<String> = Vec::new();
    let names: Vec<&str> = named.map(|(name, _)| name).collect();
    for (place, name) in names.iter().enumerate() {
        let hundredths = match place + 1 == names.len() {
            true => rest,
            false => (libm::round(shares[name] * 100.0) as i32).min(rest),
        };
        rest -= hundredths;
        parts.push(format!("{name}={:.2}", f64::from(hundredths) / 100.0));
    }
    format!("ken scoring set {}", parts.join(" "))
}

/// Services did well enough to be let alone, or badly enough to be held back.
pub fn earned_autonomy(facts: &Facts) -> Vec<Insight> {
    let mut found = Vec::new();
    for category in Category::ALL {
        let runs = facts.outcomes.iter();
        let runs = runs.filter(|it| it.maintenance() == Some(category.name()));
        let ended: Vec<Outcome> = runs.map(|it| it.closed.outcome).collect();
        let count = |wanted| ended.iter().filter(|it| **it == wanted).count();
        let (good, bad) = (count(Outcome::Succeeded), count(Outcome::Failed));
        let policy = &facts.policy;
        let (what, command) = match policy.allows(category) {
            false if AUTONOMY_EARNED <= good && bad == 0 => (
                format!(
                    "{category} succeeded {good} times and never failed: it may be done unasked"
                ),
                policy.with(category).command(),
            ),
            true if AUTONOMY_LOST <= bad => (
                format!("{category} failed {bad} times: it should be suggested only"),
                policy.without(category).command(),
            ),
            true | false => continue,
        };
        let insight = Insight::new(Rule::EarnedAutonomy, Severity::Info, what);
        found.push(insight.command(command));
    }
    found
}
