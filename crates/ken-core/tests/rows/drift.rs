//! Requirement matrix: drift.

use ken_core::health::drift::{
    DriftFacts, DriftFinding, DriftGroup, DriftRecommendation, DriftSignal, detect_drift,
};
use ken_core::ledger::entry::Entry;
use ken_core::values::kind::EntryKind;
use ken_core::values::time::Date;

use crate::stage::TestLedger;

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

/// Returns entries added on 2026-11-14 and not confirmed since.
fn unconfirmed_entries(count: usize) -> Vec<Entry> {
    let mut stage = TestLedger::new();
    let ids: Vec<_> = (0..count)
        .map(|n| stage.add(EntryKind::Learning, &format!("Lesson {n} of many")))
        .collect();
    ids.into_iter().map(|id| stage.entry(id)).collect()
}

fn drift_signals(
    entries: &[Entry],
    standing: &DriftFacts,
    today: &str,
) -> Vec<(DriftSignal, DriftRecommendation)> {
    let all = entries.iter().map(|entry| (entry, standing));
    let found = detect_drift(all, day(today));
    assert!(
        found
            .iter()
            .all(|it| it.shelf == DriftGroup::Kind(EntryKind::Learning))
    );
    let told = |it: DriftFinding| (it.signal, it.recommendation);
    found.into_iter().map(told).collect()
}

#[test]
fn contradictory_and_orphaned_entries_need_review() {
    let entries = unconfirmed_entries(2);
    let fine = DriftFacts::default();
    assert_eq!(drift_signals(&entries, &fine, "2026-11-15"), []);
    let against = DriftFacts {
        against: [entries[0].id].into(),
        ..DriftFacts::default()
    };
    let review = DriftRecommendation::NeedsReview;
    assert_eq!(
        drift_signals(&entries[1..], &against, "2026-11-15"),
        [(DriftSignal::Contradictory, review)]
    );
    let orphaned = DriftFacts {
        orphaned: true,
        ..DriftFacts::default()
    };
    assert_eq!(
        drift_signals(&entries, &orphaned, "2026-11-15"),
        [(DriftSignal::Orphaned, review)]
    );
}

#[test]
fn stale_begins_after_ninety_days_unless_the_code_bears_it_out() {
    let entries = unconfirmed_entries(1);
    let last = entries[0].confirmation.last.unwrap_or(day("2026-11-14"));
    assert_eq!(last, day("2026-11-14"));
    let fine = DriftFacts::default();
    let pruning = DriftRecommendation::NeedsPruning;
    assert_eq!(
        drift_signals(&entries, &fine, "2027-02-12"),
        [],
        "ninety days"
    );
    assert_eq!(
        drift_signals(&entries, &fine, "2027-02-13"),
        [(DriftSignal::Stale, pruning)]
    );
    let holds = DriftFacts {
        holds: true,
        ..DriftFacts::default()
    };
    assert_eq!(drift_signals(&entries, &holds, "2030-01-01"), []);
}

#[test]
fn a_shelf_with_more_than_fifty_entries_is_bloated() {
    let entries = unconfirmed_entries(51);
    let fine = DriftFacts::default();
    assert_eq!(drift_signals(&entries[1..], &fine, "2026-11-15"), []);
    assert_eq!(
        drift_signals(&entries, &fine, "2026-11-15"),
        [(DriftSignal::Bloated, DriftRecommendation::NeedsPruning)]
    );
}
