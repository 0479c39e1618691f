//! Rows of the requirement matrix about drift.

use ken_core::drift::{Drift, Recommendation, SHELF_MAX, Shelf, Signal, Standing, drift};
use ken_core::entry::Entry;
use ken_core::kind::Kind;
use ken_core::time::Date;

use crate::stage::Stage;

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

/// Entries added on 2026-11-14, nobody having confirmed them since.
fn library(count: usize) -> Vec<Entry> {
    let mut stage = Stage::new();
    let ids: Vec<_> = (0..count)
        .map(|n| stage.add(Kind::Learning, &format!("Lesson {n} of many")))
        .collect();
    ids.into_iter().map(|id| stage.entry(id)).collect()
}

fn signals(entries: &[Entry], standing: &Standing, today: &str) -> Vec<(Signal, Recommendation)> {
    let all = entries.iter().map(|entry| (entry, standing));
    let found = drift(all, day(today));
    assert!(
        found
            .iter()
            .all(|it| it.shelf == Shelf::Kind(Kind::Learning))
    );
    let told = |it: Drift| (it.signal, it.recommendation);
    found.into_iter().map(told).collect()
}

#[test]
fn drf_01_drf_03_drf_05_contradictory_and_orphaned_entries_need_review() {
    let entries = library(2);
    let fine = Standing::default();
    assert_eq!(signals(&entries, &fine, "2026-11-15"), []);
    let against = Standing {
        against: [entries[0].id].into(),
        ..Standing::default()
    };
    let review = Recommendation::NeedsReview;
    assert_eq!(
        signals(&entries[1..], &against, "2026-11-15"),
        [(Signal::Contradictory, review)]
    );
    let orphaned = Standing {
        orphaned: true,
        ..Standing::default()
    };
    assert_eq!(
        signals(&entries, &orphaned, "2026-11-15"),
        [(Signal::Orphaned, review)]
    );
}

#[test]
fn dec_22_drf_04_stale_begins_after_ninety_days_unless_the_code_bears_it_out() {
    let entries = library(1);
    let last = entries[0].confirmation.last.unwrap_or(day("2026-11-14"));
    assert_eq!(last, day("2026-11-14"));
    let fine = Standing::default();
    let pruning = Recommendation::NeedsPruning;
    assert_eq!(signals(&entries, &fine, "2027-02-12"), [], "ninety days");
    assert_eq!(
        signals(&entries, &fine, "2027-02-13"),
        [(Signal::Stale, pruning)]
    );
    let holds = Standing {
        holds: true,
        ..Standing::default()
    };
    assert_eq!(signals(&entries, &holds, "2030-01-01"), []);
}

#[test]
fn drf_02_drf_04_a_shelf_with_more_than_fifty_entries_is_bloated() {
    let entries = library(SHELF_MAX + 1);
    let fine = Standing::default();
    assert_eq!(signals(&entries[1..], &fine, "2026-11-15"), []);
    assert_eq!(
        signals(&entries, &fine, "2026-11-15"),
        [(Signal::Bloated, Recommendation::NeedsPruning)]
    );
}
