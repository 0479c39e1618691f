//! Rules 12 to 14: recommendations on decay, exploration and maintenance autonomy.

use std::collections::BTreeMap;

use super::{HealthFacts, HealthInsight, HealthRule, InsightSeverity, as_float};
use crate::health::maintenance::MaintenanceCategory;
use crate::ledger::entry::Entry;
use crate::ledger::event::Outcome;
use crate::values::content::DecayClass;
use crate::values::kind::Memory;
use crate::values::text::truncate;
use crate::values::time::Date;

/// Rule 12: days with net positive outcomes after which an ephemeral entry is durable.
pub const DURABLE_HELPFUL_DAYS: usize = 5;
/// Rule 12: days since the first of them; the half-life of ephemeral evidence.
pub const DURABLE_SPAN_DAYS: u32 = 34;
/// Rule 12: errors from which a durable entry should be ephemeral.
pub const FLEETING_ERRORS: u64 = 5;

/// Rule 13: days of usage that are examined.
pub const BRANCHING_DAYS: u32 = 30;
/// Rule 13: uses required within that time.
pub const BRANCHING_USES_MIN: usize = 10;
/// Rule 13: entries required before diversity means anything.
pub const BRANCHING_ENTRIES_MIN: usize = 10;
/// Rule 13: effective number of used entries below which exploration is too low.
pub const BRANCHING_MIN: f64 = 3.0;
/// Rule 13: weight to move from the semantic signal to Thompson sampling.
const EXPLORATION_STEP: f64 = 0.05;

/// Rule 14: successful runs, without a failure, after which a service may run unasked.
pub const AUTONOMY_EARNED: usize = 5;
/// Rule 14: failed runs after which a service should only suggest.
pub const AUTONOMY_LOST: usize = 2;

/// Rule 12: reports entries whose decay class does not match their history.
pub fn evaporation(facts: &HealthFacts) -> Vec<HealthInsight> {
    let today = facts.now.date();
    let insight = |entry: &Entry| {
        let (to, why) = match entry.decay_class() {
            DecayClass::Ephemeral if has_lasted(entry, today) => ("stable", "helped repeatedly"),
            DecayClass::Stable | DecayClass::Permanent
                if facts.errors_of(entry.id) >= FLEETING_ERRORS =>
            {
                ("ephemeral", "is often found and does not answer the query")
            }
            DecayClass::Ephemeral | DecayClass::Stable | DecayClass::Permanent => return None,
        };
        let title = truncate(&entry.title(), 60);
        let what = format!("\"{title}\" {why}: its decay class should be {to}");
        let insight = HealthInsight::new(HealthRule::Evaporation, InsightSeverity::Info, what);
        let command = format!("ken edit {} --decay {to}", entry.id);
        Some(insight.with_entries([entry.id]).with_command(command))
    };
    facts.entries.iter().filter_map(insight).collect()
}

/// Returns whether an entry helped on several days, the first of them long ago.
fn has_lasted(entry: &Entry, today: Date) -> bool {
    let days = entry.tallies.days.iter();
    let helped: Vec<Date> = days
        .filter(|(_, tally)| tally.alpha_milli > tally.beta_milli)
        .map(|(day, _)| *day)
        .collect();
    // Five good days in one week prove nothing about durability; the first one must be old.
    let is_old = |first: &Date| today.days_since(*first) >= DURABLE_SPAN_DAYS;
    helped.len() >= DURABLE_HELPFUL_DAYS && helped.first().is_some_and(is_old)
}

/// Rule 13: reports that agents use few of many entries, so that others collect no evidence.
pub fn branching(facts: &HealthFacts) -> Vec<HealthInsight> {
    let since = facts.now.date().minus_days(BRANCHING_DAYS);
    let semantic = facts.entries.iter();
    let semantic = semantic.filter(|it| it.id.prefix().memory() == Memory::Semantic);
    let (mut entries, mut uses) = (0, Vec::new());
    for entry in semantic {
        entries += 1;
        let days = entry.tallies.days.range(since..);
        let used = days.filter(|(_, tally)| tally.alpha_milli + tally.beta_milli > 0);
        // Unused entries are left out: the entropy below is undefined for a share of 0.
        uses.extend(Some(used.count()).filter(|count| *count > 0));
    }
    let all: usize = uses.iter().sum();
    let reached = effective_entry_count(&uses);
    let is_narrow =
        all >= BRANCHING_USES_MIN && entries >= BRANCHING_ENTRIES_MIN && reached < BRANCHING_MIN;
    if !is_narrow {
        return Vec::new();
    }
    let what = format!(
        "agents effectively use {reached:.1} of {entries} entries; the others are rarely tested"
    );
    let insight = HealthInsight::new(HealthRule::Branching, InsightSeverity::Info, what);
    vec![insight.with_command(exploration_command(facts))]
}

/// Returns the effective number of used entries: the exponential of the entropy of their usage.
fn effective_entry_count(uses: &[usize]) -> f64 {
    let all = as_float(uses.iter().sum::<usize>() as u64);
    let entropy = uses.iter().map(|count| {
        let share = as_float(*count as u64) / all;
        -share * libm::log(share)
    });
    // Rounding to millionths makes three equally used entries exactly 3.0, the threshold.
    libm::round(libm::exp(entropy.sum::<f64>()) * 1e6) / 1e6
}

/// Returns the command that raises the weight of Thompson sampling from its current value.
fn exploration_command(facts: &HealthFacts) -> String {
    let mut shares: BTreeMap<&str, f64> = facts.weights.named().into();
    let moved = shares["semantic"].min(EXPLORATION_STEP);
    for (name, by) in [("semantic", -moved), ("thompson", moved)] {
        shares.entry(name).and_modify(|it| *it += by);
    }
    let named = facts.weights.named().into_iter();
    // Weights are printed in hundredths and must sum to 1, or the command is rejected. The last one
    // absorbs the rounding error.
    let mut rest = 100;
    let mut parts: Vec<String> = Vec::new();
    let names: Vec<&str> = named.map(|(name, _)| name).collect();
    for (place, name) in names.iter().enumerate() {
        let is_last = place + 1 == names.len();
        let hundredths = if is_last {
            rest
        } else {
            (libm::round(shares[name] * 100.0) as i32).min(rest)
        };
        rest -= hundredths;
        parts.push(format!("{name}={:.2}", f64::from(hundredths) / 100.0));
    }
    format!("ken config weights set {}", parts.join(" "))
}

/// Rule 14: reports services that earned or lost permission to run unasked.
pub fn earned_autonomy(facts: &HealthFacts) -> Vec<HealthInsight> {
    let mut found = Vec::new();
    for category in MaintenanceCategory::ALL {
        let outcomes = facts.outcomes.iter();
        let runs = outcomes.filter(|it| it.maintenance_service() == Some(category.name()));
        let ended: Vec<Outcome> = runs.map(|it| it.closed.outcome).collect();
        let count = |wanted| ended.iter().filter(|it| **it == wanted).count();
        let (good, bad) = (count(Outcome::Succeeded), count(Outcome::Failed));
        let policy = &facts.policy;
        let is_allowed = policy.allows(category);
        let (what, command) = if !is_allowed && good >= AUTONOMY_EARNED && bad == 0 {
            (
                format!(
                    "{category} succeeded {good} times and never failed: it can run automatically"
                ),
                policy.with_allowed(category).command(),
            )
        } else if is_allowed && bad >= AUTONOMY_LOST {
            (
                format!("{category} failed {bad} times: it should only be suggested"),
                policy.without_allowed(category).command(),
            )
        } else {
            continue;
        };
        let insight = HealthInsight::new(HealthRule::EarnedAutonomy, InsightSeverity::Info, what);
        found.push(insight.with_command(command));
    }
    found
}
