//! Planted effects: simulated sessions in which chance withholds one entry, with the shares of the
//! default review policy, and a person's corrections drawn from a Poisson distribution.
//!
//! Every seed is committed. `KEN_LONG=1` repeats each simulation 10,000 times instead of 1,000;
//! `--no-capture` prints the figures of `docs/explanation/outcomes.md`.

#![expect(
    clippy::print_stdout,
    reason = "figures for docs/explanation/outcomes.md"
)]

use ken_core::ledger::entry::ExposureCount;
use ken_core::ledger::event::{Arm, RunAssignment};
use ken_core::trust::impact::ImpactEstimate;
use ken_core::trust::outcome::RunFacts;
use ken_core::trust::outcome::effect::{EffectTracker, EffectVerdict, ObservedEffect};
use ken_core::trust::review::ReviewPolicy;
use ken_core::values::id::EntryId;
use ken_testkit::laws::is_long;

/// Sessions per simulation.
const SESSIONS: usize = 60;

/// First seed of the simulations; the others follow.
const SEED: u64 = 3_200;

/// Corrections per session without the entry.
const BASES: [f64; 3] = [0.3, 0.5, 1.0];

/// A deterministic source of random numbers (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn poisson(&mut self, mean: f64) -> u32 {
        let limit = (-mean).exp();
        let (mut count, mut product) = (0, self.draw());
        while product > limit {
            count += 1;
            product *= self.draw();
        }
        count
    }
}

/// What came of one simulation.
struct Trial {
    last: ObservedEffect,
    /// Set if the alarm sounded after any session.
    has_alarm: bool,
    /// Set if a verdict was given after any session.
    has_verdict: bool,
}

fn entry() -> EntryId {
    "L-00000032".parse().expect("an id")
}

/// Simulates sessions; the entry adds `effect` corrections to each that is shown it. Chance decides
/// in every session and the alarm is looked at after each.
fn simulate(seed: u64, base: f64, effect: f64) -> Trial {
    let mut dice = Dice(seed.wrapping_mul(0x5851_F42D_4C95_7F2D));
    let policy = ReviewPolicy::default();
    let unknown = ImpactEstimate::TooFew {
        shown: 0,
        withheld: 0,
    };
    let mut since = ExposureCount::default();
    let mut tracker = EffectTracker::default();
    let (mut has_alarm, mut has_verdict) = (false, false);
    for _ in 0..SESSIONS {
        let propensity_milli = policy.holdout_share_milli(since, unknown);
        let is_withheld = dice.draw() < f64::from(propensity_milli) / 1000.0;
        let added = if is_withheld { 0.0 } else { effect };
        since.shown += u64::from(!is_withheld);
        let facts = RunFacts {
            corrections: Some(dice.poisson((base + added).max(0.0))),
            ..RunFacts::default()
        };
        let draw = RunAssignment {
            entry: entry(),
            arm: if is_withheld {
                Arm::Withheld
            } else {
                Arm::Shown
            },
            propensity_milli,
        };
        tracker.add(&facts, std::iter::once(draw));
        let now = tracker.effect();
        has_alarm |= now.is_alarming();
        has_verdict |= now.verdict != EffectVerdict::Unclear;
    }
    Trial {
        last: tracker.effect(),
        has_alarm,
        has_verdict,
    }
}

/// Shares of simulations.
#[derive(Debug, Default)]
struct Shares {
    /// The estimate has the sign of the effect.
    sign: f64,
    /// The 95 % interval excludes zero.
    excluded: f64,
    alarms: f64,
    verdicts: f64,
}

fn shares(base: f64, effect: f64) -> Shares {
    let trials = if is_long() { 10_000 } else { 1_000 };
    let mut shares = Shares::default();
    let one = 1.0 / f64::from(trials);
    for number in 0..trials {
        let trial = simulate(SEED + u64::from(number as u32), base, effect);
        if let Some(measured) = trial.last.measures.first() {
            let is_right = measured.difference * effect > 0.0;
            shares.sign += one * f64::from(u8::from(is_right));
            let excludes = measured.low > 0.0 || measured.high < 0.0;
            shares.excluded += one * f64::from(u8::from(excludes));
        }
        shares.alarms += one * f64::from(u8::from(trial.has_alarm));
        shares.verdicts += one * f64::from(u8::from(trial.has_verdict));
    }
    println!("base {base}, effect {effect:+}: {shares:.3?}");
    shares
}

#[test]
fn planted_effects_of_three_tenths_are_recovered_with_the_right_sign() {
    for base in BASES {
        for effect in [0.3, -0.3] {
            let shares = shares(base, effect);
            assert!(shares.sign >= 0.8, "{base} {effect}: {shares:?}");
        }
    }
}

#[test]
fn an_entry_without_effect_is_seldom_accused_however_often_one_looks() {
    for base in [0.1, 0.3, 0.5, 1.0, 2.0] {
        let shares = shares(base, 0.0);
        assert!(shares.alarms <= 0.05, "{base}: {shares:?}");
        assert!(shares.verdicts <= 0.05, "{base}: {shares:?}");
    }
}

#[test]
fn a_harmful_entry_is_muted_within_sixty_sessions() {
    // An entry that costs one and a half corrections in every session that is shown it.
    for base in [0.3, 0.5] {
        let shares = shares(base, 1.5);
        assert!(shares.alarms >= 0.9, "{base}: {shares:?}");
    }
    // Weaker harm takes longer; these figures are for the documentation.
    for (base, effect) in [(0.3, 1.0), (0.5, 1.0), (1.0, 1.5), (0.3, 0.6)] {
        let shares = shares(base, effect);
        assert!(shares.alarms > 0.1, "{base} {effect}: {shares:?}");
    }
}
