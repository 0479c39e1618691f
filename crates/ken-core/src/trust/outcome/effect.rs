//! Effect of entries on what was observed of runs, and the alarm about an entry that hurts.
//!
//! Chance decides which entries an agent is shown, with known probabilities. If entries changed
//! nothing, the observed count of a run would say nothing about what chance decided in it. The
//! *evidence* is how much better the counts predict the draws than chance alone does: the product,
//! over all runs, of the probability of the draw given the count, divided by its probability
//! without it. Without an effect this product exceeds 20 in at most one of 20 workspaces, however
//! often it is looked at (Ville's inequality), whatever the distribution of the counts and however
//! the work changes over time. So an alarm may look after every run.
//!
//! The *difference* beside it is a least-squares estimate with a 95 % interval for one look.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{ObservedRun, RunFacts, RunMeasure};
use crate::ledger::event::{Arm, RunAssignment};
use crate::trust::impact::OUTCOMES_PER_ARM_MIN;
use crate::values::id::EntryId;

/// Evidence of harm at which an entry is muted: at most one in 20 harmless entries ever gets there.
pub const HARM_EVIDENCE_MIN: f64 = 20.0;

/// Evidence at which memory is said to help or to harm. Twice the other: there are two ways to err.
pub const VERDICT_EVIDENCE_MIN: f64 = 40.0;

/// Largest count of one run; a larger one counts as this, so that no single run decides.
pub const COUNT_MAX: u32 = 4;

/// Factors by which one entry may multiply the count, equally probable before any run.
const FACTORS: [f64; 5] = [1.25, 1.5, 2.0, 3.0, 5.0];

/// Weights of the measures in the evidence. Corrections are what a person did, so they count most.
const MEASURE_WEIGHTS: [(RunMeasure, f64); 3] = [
    (RunMeasure::Corrections, 0.9),
    (RunMeasure::FailedTests, 0.05),
    (RunMeasure::Setbacks, 0.05),
];

/// Largest exponent of a factor: a run that was shown many entries says little about each.
const EXPONENT_MAX: f64 = 4.0;

/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// What can be said about the effect of an entry, or of all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectVerdict {
    Helps,
    Harms,
    /// Cannot be told yet.
    Unclear,
}

/// The change of one measure per entry shown. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredEffect {
    pub measure: RunMeasure,
    pub difference: f64,
    pub low: f64,
    pub high: f64,
    /// Runs that the estimate rests on.
    pub runs: u64,
}

/// Effect of an entry, or of all together, on what was observed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedEffect {
    pub verdict: EffectVerdict,
    /// Runs in which chance decided, with at least one measure.
    pub runs: u64,
    /// Number of times an entry was shown and withheld in them.
    pub shown: u64,
    pub withheld: u64,
    /// Evidence that it harms and that it helps: 1 says nothing.
    pub harm_evidence: f64,
    pub help_evidence: f64,
    /// Measures with enough runs in each arm.
    pub measures: Vec<MeasuredEffect>,
}

/// The effects of all entries.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectReport {
    pub all: ObservedEffect,
    pub entries: BTreeMap<EntryId, ObservedEffect>,
    /// Runs that were observed, also those in which chance decided nothing.
    pub observed: u64,
}

impl ObservedEffect {
    /// Returns whether the entry demonstrably hurts.
    pub fn is_alarming(&self) -> bool {
        self.harm_evidence >= HARM_EVIDENCE_MIN
    }

    /// Describes the effect, one line for the verdict and one per measure; `is_all` if it is that
    /// of all entries together.
    pub fn to_lines(&self, is_all: bool) -> Vec<String> {
        let (subject, unit) = if is_all {
            ("memory", "entry shown")
        } else {
            ("it", "session with it")
        };
        let verdict = match self.verdict {
            EffectVerdict::Helps => format!("{subject} helps"),
            EffectVerdict::Harms => format!("{subject} harms"),
            EffectVerdict::Unclear => {
                format!("cannot be told yet whether {subject} helps or harms")
            }
        };
        let (runs, shown, withheld) = (self.runs, self.shown, self.withheld);
        let seen = format!("observed: {verdict} (n = {runs}; shown {shown}, withheld {withheld})");
        let measures = self.measures.iter().map(|it| {
            let (label, difference) = (it.measure.label(), it.difference);
            let (low, high, runs) = (it.low, it.high, it.runs);
            format!(
                "{label}: {difference:+.2} per {unit}, 95% interval {low:+.2} to {high:+.2} (n = {runs})"
            )
        });
        std::iter::once(seen).chain(measures).collect()
    }
}

/// Measures the effects of all entries on the runs, which are in the order they happened.
pub fn measure_effects(runs: &[ObservedRun]) -> EffectReport {
    let tried: BTreeSet<EntryId> = runs
        .iter()
        .flat_map(|it| it.assigned.iter().map(|it| it.entry))
        .collect();
    let entries = tried.into_iter().map(|id| (id, entry_effect(runs, id)));
    EffectReport {
        all: effect_of(runs, |_| true),
        entries: entries.collect(),
        observed: runs.len() as u64,
    }
}

/// Measures the effect of one entry.
pub fn entry_effect(runs: &[ObservedRun], entry: EntryId) -> ObservedEffect {
    effect_of(runs, |it| it.entry == entry)
}

fn effect_of(runs: &[ObservedRun], wanted: impl Fn(&RunAssignment) -> bool) -> ObservedEffect {
    let mut tracker = EffectTracker::default();
    for run in runs {
        let draws = run.assigned.iter().filter(|it| wanted(it)).copied();
        tracker.add(&run.facts, draws);
    }
    tracker.effect()
}

/// The effect of an entry, or of several together, measured run after run.
#[derive(Clone, Copy, Debug, Default)]
pub struct EffectTracker {
    processes: [EffectProcess; MEASURE_WEIGHTS.len()],
    runs: u64,
    shown: u64,
    withheld: u64,
}

impl EffectTracker {
    /// Adds a run with what chance decided in it.
    pub fn add(&mut self, facts: &RunFacts, draws: impl Iterator<Item = RunAssignment>) {
        let Some(draw) = RunDraw::of(draws) else {
            return;
        };
        let mut is_measured = false;
        for ((measure, _), process) in MEASURE_WEIGHTS.iter().zip(&mut self.processes) {
            if let Some(count) = facts.measure(*measure) {
                process.add(&draw, count);
                is_measured = true;
            }
        }
        if is_measured {
            self.runs += 1;
            self.shown += draw.shown as u64;
            self.withheld += draw.withheld as u64;
        }
    }

    /// Returns the effect so far.
    pub fn effect(&self) -> ObservedEffect {
        // A weighted mean of such evidence is evidence again; a measure without runs counts as 1.
        let mean = |of: fn(&EffectProcess) -> f64| {
            let parts = MEASURE_WEIGHTS.iter().zip(&self.processes);
            parts
                .map(|((_, weight), process)| weight * of(process))
                .sum::<f64>()
        };
        let harm_evidence = mean(|it| it.harm.evidence());
        let help_evidence = mean(|it| it.help.evidence());
        let measured = MEASURE_WEIGHTS.iter().zip(&self.processes);
        ObservedEffect {
            verdict: verdict(harm_evidence, help_evidence),
            runs: self.runs,
            shown: self.shown,
            withheld: self.withheld,
            harm_evidence,
            help_evidence,
            measures: measured
                .filter_map(|((measure, _), process)| process.estimate(*measure))
                .collect(),
        }
    }
}

fn verdict(harm: f64, help: f64) -> EffectVerdict {
    match (harm >= VERDICT_EVIDENCE_MIN, help >= VERDICT_EVIDENCE_MIN) {
        (true, false) => EffectVerdict::Harms,
        (false, true) => EffectVerdict::Helps,
        (false, false) | (true, true) => EffectVerdict::Unclear,
    }
}

/// What chance decided in one run: how many entries were shown, and the probability of each number.
struct RunDraw {
    shown: usize,
    withheld: usize,
    /// Expected number of entries shown.
    expected: f64,
    /// Probability of each number of entries shown.
    probabilities: Vec<f64>,
}

impl RunDraw {
    /// Returns `None` if chance decided nothing.
    fn of(draws: impl Iterator<Item = RunAssignment>) -> Option<Self> {
        let drawn = |it: &RunAssignment| (1..1000).contains(&it.propensity_milli);
        let draws: Vec<RunAssignment> = draws.filter(drawn).collect();
        let mut probabilities = vec![1.0];
        let mut expected = 0.0;
        for draw in &draws {
            let p = 1.0 - f64::from(draw.propensity_milli) / 1000.0;
            expected += p;
            probabilities.push(0.0);
            for n in (0..probabilities.len()).rev() {
                let below = if n == 0 { 0.0 } else { probabilities[n - 1] };
                probabilities[n] = probabilities[n] * (1.0 - p) + below * p;
            }
        }
        let shown = draws.iter().filter(|it| it.arm == Arm::Shown).count();
        (!draws.is_empty()).then_some(Self {
            shown,
            withheld: draws.len() - shown,
            expected,
            probabilities,
        })
    }

    /// Returns the number of entries shown, beyond its expectation.
    #[expect(clippy::cast_precision_loss, reason = "a small number of entries")]
    fn excess(&self, shown: usize) -> f64 {
        shown as f64 - self.expected
    }
}

/// Evidence that each entry shown multiplies the count by more, or by less, than 1.
#[derive(Clone, Copy, Debug, Default)]
struct FactorEvidence {
    /// Logarithm of the evidence for each factor.
    logs: [f64; FACTORS.len()],
}

impl FactorEvidence {
    /// Adds a run. `direction` is 1 for factors above 1, and -1 for their inverses.
    fn add(&mut self, draw: &RunDraw, count: f64, rate: f64, direction: f64) {
        for (log, factor) in self.logs.iter_mut().zip(FACTORS) {
            // The rate is that of an average draw, so the exponent is the excess over it.
            let likelihood = |shown: usize| {
                let excess = draw.excess(shown).clamp(-EXPONENT_MAX, EXPONENT_MAX);
                let power = direction * excess * libm::log(factor);
                count * power - rate * libm::exp(power)
            };
            let seen = likelihood(draw.shown);
            let average: f64 = (0..draw.probabilities.len())
                .map(|n| draw.probabilities[n] * libm::exp(likelihood(n) - seen))
                .sum();
            *log -= libm::log(average);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of factors")]
    fn evidence(&self) -> f64 {
        let sum: f64 = self.logs.iter().map(|it| libm::exp(*it)).sum();
        sum / FACTORS.len() as f64
    }
}

/// One measure over the runs: the evidence so far, and the sums of the least-squares estimate.
#[derive(Clone, Copy, Debug, Default)]
struct EffectProcess {
    harm: FactorEvidence,
    help: FactorEvidence,
    runs: u64,
    shown: u64,
    withheld: u64,
    sum_x: f64,
    sum_xx: f64,
    sum_y: f64,
    sum_yy: f64,
    sum_xy: f64,
}

impl EffectProcess {
    fn add(&mut self, draw: &RunDraw, count: u32) {
        let y = f64::from(count.min(COUNT_MAX));
        // Only earlier runs may set the rate: the draw of this one must not be in it.
        let rate = (self.sum_y + 0.5) / (float(self.runs) + 1.0);
        self.harm.add(draw, y, rate, 1.0);
        self.help.add(draw, y, rate, -1.0);
        let x = draw.excess(draw.shown);
        self.runs += 1;
        self.shown += draw.shown as u64;
        self.withheld += draw.withheld as u64;
        self.sum_x += x;
        self.sum_xx += x * x;
        self.sum_y += y;
        self.sum_yy += y * y;
        self.sum_xy += x * y;
    }

    /// Returns the change of the measure per entry shown, if each arm has enough draws.
    fn estimate(&self, measure: RunMeasure) -> Option<MeasuredEffect> {
        if self.shown.min(self.withheld) < OUTCOMES_PER_ARM_MIN {
            return None;
        }
        let n = float(self.runs);
        let spread = self.sum_xx - self.sum_x * self.sum_x / n;
        let freedom = n - 2.0;
        if spread <= 0.0 || freedom <= 0.0 {
            return None;
        }
        let together = self.sum_xy - self.sum_x * self.sum_y / n;
        let difference = together / spread;
        let total = self.sum_yy - self.sum_y * self.sum_y / n;
        let left = (total - difference * together).max(0.0);
        // Counts that never differed would give an interval without width.
        let error = libm::sqrt((left + 0.25) / freedom / spread);
        // Student's quantile, to the first order in 1/n.
        let half = Z * (1.0 + (Z * Z + 1.0) / (4.0 * freedom)) * error;
        Some(MeasuredEffect {
            measure,
            difference,
            low: difference - half,
            high: difference + half,
            runs: self.runs,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u32) -> EntryId {
        format!("L-{n:08}").parse().expect("an id")
    }

    fn run(corrections: Option<u32>, arms: &[(u32, Arm, u16)]) -> ObservedRun {
        ObservedRun {
            run: "C-1".to_owned(),
            at: crate::values::time::Timestamp::default(),
            facts: RunFacts {
                corrections,
                ..RunFacts::default()
            },
            assigned: arms
                .iter()
                .map(|(n, arm, propensity_milli)| RunAssignment {
                    entry: entry(*n),
                    arm: *arm,
                    propensity_milli: *propensity_milli,
                })
                .collect(),
        }
    }

    #[test]
    fn nothing_observed_is_no_evidence() {
        let report = measure_effects(&[run(None, &[(1, Arm::Shown, 100)]), run(Some(3), &[])]);
        assert_eq!(report.observed, 2);
        let effect = &report.entries[&entry(1)];
        assert_eq!((effect.runs, effect.verdict), (0, EffectVerdict::Unclear));
        assert!((effect.harm_evidence - 1.0).abs() < 1e-12, "{effect:?}");
    }

    #[test]
    fn a_draw_without_chance_counts_for_nothing() {
        let runs = vec![run(Some(4), &[(1, Arm::Shown, 0)]); 50];
        let effect = entry_effect(&runs, entry(1));
        assert!((effect.harm_evidence - 1.0).abs() < 1e-12, "{effect:?}");
        assert_eq!(effect.measures, []);
    }

    /// The mean of the evidence over both arms, weighted by their probabilities, is 1: this is what
    /// bounds false alarms.
    #[test]
    fn the_expected_evidence_of_the_next_run_is_what_it_was() {
        for (first, count, p) in [(0, 0, 100_u16), (2, 1, 300), (4, 4, 500), (1, 3, 50)] {
            let before = run(Some(first), &[(1, Arm::Shown, 500)]);
            let evidence = |arm: Option<Arm>| {
                let next = arm.map(|arm| run(Some(count), &[(1, arm, p)]));
                let runs: Vec<ObservedRun> =
                    [Some(before.clone()), next].into_iter().flatten().collect();
                entry_effect(&runs, entry(1)).harm_evidence
            };
            let withheld = f64::from(p) / 1000.0;
            let mean = withheld * evidence(Some(Arm::Withheld))
                + (1.0 - withheld) * evidence(Some(Arm::Shown));
            assert!(
                (mean - evidence(None)).abs() < 1e-9,
                "{first} {count} {p}: {mean}"
            );
        }
    }

    #[test]
    fn corrections_beside_an_entry_are_evidence_of_harm_and_without_it_of_help() {
        let runs = |shown: u32, withheld: u32| -> Vec<ObservedRun> {
            (0..30)
                .flat_map(|_| {
                    [
                        run(Some(shown), &[(1, Arm::Shown, 500)]),
                        run(Some(withheld), &[(1, Arm::Withheld, 500)]),
                    ]
                })
                .collect()
        };
        let harmful = entry_effect(&runs(2, 0), entry(1));
        assert_eq!(harmful.verdict, EffectVerdict::Harms);
        assert!(
            harmful.is_alarming() && harmful.measures[0].low > 0.0,
            "{harmful:?}"
        );
        let helpful = entry_effect(&runs(0, 2), entry(1));
        assert_eq!(helpful.verdict, EffectVerdict::Helps);
        assert!(
            !helpful.is_alarming() && helpful.measures[0].high < 0.0,
            "{helpful:?}"
        );
        let same = entry_effect(&runs(1, 1), entry(1));
        assert_eq!(same.verdict, EffectVerdict::Unclear);
        assert!(
            same.measures[0].low < 0.0 && same.measures[0].high > 0.0,
            "{same:?}"
        );
    }

    #[test]
    fn all_entries_together_are_measured_per_entry_shown() {
        let shown = [(1, Arm::Shown, 500), (2, Arm::Shown, 500)];
        let one = [(1, Arm::Shown, 500), (2, Arm::Withheld, 500)];
        let none = [(1, Arm::Withheld, 500), (2, Arm::Withheld, 500)];
        let runs: Vec<ObservedRun> = (0..20)
            .flat_map(|_| {
                [
                    run(Some(2), &shown),
                    run(Some(1), &one),
                    run(Some(0), &none),
                ]
            })
            .collect();
        let all = measure_effects(&runs).all;
        assert!((all.measures[0].difference - 1.0).abs() < 1e-9, "{all:?}");
        assert_eq!((all.runs, all.shown, all.withheld), (60, 60, 60));
        assert_eq!(all.verdict, EffectVerdict::Harms);
    }
}
