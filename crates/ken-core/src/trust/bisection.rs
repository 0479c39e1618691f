//! Search for the one entry that changes what an agent does, by withholding the others.
//!
//! An agent follows what it is shown only sometimes, so a good run does not acquit the entries it
//! was shown. [`Bisection`] therefore keeps a probability for each suspect and selects the entries
//! of the next run so that its result tells most.

use std::collections::BTreeSet;

use crate::values::id::EntryId;

/// Probability at which a suspect counts as found.
pub const FOUND_AT: f64 = 0.99;

/// Steps of the search for the share of probability that the next run shows.
const SHARES: u32 = 40;

/// Range of the rates: no agent is known to follow always, and none never to err.
const FOLLOWS_RANGE: (f64, f64) = (0.05, 0.95);
const ERRS_MIN: f64 = 0.05;

/// How often an agent shows the behavior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BehaviorRates {
    /// With the entry that causes it.
    follows: f64,
    /// Without that entry.
    errs: f64,
}

/// Number of runs and of those that showed the behavior.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialCount {
    pub runs: u32,
    pub bad: u32,
}

/// The state of a search: the suspects with their probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    /// Most probable first.
    suspects: Vec<(EntryId, f64)>,
    rates: BehaviorRates,
}

impl TrialCount {
    /// Counts one run.
    pub fn add(&mut self, is_bad: bool) {
        self.runs += 1;
        self.bad += u32::from(is_bad);
    }
}

impl BehaviorRates {
    /// Estimates the rates from runs with all suspects and from runs without any.
    pub fn estimate(with_all: TrialCount, with_none: TrialCount) -> Self {
        // One good and one bad run more than seen: few runs say little about a rate.
        let follows = f64::from(with_all.bad + 1) / f64::from(with_all.runs + 2);
        let errs = f64::from(with_none.bad) / f64::from(with_none.runs.max(1));
        let follows = follows.clamp(FOLLOWS_RANGE.0, FOLLOWS_RANGE.1);
        Self {
            follows,
            errs: errs.max(ERRS_MIN),
        }
    }

    /// Returns whether the entries change the behavior at all, so that a search makes sense.
    pub fn is_caused(self) -> bool {
        self.follows > 2.0 * self.errs
    }

    fn of_bad(self, is_shown: bool) -> f64 {
        if is_shown { self.follows } else { self.errs }
    }
}

impl Bisection {
    /// Begins a search in which every entry is equally suspect.
    pub fn new(suspects: BTreeSet<EntryId>, rates: BehaviorRates) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a number of entries")]
        let weight = 1.0 / (suspects.len() as f64);
        Self {
            suspects: suspects.into_iter().map(|id| (id, weight)).collect(),
            rates,
        }
    }

    /// Returns the most probable suspect and its probability.
    pub fn best(&self) -> Option<(EntryId, f64)> {
        self.suspects.first().copied()
    }

    /// Returns the entry that was found.
    pub fn found(&self) -> Option<EntryId> {
        let best = self.best().filter(|(_, weight)| *weight >= FOUND_AT);
        best.map(|(id, _)| id)
    }

    /// Returns the suspects to show in the next run.
    pub fn next_shown(&self) -> BTreeSet<EntryId> {
        let wanted = self.best_share();
        let (mut share, mut shown) = (0.0, BTreeSet::new());
        for (id, weight) in &self.suspects {
            // Half of it: the nearest sum is on this or the other side of the wanted one.
            if share + weight / 2.0 <= wanted || shown.is_empty() {
                share += weight;
                shown.insert(*id);
            }
        }
        shown
    }

    /// Takes the result of a run into account.
    pub fn record(&mut self, shown: &BTreeSet<EntryId>, is_bad: bool) {
        for (id, weight) in &mut self.suspects {
            let bad = self.rates.of_bad(shown.contains(id));
            *weight *= if is_bad { bad } else { 1.0 - bad };
        }
        // Both rates are above 0 and below 1, so the sum is never 0.
        let sum: f64 = self.suspects.iter().map(|(_, weight)| weight).sum();
        for (_, weight) in &mut self.suspects {
            *weight /= sum;
        }
        self.suspects
            .sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    }

    /// Returns the share of probability to show, for which the result of a run tells most.
    fn best_share(&self) -> f64 {
        let (follows, errs) = (self.rates.follows, self.rates.errs);
        let told = |share: f64| {
            let bad = share * follows + (1.0 - share) * errs;
            entropy(bad) - share * entropy(follows) - (1.0 - share) * entropy(errs)
        };
        let shares = (1..SHARES).map(|step| f64::from(step) / f64::from(SHARES));
        shares
            .max_by(|one, other| told(*one).total_cmp(&told(*other)))
            .unwrap_or(0.5)
    }
}

/// Returns the entropy of an event with this probability, in bits.
fn entropy(probability: f64) -> f64 {
    let part = |it: f64| if it > 0.0 { -it * libm::log2(it) } else { 0.0 };
    part(probability) + part(1.0 - probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed sequence of numbers from 0 to 1.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            #[expect(clippy::cast_precision_loss, reason = "a fraction")]
            let fraction = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
            fraction
        }
    }

    /// Runs one search and returns whether it found the culprit, and the number of its runs.
    /// `None` if the first runs show no cause.
    fn search(
        all: &BTreeSet<EntryId>,
        follows: f64,
        errs: f64,
        dice: &mut Dice,
    ) -> Option<(bool, u32)> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let position = (dice.roll() * all.len() as f64) as usize;
        let culprit = *all.iter().nth(position).unwrap();
        let mut act = |is_shown: bool| {
            let rate = if is_shown { follows } else { errs };
            dice.roll() < rate
        };
        let (mut with_all, mut with_none) = (TrialCount::default(), TrialCount::default());
        for _ in 0..6 {
            with_all.add(act(true));
        }
        for _ in 0..4 {
            with_none.add(act(false));
        }
        let rates = BehaviorRates::estimate(with_all, with_none);
        if !rates.is_caused() {
            return None;
        }
        let mut search = Bisection::new(all.clone(), rates);
        let mut runs = 0;
        while search.found().is_none() && runs < 200 {
            let shown = search.next_shown();
            search.record(&shown, act(shown.contains(&culprit)));
            runs += 1;
        }
        Some((search.found() == Some(culprit), runs))
    }

    fn entries(count: u32) -> BTreeSet<EntryId> {
        (0..count)
            .map(|n| format!("L-{n:08}").parse().unwrap())
            .collect()
    }

    #[test]
    fn one_of_five_hundred_is_found_in_a_thousand_searches() {
        let (all, mut dice) = (entries(500), Dice(0x9e37_79b9_7f4a_7c15));
        let (mut found, mut runs) = (0, Vec::new());
        for _ in 0..1_000 {
            if let Some((is_right, count)) = search(&all, 0.7, 0.0, &mut dice) {
                found += u32::from(is_right);
                runs.push(count);
            }
        }
        assert!(runs.len() >= 995, "{}", runs.len());
        runs.sort_unstable();
        // 2·log₂(500) is 18; what is above repeats runs of an agent that did not follow.
        assert!(found >= 990, "{found}");
        assert!(runs[500] <= 24, "median {}", runs[500]);
        assert!(runs[990] <= 60, "99 %: {}", runs[990]);
    }

    #[test]
    fn an_agent_that_errs_by_itself_only_takes_longer() {
        let (all, mut dice) = (entries(60), Dice(7));
        let ended = (0..200).filter_map(|_| search(&all, 0.7, 0.1, &mut dice));
        let ended: Vec<bool> = ended.map(|(is_right, _)| is_right).collect();
        let found = ended.iter().filter(|it| **it).count();
        assert!(ended.len() >= 150, "{}", ended.len());
        assert!(
            found * 100 >= ended.len() * 94,
            "{found} of {}",
            ended.len()
        );
    }

    #[test]
    fn rates_that_do_not_differ_are_no_cause() {
        let half = TrialCount { runs: 6, bad: 3 };
        assert!(!BehaviorRates::estimate(half, half).is_caused());
        let never = TrialCount { runs: 6, bad: 0 };
        assert!(BehaviorRates::estimate(half, never).is_caused());
    }
}
