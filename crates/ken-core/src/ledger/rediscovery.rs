//! Rediscovery of a claim by agents that were not shown it, and the belief that follows.
//!
//! Agents that work in an area find its true claims again and again; they rarely make the same
//! mistake twice. A claim is therefore believed by its rate: the runs in which an unprimed agent
//! reported it, of the runs in which one could have. A claim may stop being true, so old evidence
//! counts less. [`RediscoveryModel::belief`] is the forward filter of a hidden state (true or not)
//! with an unknown rate, integrated over [`RATES`].
//!
//! Invariant: the trace follows from the canonical order of events. Adding the newest event gives
//! the same trace as folding all of them. It keeps [`CHANCES_KEPT`] chances; older ones are one
//! belief, in whole billionths, so that repeated rounding is the same on every platform.

use std::collections::{BTreeSet, VecDeque};
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::event::{Confirmed, EntryEffect, Event, Proposed, Provenance, Reanchored};
use crate::ledger::event::{Revised, RunEffects};
use crate::values::anchor::Anchor;
use crate::values::citation::CitationType;
use crate::values::id::EntryId;

/// Maximum number of chances kept one by one.
pub const CHANCES_KEPT: usize = 64;

/// Maximum number of unprimed agents counted per run.
pub const UNSEEN_MAX: u32 = 16;

/// Rates at which one unprimed agent may report a claim.
pub const RATES: [f64; 12] = [
    0.002, 0.005, 0.01, 0.02, 0.035, 0.06, 0.1, 0.16, 0.24, 0.34, 0.5, 0.7,
];

/// Beta prior over the rate of a true claim: wide, because most agents report little.
pub const SIGNAL_PRIOR: (f64, f64) = (1.0, 4.0);

/// Beta prior over the rate of a false claim.
pub const NOISE_PRIOR: (f64, f64) = (1.0, 100.0);

/// Initial belief in a claim that more than one source supports.
pub const CORROBORATED_PRIOR: f64 = 0.5;

/// Initial belief in a claim that rests on the report of one agent.
pub const ALONE_PRIOR: f64 = 0.1;

/// Probability that a true claim becomes false between two chances.
pub const HAZARD: f64 = 0.002;

/// Probability that a true claim becomes false when an agent points it at changed code.
pub const CODE_CHANGE_HAZARD: f64 = 0.1;

/// Probability that a false claim becomes true between two chances.
pub const REVIVAL: f64 = 0.005;

/// Weight of each agent of a run beyond the first: agents of one run resemble each other.
pub const FURTHER_AGENT: f64 = 0.8;

/// Number of entries that the standard model counts for when a model is fitted.
pub const FIT_WEIGHT: f64 = 5.0;

/// Unit of the stored belief.
const BILLIONTHS: f64 = 1e9;

/// A weight per rate of [`RATES`].
pub type RateWeights = [f64; RATES.len()];

/// A run in which an agent that was not shown the claim could have found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RediscoveryChance {
    /// Tag of the run's name, to join its events. Two runs with the same tag count as one.
    pub run: u32,
    /// Agents that could have found it.
    pub unseen: u32,
    pub found: bool,
    /// True if the anchored code changed before this chance.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changed: bool,
}

/// The chances of an entry, in canonical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RediscoveryTrace {
    /// True if only one agent's report supported the claim when it was added.
    #[serde(skip_serializing_if = "is_false")]
    pub alone: bool,
    /// Chances in which the claim was found, of all chances.
    pub found: u32,
    pub chances: u32,
    /// The belief before the first of `recent`, if earlier chances were dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<StoredBelief>,
    /// The last chances.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub recent: VecDeque<RediscoveryChance>,
    /// True if the anchored code changed after the last chance.
    #[serde(skip_serializing_if = "is_false")]
    pub changed: bool,
}

/// A belief in billionths: per rate, the weight of a true and of a false claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredBelief {
    pub signal: [u32; RATES.len()],
    pub noise: [u32; RATES.len()],
}

/// A model in billionths, as a workspace stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredModel {
    pub rates: StoredBelief,
    pub corroborated: u32,
    pub alone: u32,
}

/// The assumptions about claims before any chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RediscoveryModel {
    /// Distribution of the rate of a true claim, and of a false one.
    pub signal: RateWeights,
    pub noise: RateWeights,
    /// Initial belief with and without a second source.
    pub corroborated: f64,
    pub alone: f64,
}

/// A belief during the computation.
#[derive(Clone, Copy, Debug)]
struct FilterState {
    signal: RateWeights,
    noise: RateWeights,
}

/// Builds a trace from the events of one entry in canonical order.
///
/// `confirmations` are those that were not withdrawn.
pub(crate) fn trace_events<'e>(
    id: EntryId,
    events: &[&'e Event],
    confirmations: impl Iterator<Item = &'e Event>,
) -> RediscoveryTrace {
    let proposed = events.iter().find_map(|event| event.get::<Proposed>());
    let source = proposed.and_then(|it| it.run.as_ref().map(|run| run.id.as_str()));
    let mut standing = BTreeSet::new();
    let mut trace = RediscoveryTrace {
        alone: proposed.is_some_and(rests_on_one_report),
        ..RediscoveryTrace::default()
    };
    for event in confirmations {
        let data = event.get::<Confirmed>();
        let data = data.filter(|it| it.provenance == Provenance::Independent);
        // Agents of the source run that agreed: part of the discovery, not a chance.
        let is_agreement = data.is_some_and(|it| it.run.is_some() && it.run.as_deref() == source);
        trace.alone &= !is_agreement;
        standing.extend(data.map(|_| event.id));
    }
    let mut anchors: &[Anchor] = &[];
    for event in events.iter().copied() {
        if let Some(data) = event.get::<Proposed>() {
            anchors = &data.content.anchors;
        } else if let Some(data) = event.get::<Revised>() {
            anchors = data.changes.anchors.as_deref().unwrap_or(anchors);
        } else if let Some(data) = event.get::<Reanchored>() {
            // A person who points an entry at changed code has looked at it.
            trace.changed |= !event.by.is_human() && is_other_code(anchors, &data.anchors);
            anchors = &data.anchors;
        } else if let Some(data) = event.get::<Confirmed>() {
            let run = data.run.as_deref().filter(|run| source != Some(run));
            if let Some(run) = run.filter(|_| standing.contains(&event.id)) {
                trace.add_find(run);
            }
        } else {
            trace.add_effects(id, source, event);
        }
    }
    trace
}

/// Returns whether a new entry rests on the report of one agent: its run and nothing else.
fn rests_on_one_report(proposed: &Proposed) -> bool {
    proposed.run.as_ref().is_some_and(|run| {
        let mut citations = proposed.citations.iter();
        citations.all(|it| {
            it.evidence_type == CitationType::Transcript && it.evidence_ref.as_str() == run.id
        })
    })
}

/// Returns whether new anchors name other code, and not the same code elsewhere.
fn is_other_code(before: &[Anchor], after: &[Anchor]) -> bool {
    fn fingerprints(anchors: &[Anchor]) -> BTreeSet<&String> {
        anchors
            .iter()
            .filter_map(|it| it.fingerprint.as_ref())
            .collect()
    }
    fingerprints(before) != fingerprints(after)
}

impl RediscoveryTrace {
    /// Returns whether the trace is that of an entry without chances, code changes or doubts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the chances of `id` in an event that is newer than all others.
    pub(crate) fn add_effects(&mut self, id: EntryId, source: Option<&str>, event: &Event) {
        let Some(data) = event.get::<RunEffects>() else {
            return;
        };
        if source != Some(&data.run) {
            for effect in chances_of(id, data) {
                self.add_chance(&data.run, effect.blind.max(effect.unseen));
            }
        }
    }

    fn add_chance(&mut self, run: &str, unseen: u32) {
        let at = self.open(run);
        let unseen = unseen.clamp(1, UNSEEN_MAX);
        at.unseen = at.unseen.max(unseen);
        self.compact();
    }

    /// Records a find. Without a recorded chance, one agent had one.
    fn add_find(&mut self, run: &str) {
        let at = self.open(run);
        let is_first = !std::mem::replace(&mut at.found, true);
        self.found += u32::from(is_first);
        self.compact();
    }

    /// Returns the chance of a run, which is new unless the run is among the last ones.
    fn open(&mut self, run: &str) -> &mut RediscoveryChance {
        let run = run_tag(run);
        let at = self.recent.iter().position(|it| it.run == run);
        let at = at.unwrap_or_else(|| {
            self.chances += 1;
            self.recent.push_back(RediscoveryChance {
                run,
                unseen: 1,
                found: false,
                changed: std::mem::take(&mut self.changed),
            });
            self.recent.len() - 1
        });
        &mut self.recent[at]
    }

    /// Moves the oldest chance into the earlier belief if there are too many.
    fn compact(&mut self) {
        if self.recent.len() > CHANCES_KEPT {
            let Some(oldest) = self.recent.pop_front() else {
                return;
            };
            // Always the standard model: the fold reads nothing but events.
            let model = RediscoveryModel::standard();
            let mut state = model.start(self);
            model.observe(&mut state, oldest, &mut MissTable::default());
            self.earlier = Some(state.to_stored());
        }
    }
}

/// Returns whether adding `event` changes the trace of `id`.
pub(crate) fn has_chance(id: EntryId, event: &Event) -> bool {
    let data = event.get::<RunEffects>();
    data.is_some_and(|data| chances_of(id, data).next().is_some())
}

fn chances_of(id: EntryId, data: &RunEffects) -> impl Iterator<Item = &EntryEffect> {
    let own = data.effects.iter().filter(move |it| it.entry == id);
    own.filter(|it| it.blind > 0)
}

/// Returns a tag that joins the events of a run without storing its name.
pub fn run_tag(run: &str) -> u32 {
    let hash = blake3::hash(run.as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

impl RediscoveryModel {
    /// Returns the model with the standard priors.
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<RediscoveryModel> = LazyLock::new(|| RediscoveryModel {
            signal: beta_weights(SIGNAL_PRIOR),
            noise: beta_weights(NOISE_PRIOR),
            corroborated: CORROBORATED_PRIOR,
            alone: ALONE_PRIOR,
        });
        &STANDARD
    }

    /// Returns the model that the entries of a workspace suggest, in `steps` steps of expectation
    /// maximization from this one. The standard model counts as [`FIT_WEIGHT`] entries.
    ///
    /// Agents of one project may report six times less than those of another. Fixed priors would
    /// take their silence for disbelief.
    #[must_use]
    pub fn fit(self, traces: &[&RediscoveryTrace], steps: usize) -> Self {
        (0..steps).fold(self, |model, _| model.fit_once(traces))
    }

    fn fit_once(&self, traces: &[&RediscoveryTrace]) -> Self {
        let prior = Self::standard();
        let mut signal = prior.signal.map(|weight| weight * FIT_WEIGHT);
        let mut noise = prior.noise.map(|weight| weight * FIT_WEIGHT);
        // True entries and all entries, with and without a second source.
        let mut corroborated = (prior.corroborated * FIT_WEIGHT, FIT_WEIGHT);
        let mut alone = (prior.alone * FIT_WEIGHT, FIT_WEIGHT);
        for trace in traces {
            let state = self.filter(trace);
            for at in 0..RATES.len() {
                signal[at] += state.signal[at];
                noise[at] += state.noise[at];
            }
            let start = if trace.alone {
                &mut alone
            } else {
                &mut corroborated
            };
            start.0 += state.truth();
            start.1 += 1.0;
        }
        Self {
            signal: normalized(signal),
            noise: normalized(noise),
            corroborated: corroborated.0 / corroborated.1,
            alone: alone.0 / alone.1,
        }
    }

    /// Returns the model for a workspace setting.
    pub fn to_stored(&self) -> StoredModel {
        StoredModel {
            rates: StoredBelief {
                signal: self.signal.map(to_billionths),
                noise: self.noise.map(to_billionths),
            },
            corroborated: to_billionths(self.corroborated),
            alone: to_billionths(self.alone),
        }
    }

    /// Returns the model of a workspace setting, or the standard one if it is not a model.
    pub fn from_stored(stored: &StoredModel) -> Self {
        let StoredBelief { signal, noise } = stored.rates;
        let is_empty = |weights: [u32; RATES.len()]| weights.iter().all(|it| *it == 0);
        let is_share = |billionths: u32| f64::from(billionths) <= BILLIONTHS;
        if is_empty(signal) || is_empty(noise) || !is_share(stored.corroborated.max(stored.alone)) {
            return *Self::standard();
        }
        Self {
            signal: normalized(signal.map(from_billionths)),
            noise: normalized(noise.map(from_billionths)),
            corroborated: from_billionths(stored.corroborated),
            alone: from_billionths(stored.alone),
        }
    }

    /// Returns the probability that a claim is true, after its chances.
    pub fn belief(&self, trace: &RediscoveryTrace) -> f64 {
        self.filter(trace).truth()
    }

    fn filter(&self, trace: &RediscoveryTrace) -> FilterState {
        let mut state = self.start(trace);
        let mut misses = MissTable::default();
        for chance in &trace.recent {
            self.observe(&mut state, *chance, &mut misses);
        }
        if trace.changed {
            self.pass(&mut state, CODE_CHANGE_HAZARD, 0.0);
        }
        state
    }

    fn start(&self, trace: &RediscoveryTrace) -> FilterState {
        if let Some(earlier) = &trace.earlier {
            return FilterState::from_stored(earlier);
        }
        let truth = if trace.alone {
            self.alone
        } else {
            self.corroborated
        };
        FilterState {
            signal: self.signal.map(|weight| weight * truth),
            noise: self.noise.map(|weight| weight * (1.0 - truth)),
        }
    }

    /// Applies one chance: the claim may have changed before it, then it is found or missed.
    fn observe(&self, state: &mut FilterState, chance: RediscoveryChance, misses: &mut MissTable) {
        if chance.changed {
            self.pass(state, CODE_CHANGE_HAZARD, 0.0);
        }
        let before = state.truth();
        self.pass(state, HAZARD, REVIVAL);
        let missed = misses.of(chance.unseen);
        for (at, missed) in missed.iter().enumerate() {
            let likelihood = if chance.found { 1.0 - missed } else { *missed };
            state.signal[at] *= likelihood;
            state.noise[at] *= likelihood;
        }
        state.normalize();
        // Time alone could move a belief that is already near its limit against the evidence.
        let after = state.truth();
        state.set_truth(if chance.found {
            after.max(before)
        } else {
            after.min(before)
        });
    }

    /// Lets a true claim break with probability `hazard` and a false one become true with
    /// `revival`; either then has a new rate.
    fn pass(&self, state: &mut FilterState, hazard: f64, revival: f64) {
        let truth = state.truth();
        let (broken, revived) = (hazard * truth, revival * (1.0 - truth));
        for at in 0..RATES.len() {
            state.signal[at] = state.signal[at] * (1.0 - hazard) + revived * self.signal[at];
            state.noise[at] = state.noise[at] * (1.0 - revival) + broken * self.noise[at];
        }
    }
}

impl FilterState {
    fn truth(&self) -> f64 {
        let sum: f64 = self.signal.iter().sum();
        // Rounding may exceed the range by an ulp.
        sum.clamp(0.0, 1.0)
    }

    fn normalize(&mut self) {
        let sum: f64 = self.signal.iter().chain(&self.noise).sum();
        let (signal, noise) = (self.signal.iter_mut(), self.noise.iter_mut());
        for weight in signal.chain(noise) {
            *weight /= sum;
        }
    }

    /// Moves the belief to `truth` and keeps the rates.
    fn set_truth(&mut self, truth: f64) {
        let now = self.truth();
        if now > 0.0 && now < 1.0 && now != truth {
            self.signal = self.signal.map(|weight| weight * truth / now);
            self.noise = self
                .noise
                .map(|weight| weight * (1.0 - truth) / (1.0 - now));
        }
    }

    fn to_stored(self) -> StoredBelief {
        StoredBelief {
            signal: self.signal.map(to_billionths),
            noise: self.noise.map(to_billionths),
        }
    }

    fn from_stored(stored: &StoredBelief) -> Self {
        let mut state = Self {
            signal: stored.signal.map(from_billionths),
            noise: stored.noise.map(from_billionths),
        };
        state.normalize();
        state
    }
}

/// Probabilities that all of a number of agents miss a claim, per rate; computed once per number.
#[derive(Debug, Default)]
struct MissTable([Option<RateWeights>; UNSEEN_MAX as usize + 1]);

impl MissTable {
    fn of(&mut self, unseen: u32) -> RateWeights {
        let unseen = unseen.clamp(1, UNSEEN_MAX);
        let agents = 1.0 + FURTHER_AGENT * f64::from(unseen - 1);
        let compute = || RATES.map(|rate| libm::pow(1.0 - rate, agents));
        *self.0[unseen as usize].get_or_insert_with(compute)
    }
}

/// Returns weights over [`RATES`] that follow a Beta distribution.
fn beta_weights((alpha, beta): (f64, f64)) -> RateWeights {
    let mut weights = RATES;
    for (at, weight) in weights.iter_mut().enumerate() {
        let rate = RATES[at];
        // The rates are spaced unevenly: each stands for the interval around it.
        let low = if at == 0 {
            0.0
        } else {
            f64::midpoint(RATES[at - 1], rate)
        };
        let next = RATES.get(at + 1);
        let high = next.map_or(1.0, |next| f64::midpoint(rate, *next));
        let density =
            libm::exp((alpha - 1.0) * libm::log(rate) + (beta - 1.0) * libm::log1p(-rate));
        *weight = density * (high - low);
    }
    normalized(weights)
}

fn normalized(weights: RateWeights) -> RateWeights {
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a probability times a billion"
)]
fn to_billionths(share: f64) -> u32 {
    libm::round(share * BILLIONTHS) as u32
}

fn from_billionths(billionths: u32) -> f64 {
    f64::from(billionths) / BILLIONTHS
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A chance as a test writes it: unprimed agents, found, code changed before.
    type Step = (u32, bool, bool);

    fn trace(alone: bool, steps: &[Step]) -> RediscoveryTrace {
        let mut trace = RediscoveryTrace {
            alone,
            ..RediscoveryTrace::default()
        };
        for (number, (unseen, found, changed)) in steps.iter().enumerate() {
            trace.changed |= changed;
            let run = format!("run-{number}");
            trace.add_chance(&run, *unseen);
            if *found {
                trace.add_find(&run);
            }
        }
        trace
    }

    fn belief(trace: &RediscoveryTrace) -> f64 {
        RediscoveryModel::standard().belief(trace)
    }

    fn believed(found: &[bool]) -> f64 {
        let steps: Vec<Step> = found.iter().map(|found| (1, *found, false)).collect();
        belief(&trace(false, &steps))
    }

    fn any_steps() -> impl Strategy<Value = Vec<Step>> {
        vec(
            (
                1..20_u32,
                prop::bool::weighted(0.2),
                prop::bool::weighted(0.1),
            ),
            0..150,
        )
    }

    #[test]
    fn findings_raise_a_belief_and_silence_lowers_it() {
        assert!((believed(&[]) - CORROBORATED_PRIOR).abs() < 1e-9);
        assert!(believed(&[true]) > 0.9 && believed(&[false]) < 0.5);
        assert!(believed(&[true, true, true]) > 0.95);
        assert!(believed(&[false; 40]) < 0.2);
        let alone = |steps: &[Step]| belief(&trace(true, steps));
        assert!((alone(&[]) - ALONE_PRIOR).abs() < 1e-9);
        assert!(alone(&[(1, true, false)]) > 0.4);
    }

    #[test]
    fn an_entry_that_falls_silent_is_doubted_and_one_that_is_found_again_is_believed() {
        let often = [true; 10];
        let silent = [&often[..], &[false; 30]].concat();
        let again = [&silent[..], &[true, true]].concat();
        assert!(believed(&often) > 0.95);
        assert!(believed(&silent) < 0.4, "{}", believed(&silent));
        assert!(believed(&again) > 0.85, "{}", believed(&again));
    }

    #[test]
    fn a_change_of_the_code_discounts_the_evidence() {
        let steps = [(1, true, false); 5];
        let (before, mut changed) = (trace(false, &steps), trace(false, &steps));
        changed.changed = true;
        let (kept, left) = (belief(&before), belief(&changed));
        assert!(
            (left - kept * (1.0 - CODE_CHANGE_HAZARD)).abs() < 1e-9,
            "{kept} {left}"
        );
        // The next find restores most of it.
        changed.add_find("later");
        assert!(belief(&changed) > 0.9);
    }

    #[test]
    fn more_agents_that_miss_a_claim_say_more() {
        let missed = |unseen| belief(&trace(false, &[(unseen, false, false); 5]));
        assert!(missed(3) < missed(2) && missed(2) < missed(1));
    }

    #[test]
    fn one_run_is_one_chance_whatever_the_order_of_its_events() {
        let mut first = RediscoveryTrace::default();
        first.add_chance("a", 3);
        first.add_find("a");
        let mut second = RediscoveryTrace::default();
        second.add_find("a");
        second.add_find("a");
        second.add_chance("a", 3);
        assert_eq!(first, second);
        assert_eq!((first.found, first.chances), (1, 1));
    }

    proptest! {
        #[test]
        fn a_belief_is_a_probability(alone: bool, steps in any_steps()) {
            let trace = trace(alone, &steps);
            prop_assert!((0.0..=1.0).contains(&belief(&trace)));
            prop_assert!(trace.recent.len() <= CHANCES_KEPT);
            prop_assert!(trace.found <= trace.chances);
            prop_assert_eq!(trace.chances as usize, steps.len());
        }

        #[test]
        fn a_find_never_lowers_a_belief_and_a_miss_never_raises_it(
            alone: bool,
            steps in any_steps(),
            unseen in 1..20_u32,
        ) {
            // Without compaction, which rounds to billionths.
            let steps = &steps[..steps.len().min(CHANCES_KEPT - 1)];
            let before = belief(&trace(alone, steps));
            let with = |found| belief(&trace(alone, &[steps, &[(unseen, found, false)]].concat()));
            prop_assert!(with(true) >= before - 1e-9);
            prop_assert!(with(false) <= before + 1e-9);
        }

        #[test]
        fn dropping_old_chances_hardly_changes_the_belief(alone: bool, steps in any_steps()) {
            let model = RediscoveryModel::standard();
            let mut whole = trace(alone, &[]);
            let chance = |(unseen, found, changed): &Step| RediscoveryChance {
                run: 0,
                unseen: (*unseen).min(UNSEEN_MAX),
                found: *found,
                changed: *changed,
            };
            whole.recent = steps.iter().map(chance).collect();
            let (all, kept) = (model.belief(&whole), belief(&trace(alone, &steps)));
            prop_assert!((all - kept).abs() < 1e-5, "{all} {kept}");
        }
    }
}
