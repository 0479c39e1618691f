//! CON-08 to CON-10: dominance, widening margins, and keeping both.

use ken_core::federation::competing::HypothesisProvenance;
use ken_core::federation::{HypothesisGrounds, Preference, compare_hypotheses};
use ken_core::values::time::Date;
use proptest::prelude::*;

fn today() -> Date {
    "2026-11-18".parse().unwrap()
}

fn grounds(mean: f64, observations: f64, verified: bool, days_ago: u32) -> HypothesisGrounds {
    HypothesisGrounds {
        mean,
        observations,
        provenance: if verified {
            HypothesisProvenance::Verified
        } else {
            HypothesisProvenance::Foreign
        },
        last: Some(today().minus_days(days_ago)),
    }
}

#[test]
fn a_side_dominates_if_it_is_better_in_two_grounds_and_worse_in_none() {
    let weak = grounds(0.5, 20.0, false, 100);
    for (local, preferred) in [
        // Evidence and provenance.
        (grounds(0.8, 20.0, true, 100), Preference::Local),
        // Provenance and recency.
        (grounds(0.5, 20.0, true, 10), Preference::Local),
        // Evidence and recency.
        (grounds(0.8, 20.0, false, 10), Preference::Local),
        // One ground only.
        (grounds(0.8, 20.0, false, 100), Preference::Undecided),
        // Two better, one worse: both stay hypotheses.
        (grounds(0.8, 20.0, true, 300), Preference::Undecided),
    ] {
        assert_eq!(
            compare_hypotheses(&local, &weak, today()),
            preferred,
            "{local:?}"
        );
        let mirrored = match preferred {
            Preference::Local => Preference::Foreign,
            Preference::Foreign => Preference::Local,
            Preference::Undecided => Preference::Undecided,
        };
        assert_eq!(
            compare_hypotheses(&weak, &local, today()),
            mirrored,
            "{local:?}"
        );
    }
}

#[test]
fn the_less_evidence_the_larger_the_difference_that_counts() {
    let at = |observations| {
        let local = grounds(0.58, observations, true, 10);
        let foreign = grounds(0.50, observations, false, 10);
        compare_hypotheses(&local, &foreign, today())
    };
    assert_eq!(at(10.0), Preference::Local);
    assert_eq!(
        at(0.0),
        Preference::Undecided,
        "0.08 is no difference without evidence"
    );
    let by_age = |observations| {
        let local = grounds(0.5, observations, true, 10);
        let foreign = grounds(0.5, observations, false, 60);
        compare_hypotheses(&local, &foreign, today())
    };
    assert_eq!(by_age(10.0), Preference::Local);
    assert_eq!(
        by_age(0.0),
        Preference::Undecided,
        "50 days are no difference without evidence"
    );
}

proptest! {
    #[test]
    fn no_side_dominates_itself_and_swapping_mirrors(
        a in (0.0..1.0f64, 0.0..50.0f64, any::<bool>(), 0..500u32),
        b in (0.0..1.0f64, 0.0..50.0f64, any::<bool>(), 0..500u32),
    ) {
        let a = grounds(a.0, a.1, a.2, a.3);
        let b = grounds(b.0, b.1, b.2, b.3);
        prop_assert_eq!(compare_hypotheses(&a, &a, today()), Preference::Undecided);
        let mirrored = match compare_hypotheses(&b, &a, today()) {
            Preference::Local => Preference::Foreign,
            Preference::Foreign => Preference::Local,
            Preference::Undecided => Preference::Undecided,
        };
        prop_assert_eq!(compare_hypotheses(&a, &b, today()), mirrored);
    }
}
