//! Entries that much was observed of and nothing was learned about: the prior decides, or they help as often as they hurt.

use ken_core::entry::Entry;
use ken_core::facts::Validity;
use ken_core::health::Facts;
use ken_core::health::history::Advice;
use ken_core::id::EntryId;

/// Observations from which on a posterior in the middle is told.
const OBSERVATIONS_MIN: f64 = 20.0;

/// How far from a half the mean may be to be in the middle.
const NEAR: f64 = 0.05;

/// Entries that are named.
const NAMED_MAX: usize = 3;

/// Returns what a person should look at because evidence does not move it.
pub(super) fn plateaus(facts: &Facts) -> Option<Advice> {
    let today = facts.now.date();
    let stays = |entry: &&Entry| {
        let posterior = entry.posterior(Validity::Unverifiable, today);
        OBSERVATIONS_MIN <= posterior.observations() && (posterior.mean() - 0.5).abs() <= NEAR
    };
    let ids: Vec<EntryId> = facts.entries.iter().filter(stays).map(|it| it.id).collect();
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
        "confidence stays near 0.5 after {OBSERVATIONS_MIN} observations and more: {}{rest}",
        named.join(", ")
    );
    let command = format!("ken show {first} --explain");
    Some(Advice { what, command })
}
