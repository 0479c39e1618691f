//! Trust in a peer and the weight of its entries (L3).

use ken_core::federation::trust::{FAILURE_MILLI, SUCCESS_MILLI, TRUST_WINDOW};
use ken_core::federation::{PeerTrust, WEIGHT_MAX, foreign_weight};
use ken_core::ledger::event::PeerTrustChanged;
use proptest::prelude::*;

fn trust(successes: u32, failures: u32) -> PeerTrust {
    let mut trust = PeerTrust::default();
    for _ in 0..successes {
        trust.observe(SUCCESS_MILLI, 0);
    }
    for _ in 0..failures {
        trust.observe(0, FAILURE_MILLI);
    }
    trust
}

#[test]
fn trust_is_the_tenth_percentile_and_a_newcomer_has_a_tenth() {
    for (successes, failures, score) in [(0, 0, 0.10), (3, 0, 0.56), (10, 0, 0.81), (10, 1, 0.64)] {
        let found = trust(successes, failures).score();
        assert!(
            (found - score).abs() < 0.01,
            "{successes} {failures} {found}"
        );
    }
}

#[test]
fn a_failure_counts_twice_a_success() {
    assert_eq!(FAILURE_MILLI, 2 * SUCCESS_MILLI);
    let trust = trust(0, 1);
    assert!((trust.failures() - 2.0).abs() < 1e-9);
}

#[test]
fn trust_that_was_earned_long_ago_is_lost_in_eleven_failures() {
    let mut trust = trust(100, 0);
    assert!(trust.score() > 0.9);
    let mut failures = 0;
    while trust.score() >= 0.5 {
        trust.observe(0, FAILURE_MILLI);
        failures += 1;
    }
    assert!(failures <= 11, "{failures} failures");
}

#[test]
fn the_weight_has_a_limit_and_falls_with_every_hop() {
    for (trust, hops, limit, weight) in [
        (1.0, 1, None, 0.5),
        (0.56, 1, None, 0.392),
        (0.56, 2, None, 0.2744),
        (0.56, 3, None, 0.19208),
        (0.81, 1, Some(0.2), 0.2),
        (0.0, 1, None, 0.0),
        // The publisher itself is one hop away: 0 does not mean nearer.
        (0.56, 0, None, 0.392),
    ] {
        let found = foreign_weight(trust, hops, limit);
        assert!((found - weight).abs() < 1e-9, "{trust} {hops} {found}");
    }
}

proptest! {
    #[test]
    fn the_mean_is_never_below_the_score(
        history in prop::collection::vec((0..5_000u32, 0..5_000u32), 0..200),
    ) {
        let peer = "peer:x".parse::<ken_core::values::actor::Actor>().unwrap();
        let history: Vec<PeerTrustChanged> = history
            .into_iter()
            .map(|(alpha_milli, beta_milli)| PeerTrustChanged {
                peer: peer.clone(),
                alpha_milli,
                beta_milli,
            })
            .collect();
        let trust = PeerTrust::from_history(&history);
        prop_assert!(trust.mean() >= trust.score());
        prop_assert!((0.0..=1.0).contains(&trust.score()));
        prop_assert!(trust.successes() + trust.failures() <= TRUST_WINDOW + 1e-6);
    }

    #[test]
    fn no_history_weighs_more_than_a_half(
        score in 0.0..=1.0f64,
        hops in 0..10u8,
        limit in prop::option::of(0.0..1.0f64),
    ) {
        let weight = foreign_weight(score, hops, limit);
        prop_assert!((0.0..=WEIGHT_MAX).contains(&weight));
        prop_assert!(weight <= score * 0.7f64.powi(i32::from(hops.max(1))) + 1e-12);
        prop_assert!(limit.is_none_or(|limit| weight <= limit));
        prop_assert!(foreign_weight(score, hops.saturating_add(1), limit) <= weight);
    }
}
