//! Posterior tests, one per requirement.

use super::*;

fn day(n: u32) -> Date {
    let last: Date = "2040-01-01".parse().unwrap();
    last.minus_days(4096 - n)
}

fn tallies(days: &[(u32, u64, u64)]) -> EntryTallies {
    let of = |&(n, alpha, beta): &(u32, u64, u64)| {
        let tally = BetaTally {
            alpha_milli: alpha * 1000,
            beta_milli: beta * 1000,
        };
        (day(n), tally)
    };
    EntryTallies {
        days: days.iter().map(of).collect(),
        ..EntryTallies::default()
    }
}

fn ageing(class: DecayClass) -> EvidenceDecay {
    EvidenceDecay {
        gamma: class.gamma(),
        archived: None,
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn without_evidence_it_is_the_prior() {
    let now = compute_posterior(
        &EntryTallies::default(),
        ageing(DecayClass::Ephemeral),
        day(9),
    );
    assert_eq!(now, BetaPosterior::PRIOR);
    assert!(close(now.observations(), 0.0));
}

#[test]
fn half_of_evidence_is_left_after_34_and_139_days_and_all_of_permanent() {
    for (class, days) in [(DecayClass::Ephemeral, 34), (DecayClass::Stable, 139)] {
        let left = ageing(class).remaining(day(0), day(days));
        assert!((left - 0.5).abs() < 0.005, "{class:?}: {left}");
    }
    assert!(close(
        ageing(DecayClass::Permanent).remaining(day(0), day(180)),
        1.0
    ));
}

#[test]
fn alpha_is_the_prior_and_what_is_left_of_each_day() {
    let evidence = tallies(&[(0, 2, 0), (10, 3, 1)]);
    let now = compute_posterior(&evidence, ageing(DecayClass::Ephemeral), day(20));
    assert!(close(
        now.alpha,
        5.0 + 2.0 * libm::pow(0.98, 20.0) + 3.0 * libm::pow(0.98, 10.0)
    ));
    assert!(close(now.beta, 5.0 + libm::pow(0.98, 10.0)));
}

#[test]
fn evidence_fades_for_180_days_and_no_further() {
    let evidence = tallies(&[(0, 100, 0)]);
    let alpha = |n| compute_posterior(&evidence, ageing(DecayClass::Ephemeral), day(n)).alpha;
    assert!(alpha(179) > alpha(180));
    assert!(close(alpha(180), alpha(181)) && close(alpha(180), alpha(4000)));
    assert!(((alpha(180) - 5.0) / 100.0 - 0.027).abs() < 0.001);
}

#[test]
fn evidence_from_a_clock_that_runs_ahead_counts_in_full() {
    let evidence = tallies(&[(30, 4, 0)]);
    let now = compute_posterior(&evidence, ageing(DecayClass::Ephemeral), day(0));
    assert!(close(now.alpha, 9.0));
}

#[test]
fn outcomes_count_by_quality_between_a_half_and_one_and_a_half() {
    let success = |quality| outcome_weight(Outcome::Succeeded, quality).alpha;
    assert!(close(success(Some(0)), 0.5));
    assert!(close(success(Some(1000)), 1.5));
    assert!(close(success(Some(300)), 0.8));
    assert!(close(success(None), 1.0));
    let failure = |quality| outcome_weight(Outcome::Failed, quality).beta;
    assert!(close(failure(Some(0)), 1.5));
    assert!(close(failure(Some(1000)), 0.5));
    assert!(close(failure(Some(300)), 1.2));
    assert!(close(
        outcome_weight(Outcome::Failed, Some(1000)).alpha,
        0.0
    ));
    let nothing = outcome_weight(Outcome::Abandoned, Some(900));
    assert!(close(nothing.alpha + nothing.beta, 0.0));
}

#[test]
fn ten_observations_weigh_as_much_as_the_prior() {
    let mean = |successes| {
        let evidence = tallies(&[(0, successes, 0)]);
        compute_posterior(&evidence, ageing(DecayClass::Permanent), day(0)).mean()
    };
    // Half way from the prior's 0.5 to the 1.0 of the observations.
    assert!(close(mean(10), 0.75));
    assert!(mean(9) < 0.75 && mean(11) > 0.75);
}

#[test]
fn observations_and_bands() {
    for (sum, observations, strength) in [
        (10.0, 0.0, EvidenceStrength::Prior),
        (14.9, 4.9, EvidenceStrength::Prior),
        (15.0, 5.0, EvidenceStrength::Early),
        (29.9, 19.9, EvidenceStrength::Early),
        (30.0, 20.0, EvidenceStrength::Moderate),
        (59.9, 49.9, EvidenceStrength::Moderate),
        (60.0, 50.0, EvidenceStrength::Strong),
    ] {
        let it = BetaPosterior {
            alpha: sum / 2.0,
            beta: sum / 2.0,
        };
        assert!(close(it.observations(), observations), "{sum}");
        assert_eq!(it.strength(), strength, "{sum}");
    }
}

#[test]
fn a_posterior_is_stuck_after_fifty_observations_between_035_and_065() {
    let of = |sum: f64, mean: f64| BetaPosterior {
        alpha: sum * mean,
        beta: sum * (1.0 - mean),
    };
    assert!(of(60.0, 0.5).is_stuck());
    assert!(!of(59.9, 0.5).is_stuck());
    assert!(of(60.0, 0.36).is_stuck() && of(60.0, 0.64).is_stuck());
    assert!(!of(60.0, 0.34).is_stuck() && !of(60.0, 0.66).is_stuck());
}

#[test]
fn a_reset_throws_away_what_was_observed_until_then() {
    let mut evidence = tallies(&[(0, 40, 40), (5, 1, 0), (6, 2, 0)]);
    evidence.reset = Some(day(5));
    let now = compute_posterior(&evidence, ageing(DecayClass::Permanent), day(6));
    assert_eq!(
        now,
        BetaPosterior {
            alpha: 7.0,
            beta: 5.0
        }
    );
}

#[test]
fn the_peak_is_the_most_there_ever_was() {
    let evidence = tallies(&[(0, 10, 0), (1, 10, 0), (90, 1, 0)]);
    let stable = ageing(DecayClass::Stable);
    let peak = peak_alpha(&evidence, stable, day(100));
    assert!(close(peak, 5.0 + 10.0 + 10.0 * 0.995));
    assert!(close(peak_alpha(&evidence, stable, day(0)), 15.0));
    assert!(close(
        peak_alpha(&EntryTallies::default(), stable, day(0)),
        5.0
    ));
}

#[test]
fn a_success_gives_back_a_fifth_of_mastery_below_half_its_peak() {
    let evidence = tallies(&[(0, 100, 0)]);
    let stable = ageing(DecayClass::Stable);
    let alpha = |n| compute_posterior(&evidence, stable, day(n)).alpha;
    let bonus = |class, n| mastery_bonus(&evidence, class, stable, day(n));
    // Alpha falls below half of its peak, 52.5, between these two days.
    let (before, after) = (148, 149);
    assert!(alpha(before) > 52.5 && alpha(after) < 52.5);
    assert!(close(bonus(DecayClass::Stable, 0), 0.0));
    assert!(close(bonus(DecayClass::Stable, before), 0.0));
    let wanted = 0.2 * (105.0 - alpha(after));
    assert!(close(bonus(DecayClass::Stable, after), wanted));
    assert!(close(bonus(DecayClass::Permanent, after), wanted));
    assert!(close(bonus(DecayClass::Ephemeral, after), 0.0));
}

#[test]
fn laying_aside_ages_evidence_faster_and_changes_none_of_it() {
    let evidence = tallies(&[(0, 8, 0)]);
    for (class, gamma) in [
        (DecayClass::Ephemeral, 0.98),
        (DecayClass::Stable, 0.995),
        (DecayClass::Permanent, 1.0),
    ] {
        let live = EvidenceDecay::for_live(class, Validity::Unverifiable);
        assert!(close(live.gamma, gamma), "{class:?}");
        let archived = EvidenceDecay {
            archived: Some(day(58)),
            ..live
        };
        let alpha = |decay, n| compute_posterior(&evidence, decay, day(n)).alpha;
        for before in [0, 57, 58] {
            assert!(
                close(alpha(archived, before), alpha(live, before)),
                "{class:?}"
            );
        }
        let left = libm::pow(gamma, 58.0);
        assert!(
            close(alpha(archived, 59), 5.0 + 8.0 * left * 0.85),
            "{class:?}"
        );
        let later = 5.0 + 8.0 * left * libm::pow(0.85, 10.0);
        assert!(close(alpha(archived, 68), later), "{class:?}");
    }
}

#[test]
fn what_the_code_bears_out_does_not_age() {
    for class in [DecayClass::Ephemeral, DecayClass::Stable] {
        let gamma = |validity| EvidenceDecay::for_live(class, validity).gamma;
        assert!(close(gamma(Validity::Holds), 1.0));
        assert!(gamma(Validity::Unverifiable) < 1.0);
    }
    let unchecked = EvidenceDecay::for_live(DecayClass::Ephemeral, Validity::Unverifiable);
    assert!(close(unchecked.gamma, 0.98));
}

#[test]
fn no_age_takes_it_below_the_prior() {
    let evidence = tallies(&[(0, 1, 1)]);
    let gone = EvidenceDecay {
        gamma: 0.0,
        archived: Some(day(0)),
    };
    let now = compute_posterior(&evidence, gone, day(400));
    assert!(now.alpha >= 5.0 && now.beta >= 5.0, "never near 1.0");
}

#[test]
fn a_quantile_is_that_of_the_beta_distribution() {
    let at = |alpha, beta, share| beta_quantile(BetaPosterior { alpha, beta }, share);
    for (found, known) in [
        (at(1.0, 1.0, 0.1), 0.1),
        (at(2.0, 1.0, 0.1), 0.1_f64.sqrt()),
        (at(1.0, 2.0, 0.1), 1.0 - 0.9_f64.sqrt()),
        (at(50.0, 50.0, 0.5), 0.5),
        (at(400.0, 400.0, 0.5), 0.5),
    ] {
        assert!((found - known).abs() < 1e-9, "{found} {known}");
    }
    assert!(at(9.0, 3.0, 0.1) < at(9.0, 3.0, 0.5));
    assert!(
        at(9.0, 3.0, 0.1) < at(90.0, 30.0, 0.1),
        "little history counts as little"
    );
}

#[test]
fn the_prior_is_not_told_as_evidence() {
    assert_eq!(BetaPosterior::PRIOR.describe_evidence(), "none yet");
    let used = BetaPosterior {
        alpha: 6.5,
        beta: 5.0,
    };
    assert_eq!(used.describe_evidence(), "1.5 for, 0.0 against");
}
