//! Score tests, one per requirement, with constructed facts.

use serde_json::json;

use super::*;
use crate::ledger::entry::Confirmation;
use crate::trust::facts::BetaPosterior;
use crate::values::id::EntryId;

const NOW: &str = "2026-11-15T00:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn facts() -> EntryFacts {
    EntryFacts {
        posterior: BetaPosterior::PRIOR,
        validity: Validity::Unverifiable,
        last_verified: None,
        confirmation: Confirmation {
            last: Some("2026-11-15".parse().unwrap()),
            ..Confirmation::default()
        },
        status: EntryStatus::Active,
        quarantined: false,
        revoked: false,
        archived: false,
        cooccurrence: 0.0,
        silence: 0,
        belief: None,
        changed_in: None,
    }
}

fn id(number: u8) -> EntryId {
    format!("L-0000000{number}").parse().unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

fn signals(facts: &EntryFacts, found: QueryMatch) -> SignalVector {
    RankingSignals::from_facts(facts, found, PosteriorDraw::Mean, now()).0
}

#[test]
fn six_default_weights_sum_to_one() {
    let weights = RankingWeights::default();
    let wanted = [
        ("semantic", 0.38),
        ("thompson", 0.25),
        ("freshness", 0.15),
        ("status", 0.10),
        ("thread", 0.07),
        ("cooccurrence", 0.05),
    ];
    assert_eq!(weights.named(), wanted);
    assert!(near(wanted.iter().map(|(_, value)| value).sum(), 1.0));
}

#[test]
fn status_bonus() {
    for (status, wanted) in [
        (EntryStatus::Verified, 1.0),
        (EntryStatus::Active, 0.8),
        (EntryStatus::Candidate, 0.5),
        (EntryStatus::Stale, 0.0),
        (EntryStatus::Rejected, 0.0),
    ] {
        let facts = EntryFacts { status, ..facts() };
        assert!(
            near(signals(&facts, QueryMatch::default()).status, wanted),
            "{status}"
        );
    }
}

#[test]
fn thread_bonus_is_all_or_nothing() {
    for (in_thread, wanted) in [(true, 1.0), (false, 0.0)] {
        let found = QueryMatch {
            in_thread,
            ..QueryMatch::default()
        };
        assert!(near(signals(&facts(), found).thread, wanted));
    }
}

#[test]
fn cooccurrence_saturates() {
    for (together, wanted) in [(0.0, 0.0), (1.0, 1.0 - (-0.6_f64).exp()), (100.0, 1.0)] {
        let facts = EntryFacts {
            cooccurrence: together,
            ..facts()
        };
        assert!(
            near(signals(&facts, QueryMatch::default()).cooccurrence, wanted),
            "{together}"
        );
    }
}

#[test]
fn freshness_halves_in_ninety_days_unless_conditions_hold() {
    let since = |last: &str| EntryFacts {
        confirmation: Confirmation {
            last: Some(last.parse().unwrap()),
            ..Confirmation::default()
        },
        ..facts()
    };
    let fresh = |facts: &EntryFacts| signals(facts, QueryMatch::default()).freshness;
    assert!(near(fresh(&since("2026-11-15")), 1.0));
    assert!(near(fresh(&since("2026-08-17")), 0.5));
    assert!(near(fresh(&since("2026-05-19")), 0.25));
    // A confirmation from a clock that runs ahead is no more than fresh.
    assert!(near(fresh(&since("2027-01-01")), 1.0));
    // A verification after the last confirmation restarts the age.
    let verified = EntryFacts {
        last_verified: Some("2026-08-17T00:00:00Z".parse().unwrap()),
        ..since("2020-01-01")
    };
    assert!(near(fresh(&verified), 0.5));
    for (validity, wanted) in [
        (Validity::Holds, 1.0),
        (Validity::Changed, 0.0),
        (Validity::Broken, 0.0),
    ] {
        let facts = EntryFacts {
            validity,
            ..since("2020-01-01")
        };
        assert!(near(fresh(&facts), wanted));
    }
    let never = EntryFacts {
        confirmation: Confirmation::default(),
        ..facts()
    };
    assert!(near(fresh(&never), 0.0));
}

#[test]
fn silence_of_those_who_could_have_found_it_makes_a_claim_less_fresh_whatever_the_code_says() {
    let fresh = |silence, validity| {
        let facts = EntryFacts {
            silence,
            validity,
            confirmation: Confirmation {
                last: Some("2026-11-15".parse().unwrap()),
                ..Confirmation::default()
            },
            ..facts()
        };
        signals(&facts, QueryMatch::default()).freshness
    };
    for validity in [Validity::Holds, Validity::Unverifiable] {
        assert!(near(fresh(0, validity), 1.0));
        assert!(near(fresh(6, validity), 0.5));
        assert!(near(fresh(12, validity), 0.25));
    }
}

#[test]
fn draws_follow_the_posterior_and_repeat() {
    let posterior = BetaPosterior {
        alpha: 8.0,
        beta: 2.0,
    };
    let draws: Vec<f64> = (0..2000)
        .map(|n| {
            PosteriorDraw::Of(DrawSeed::new("run", &format!("query {n}")), id(1)).sample(posterior)
        })
        .collect();
    assert!(draws.iter().all(|draw| (0.0..=1.0).contains(draw)));
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64;
    assert!((mean - 0.8).abs() < 0.01, "{mean}");
    assert!((variance - 0.8 * 0.2 / 11.0).abs() < 0.002, "{variance}");
    // Compares bits, not approximate values: a ranking must be reproducible on any machine.
    let draw =
        PosteriorDraw::Of(DrawSeed::new("r1", "how do retries work"), id(1)).sample(posterior);
    assert_eq!(draw.to_bits(), DRAWN);
    let other =
        PosteriorDraw::Of(DrawSeed::new("r2", "how do retries work"), id(1)).sample(posterior);
    assert_ne!(draw.to_bits(), other.to_bits());
    // A shape below 1 takes the boosted path of the gamma draw.
    let low = BetaPosterior {
        alpha: 0.5,
        beta: 0.5,
    };
    let draw = PosteriorDraw::Of(DrawSeed::new("r1", "q"), id(2)).sample(low);
    assert!((0.0..=1.0).contains(&draw));
}

#[test]
fn a_sure_entry_draws_near_its_mean_and_an_unsure_one_far_from_it() {
    let draws = |alpha, beta| -> Vec<f64> {
        let posterior = BetaPosterior { alpha, beta };
        let draw = |n| PosteriorDraw::Of(DrawSeed::new("run", &format!("query {n}")), id(1));
        (0..2000).map(|n| draw(n).sample(posterior)).collect()
    };
    let spread = |draws: &[f64]| {
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let squares = draws.iter().map(|draw| (draw - mean).powi(2));
        (squares.sum::<f64>() / draws.len() as f64).sqrt()
    };
    let (sure, less, unsure) = (draws(80.0, 20.0), draws(8.0, 2.0), draws(5.0, 5.0));
    let near_mean = sure.iter().filter(|draw| (*draw - 0.8).abs() < 0.1).count();
    assert!(near_mean > 1900, "{near_mean} of 2000");
    assert!(
        spread(&sure) < spread(&less),
        "more evidence, the same mean"
    );
    assert!(spread(&unsure) > 2.0 * spread(&sure));
}

#[test]
fn a_weight_of_zero_turns_a_signal_off() {
    let six = json!({"semantic": 0.5, "thompson": 0.2, "freshness": 0.1, "status": 0.1,
        "thread": 0.1, "cooccurrence": 0.0});
    let weights = RankingWeights::from_json(&six).unwrap();
    let score = |cooccurrence| {
        let facts = EntryFacts {
            cooccurrence,
            ..facts()
        };
        let signals = RankingSignals(signals(&facts, QueryMatch::default()));
        signals.explain(&weights, ScoreBoosts::default()).score
    };
    assert!(near(score(0.0), score(9.0)));
}

/// The bits of one draw, as first computed.
const DRAWN: u64 = 4_605_327_525_138_147_860;

#[test]
fn the_mean_explores_nothing() {
    assert!(near(signals(&facts(), QueryMatch::default()).thompson, 0.5));
}

#[test]
fn parts_sum_to_the_score() {
    let found = QueryMatch {
        semantic: 0.7,
        in_thread: true,
    };
    let facts = EntryFacts {
        cooccurrence: 2.0,
        ..facts()
    };
    let signals = RankingSignals(signals(&facts, found));
    let boosts = ScoreBoosts {
        pinned: true,
        cross_domain: true,
        role: false,
    };
    let told = signals.explain(&RankingWeights::default(), boosts);
    let sum: f64 = told.parts.iter().map(|part| part.value * part.weight).sum();
    assert!((told.score - sum).abs() < 1e-9);
    let plain = signals.explain(&RankingWeights::default(), ScoreBoosts::default());
    assert!(plain.score <= 1.0);
    let wanted = [
        ("semantic", 0.7, 0.38),
        ("thompson", 0.5, 0.25),
        ("freshness", 1.0, 0.15),
        ("status", 0.8, 0.10),
        ("thread", 1.0, 0.07),
        ("cooccurrence", 1.0 - libm::exp(-1.2), 0.05),
    ];
    for (part, (name, value, weight)) in plain.parts.iter().zip(wanted) {
        assert_eq!(part.name, name);
        assert!(
            near(part.value, value) && near(part.weight, weight),
            "{name}"
        );
        assert!(near(part.adds, value * weight), "{name}");
    }
    assert!(near(
        told.score - plain.score,
        PIN_BOOST + CROSS_DOMAIN_BOOST
    ));
}

#[test]
fn every_signal_lies_between_zero_and_one() {
    for (semantic, cooccurrence, silence, last) in [
        (-0.5, -3.0, 0, "2027-01-01"),
        (1.7, 100.0, u64::MAX, "1970-01-01"),
        (0.5, 1.0, 3, "2026-11-15"),
    ] {
        for status in EntryStatus::ALL {
            let facts = EntryFacts {
                posterior: BetaPosterior {
                    alpha: 900.0,
                    beta: 0.5,
                },
                confirmation: Confirmation {
                    last: Some(last.parse().unwrap()),
                    ..Confirmation::default()
                },
                status,
                cooccurrence,
                silence,
                ..facts()
            };
            let found = QueryMatch {
                semantic,
                in_thread: true,
            };
            let signals = signals(&facts, found);
            for (name, value) in signals.named() {
                assert!((0.0..=1.0).contains(&value), "{name}: {value}");
            }
            assert!(near(signals.semantic, semantic.clamp(0.0, 1.0)));
        }
    }
}

#[test]
fn weights_are_checked() {
    let six = json!({"semantic": 0.5, "thompson": 0.0, "freshness": 0.2, "status": 0.1,
        "thread": 0.1, "cooccurrence": 0.1});
    let weights = RankingWeights::from_json(&six).unwrap();
    assert!(weights.named().contains(&("thompson", 0.0)));
    let changed = |key: &str, value: serde_json::Value| {
        let mut six = six.clone();
        six[key] = value;
        RankingWeights::from_json(&six).unwrap_err()
    };
    assert!(matches!(
        changed("semantic", json!(0.6)),
        RankingWeightsError::Sum(_)
    ));
    assert!(matches!(
        changed("semantic", json!(-0.1)),
        RankingWeightsError::OutOfRange {
            name: "semantic",
            ..
        }
    ));
    assert!(matches!(
        changed("extra", json!(0.0)),
        RankingWeightsError::NotSix(_)
    ));
    assert!(matches!(
        RankingWeights::from_json(&json!({"semantic": 1.0})),
        Err(RankingWeightsError::NotSix(_))
    ));
}

#[test]
fn roles_prefer_kinds() {
    assert!(ReaderRole::Researcher.prefers(EntryKind::Spike));
    assert!(!ReaderRole::Researcher.prefers(EntryKind::Learning));
    assert!(ReaderRole::Planner.prefers(EntryKind::Learning));
    for kind in EntryKind::ALL {
        assert!(!ReaderRole::Debugger.prefers(kind));
    }
}

#[test]
fn exploration_moves_a_score_by_a_limited_amount_and_says_so() {
    let facts_with = |alpha, beta| EntryFacts {
        posterior: BetaPosterior { alpha, beta },
        ..facts()
    };
    let found = QueryMatch {
        semantic: 0.6,
        in_thread: false,
    };
    let ranking = (&RankingWeights::default(), ScoreBoosts::default());
    let mut moved = 0;
    for n in 0..200 {
        let facts = facts_with(1.0 + f64::from(n % 7), 2.0);
        let seed = DrawSeed::new("run", &format!("query {n}"));
        let draw = PosteriorDraw::Of(seed, id(1));
        let explored = score_entry(&facts, found, draw, now(), ranking);
        let expected = score_entry(&facts, found, PosteriorDraw::Mean, now(), ranking);
        let distance = (explored.score - expected.score).abs();
        assert!(distance <= 0.01 + 1e-12, "{distance}");
        let parts: f64 = explored.parts.iter().map(|part| part.adds).sum();
        assert!(
            (parts - explored.score).abs() < 1e-12,
            "the parts sum to the score"
        );
        moved += usize::from(distance > 0.0);
    }
    assert!(moved > 190, "{moved}");
}
