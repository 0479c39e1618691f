//! What the organisation knows is never above what a workspace verified itself, whatever the scores.

use ken_core::answer::{Hit, sort};
use ken_core::entry::Entry;
use ken_core::facts::EntryFacts;
use ken_core::id::EntryId;
use ken_core::score::Explained;
use ken_core::state::State;
use ken_core::status::Status;
use ken_core::time::Timestamp;
use ken_hub::service::beneath;
use ken_testkit::build::Scribe;
use proptest::prelude::*;

fn entry(n: usize, said: &str) -> Entry {
    let (id, line) = Scribe::new(n as u64).propose(said);
    let mut state = State::of(&[line.event]);
    state.entries.remove(&id).expect("it was proposed")
}

fn hit(entry: Entry, status: Status, score: f64) -> Hit {
    let mut facts = EntryFacts::of(&entry, None, Timestamp::default());
    facts.status = status;
    Hit {
        entry,
        facts,
        relevance: score,
        cosine: 0.0,
        coverage: 0.0,
        anchored: false,
        conflicts: Vec::new(),
        explained: Explained {
            score,
            parts: Vec::new(),
        },
    }
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(vec![Status::Candidate, Status::Active, Status::Verified])
}

/// Words no two statements share.
fn said(side: &str, n: usize) -> String {
    format!("{side}{n}alpha {side}{n}beta {side}{n}gamma {side}{n}delta")
}

proptest! {
    /// Sorted together by score, nothing from elsewhere stands above an entry that was verified here; all of it lost at
    /// least its discount, and its order among itself follows from its scores.
    #[test]
    fn scp_global_entries_never_stand_above_local_verified_ones(
        local in prop::collection::vec((status(), 0.0..1.5_f64), 0..8),
        global in prop::collection::vec(0.0..1.5_f64, 0..8),
    ) {
        let local: Vec<Hit> = local.iter().enumerate()
            .map(|(n, (status, score))| hit(entry(n, &said("here", n)), *status, *score)).collect();
        let there: Vec<Hit> = global.iter().enumerate()
            .map(|(n, score)| hit(entry(100 + n, &said("there", n)), Status::Verified, *score)).collect();
        let fresh = beneath(&local, there.clone());
        prop_assert_eq!(fresh.len(), there.len());
        for it in &fresh {
            let before = there.iter().find(|other| other.entry.id == it.entry.id).unwrap();
            prop_assert!(it.explained.score <= before.explained.score * 0.8 + 1e-12);
            let parts: f64 = it.explained.parts.iter().map(|part| part.adds).sum();
            prop_assert!((before.explained.score + parts - it.explained.score).abs() < 1e-9, "the parts say why");
        }
        let ids: Vec<EntryId> = fresh.iter().map(|it| it.entry.id).collect();
        let mut all: Vec<Hit> = local.iter().cloned().chain(fresh).collect();
        sort(&mut all);
        let last_verified = all.iter().rposition(|it| {
            it.facts.status == Status::Verified && !ids.contains(&it.entry.id)
        });
        let first_global = all.iter().position(|it| ids.contains(&it.entry.id));
        if let (Some(last), Some(first)) = (last_verified, first_global) {
            prop_assert!(last < first, "a global entry stands above a verified one");
        }
    }
}

#[test]
fn what_is_known_here_in_the_same_words_is_not_told_again() {
    let here = [hit(
        entry(1, "Retry a payment once after a timeout"),
        Status::Active,
        0.1,
    )];
    let there = vec![
        hit(
            entry(2, "After a timeout, retry a payment once!"),
            Status::Verified,
            0.9,
        ),
        hit(
            entry(3, "Log every retry with its cause"),
            Status::Verified,
            0.9,
        ),
    ];
    let fresh = beneath(&here, there);
    let said: Vec<&str> = fresh.iter().map(|it| it.entry.said()).collect();
    assert_eq!(said, ["Log every retry with its cause"]);
}
