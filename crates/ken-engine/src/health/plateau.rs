//! Entries whose confidence stays near 0.5 despite many observations.

use ken_core::health::HealthFacts;
use ken_core::health::history::OutcomeAdvice;
use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::Validity;
use ken_core::values::id::EntryId;

/// Minimum number of observations.
const OBSERVATIONS_MIN: f64 = 20.0;

/// Maximum distance of the mean from 0.5.
const MEAN_DISTANCE_MAX: f64 = 0.05;

/// Maximum number of entries named in the advice.
const NAMED_MAX: usize = 3;

/// Returns advice to review entries whose confidence does not move.
pub(super) fn plateau_advice(facts: &HealthFacts) -> Option<OutcomeAdvice> {
    let today = facts.now.date();
    let is_stuck = |entry: &&Entry| {
        // Without checking the code: the report must be fast.
        let posterior = entry.posterior(Validity::Unverifiable, today);
        posterior.observations() >= OBSERVATIONS_MIN
            && (posterior.mean() - 0.5).abs() <= MEAN_DISTANCE_MAX
    };
    let ids: Vec<EntryId> = facts
        .entries
        .iter()
        .filter(is_stuck)
        .map(|it| it.id)
        .collect();
    let first = ids.first()?;
    let named: Vec<String> = ids
        .iter()
        .take(NAMED_MAX)
        .map(ToString::to_string)
        .collect();
    let rest = match ids.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = format!(
        "confidence stays near 0.5 after {OBSERVATIONS_MIN} or more observations: {}{rest}",
        named.join(", ")
    );
    let command = format!("ken show {first} --explain");
    Some(OutcomeAdvice { what, command })
}
