//! Confirmation: which mode of rediscovery is the default.
//!
//! The third edition suggested, after the fact, that `rank` is a better default than `observe`.
//! This run decides it on seeds that no run has used, with the standard model, because a workspace
//! that nobody configured has no fitted one.
//!
//! **Criterion.** The default is the strongest mode that passes against `observe`, paired by seed:
//! in the middle cell fewer false claims are surfaced, by more than the interval; and in no cell of
//! the grid and no world are more false claims surfaced, fewer true claims retained, or less work
//! successful, by more than the interval. Otherwise it is `observe`.

use ken_core::trust::rediscovery::RediscoveryMode;

use crate::experiment::CellResult;
use crate::measure::Measure;
use crate::policy::PolicyName;
use crate::statistics::MeanEstimate;

/// Measures that must not get worse in any cell.
pub const GUARDED_MEASURES: [Measure; 3] =
    [Measure::FalseSurfaced, Measure::Retained, Measure::Success];

/// A mode that is worse than `observe` by more than the interval.
#[derive(Clone, Debug, PartialEq)]
pub struct WorseCell {
    pub cell: String,
    pub measure: Measure,
    /// The mode less `observe`.
    pub difference: MeanEstimate,
}

/// Result of the criterion for one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeVerdict {
    pub mode: RediscoveryMode,
    /// False claims in the middle cell, less those of `observe`.
    pub middle: MeanEstimate,
    pub worse: Vec<WorseCell>,
}

impl ModeVerdict {
    /// Returns whether the mode passes.
    pub fn passes(&self) -> bool {
        self.middle.high < 0.0 && self.worse.is_empty()
    }
}

/// Applies the criterion to a mode; `None` if a result is missing.
pub fn judge_mode(results: &[CellResult], mode: RediscoveryMode) -> Option<ModeVerdict> {
    let name = match mode {
        RediscoveryMode::Observe => return None,
        RediscoveryMode::Rank => PolicyName::KenRank,
        RediscoveryMode::Gate => PolicyName::KenGate,
    };
    let pairs = pair_with_observe(results, name);
    let is_middle = |(ours, _): &&(&CellResult, &CellResult)| ours.cell == "middle";
    let (ours, observe) = pairs.iter().find(is_middle)?;
    let middle = difference(ours, observe, Measure::FalseSurfaced);
    let mut worse = Vec::new();
    for (ours, observe) in &pairs {
        for measure in GUARDED_MEASURES {
            let difference = difference(ours, observe, measure);
            if is_worse(measure, difference) {
                worse.push(WorseCell {
                    cell: ours.cell.clone(),
                    measure,
                    difference,
                });
            }
        }
    }
    Some(ModeVerdict {
        mode,
        middle,
        worse,
    })
}

/// Returns the default mode by the criterion.
pub fn choose_mode(results: &[CellResult]) -> RediscoveryMode {
    let strongest = RediscoveryMode::ALL.into_iter().rev();
    let verdicts = strongest.filter_map(|mode| judge_mode(results, mode));
    // The first is the strongest.
    let passing = verdicts
        .filter(ModeVerdict::passes)
        .map(|it| it.mode)
        .next();
    passing.unwrap_or(RediscoveryMode::Observe)
}

/// Returns the results of a policy paired with those of `observe` in the same cell.
pub fn pair_with_observe(
    results: &[CellResult],
    name: PolicyName,
) -> Vec<(&CellResult, &CellResult)> {
    let of = |name| results.iter().filter(move |it| it.policy == name);
    let observe = |cell: &str| of(PolicyName::Ken).find(|it| it.cell == cell);
    let ours = of(name).filter_map(|ours| Some((ours, observe(&ours.cell)?)));
    ours.collect()
}

/// Returns the difference of a measure, paired by seed.
pub fn difference(ours: &CellResult, theirs: &CellResult, measure: Measure) -> MeanEstimate {
    MeanEstimate::from_differences(&ours.values(measure), &theirs.values(measure))
}

fn is_worse(measure: Measure, difference: MeanEstimate) -> bool {
    // Of false claims fewer are better, of everything else more.
    if measure == Measure::FalseSurfaced {
        difference.low > 0.0
    } else {
        difference.high < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::MIDDLE;
    use crate::measure::SimulationFigures;

    /// A result with the given false share, retention and success, spread a little over the seeds.
    fn result(cell: &str, policy: PolicyName, shares: [f64; 3]) -> CellResult {
        let seed = |number: u32| {
            let noise = 0.001 * f64::from(number % 3);
            let value = |measure| {
                let at = GUARDED_MEASURES.iter().position(|it| *it == measure);
                at.map_or(0.0, |at| shares[at] + noise)
            };
            SimulationFigures {
                last: Measure::ALL.map(value).into(),
                curves: Vec::new(),
                forgetting: Vec::new(),
            }
        };
        CellResult {
            cell: cell.to_owned(),
            parameters: MIDDLE,
            policy,
            settings: String::new(),
            seeds: (0..20).map(seed).collect(),
        }
    }

    #[test]
    fn the_strongest_mode_without_a_worse_cell_is_the_default() {
        let observe = |cell| result(cell, PolicyName::Ken, [0.3, 0.9, 0.6]);
        let rank = |cell, shares| result(cell, PolicyName::KenRank, shares);
        let gate = |cell, shares| result(cell, PolicyName::KenGate, shares);
        let (better, silent) = ([0.1, 0.9, 0.7], [0.1, 0.5, 0.7]);
        let mut results = vec![
            observe("middle"),
            rank("middle", better),
            gate("middle", better),
            observe("sparse"),
            rank("sparse", better),
        ];
        assert_eq!(choose_mode(&results), RediscoveryMode::Gate);
        results.push(gate("sparse", silent));
        assert_eq!(choose_mode(&results), RediscoveryMode::Rank);
        let verdict = judge_mode(&results, RediscoveryMode::Gate).unwrap();
        let worse = verdict
            .worse
            .iter()
            .map(|it| (it.cell.as_str(), it.measure));
        assert!(worse.eq([("sparse", Measure::Retained)]));
        // Without an advantage in the middle cell nothing changes.
        results[1] = rank("middle", [0.3, 0.9, 0.6]);
        assert_eq!(choose_mode(&results), RediscoveryMode::Observe);
    }
}
