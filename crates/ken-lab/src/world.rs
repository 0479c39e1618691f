//! Simulated codebase: its facts, the mistakes agents make, and code changes that break facts.
//!
//! A claim is a fact or a mistake. Facts are true until a code change breaks them; a new fact then
//! replaces them. Mistakes were never true. Every parameter of the model is named here; those the
//! grid varies are in [`GridCell`].

use ken_core::values::text::Statement;
use serde::Serialize;

use crate::dice::{DrawPurpose, SeededDice};

/// Areas of the codebase; each run works in one.
pub const AREAS: usize = 6;

/// Facts of an area that are true at any time.
pub const FACTS_PER_AREA: usize = 6;

/// Share of claims with an anchor.
pub const ANCHORED_SHARE: f64 = 0.7;

/// Probability that the check detects a change that breaks an anchored claim.
pub const CHECK_DETECTION_RATE: f64 = 0.8;

/// Probability that a change touches the anchor of another claim of its area without breaking it.
pub const FALSE_ALARM_RATE: f64 = 0.1;

/// Probability per run of its area that an entry with changed code is reviewed and, if still true,
/// reanchored.
pub const REANCHOR_RATE: f64 = 0.25;

/// Probability per run that a person retracts a false claim that was shown.
pub const RETRACTION_RATE: f64 = 0.01;

/// Probability that an agent shares the draw of its run: agents of one run are correlated.
pub const CORRELATED_SHARE: f64 = 0.2;

/// Range of the relevance of an area's entries to the work of a run.
pub const RELEVANCE: (f64, f64) = (0.4, 0.9);

/// Probability of success with nothing shown, the gain per true claim shown, the loss per false
/// one, and the bounds of the result.
pub const SUCCESS_ALONE: f64 = 0.6;
pub const SUCCESS_PER_TRUE: f64 = 0.05;
pub const SUCCESS_PER_FALSE: f64 = 0.12;
pub const SUCCESS_BOUNDS: (f64, f64) = (0.05, 0.95);

/// Minimum severity in thousandths of critical, severe and other claims, and the cumulative shares
/// of the first two classes. The same for facts and mistakes.
pub const SEVERITIES_MILLI: [u16; 3] = [9_000, 7_000, 3_000];
pub const SEVERE_SHARES: [f64; 2] = [0.02, 0.15];

/// Rate at which an agent that was not shown it finds a fact that is hard to find, and makes a
/// mistake that suggests itself.
pub const HIDDEN_RATE: f64 = 0.03;
pub const MISCONCEPTION_RATE: f64 = 0.15;

/// False claims per area that a hostile user plants, and the agents that this user controls in a
/// hostile run. They state every planted claim of their area.
pub const PLANTED_PER_AREA: usize = 3;
pub const HOSTILE_IDENTITIES: usize = 2;

/// Range of the confidence agents state, in thousandths; the same for facts and mistakes.
pub const CONFIDENCE_MILLI: (u16, u16) = (5_000, 10_000);

/// Parameters that the grid varies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GridCell {
    /// Probability that an agent finds a fact it was not shown.
    pub detection: f64,
    /// Probability that an agent repeats a shown claim, if higher than finding it alone.
    pub priming: f64,
    /// Share of mistakes among the findings of an agent that was shown nothing.
    pub false_share: f64,
    /// Breaking code changes per run.
    pub change_rate: f64,
    /// Agents per run.
    pub agents: usize,
    /// Probability that an agent makes a given mistake it was not shown.
    pub recurrence: f64,
    /// Probability that an agent reports a claim it found without having been shown it.
    pub reporting: f64,
    /// Share of facts that are found at [`HIDDEN_RATE`].
    pub hidden: f64,
    /// Share of mistakes that are made at [`MISCONCEPTION_RATE`].
    pub misconceptions: f64,
    /// Share of runs with hostile agents.
    pub hostile: f64,
}

impl GridCell {
    /// Returns the number of distinct mistakes per area that yields the share of mistakes.
    pub fn mistakes_per_area(&self) -> usize {
        // Expected false findings, divided by the rate of each mistake, give the number of
        // mistakes.
        let true_findings = self.detection * FACTS_PER_AREA as f64;
        let false_findings = true_findings * self.false_share / (1.0 - self.false_share);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small count"
        )]
        let mistakes = (false_findings / self.recurrence).round() as usize;
        mistakes
    }
}

/// Truth of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimTruth {
    Holds,
    /// A change in this run made it false.
    Broken {
        run: usize,
    },
    Never,
}

/// A claim an agent may make about the codebase.
#[derive(Clone, Debug)]
pub struct SimulatedClaim {
    pub area: usize,
    pub truth: ClaimTruth,
    pub statement: Statement,
    pub severity_milli: u16,
    /// True if it has an anchor.
    pub has_anchor: bool,
    /// The last run in which a check detected a change of that code.
    pub touched: Option<usize>,
    /// Its rate, if other than that of the cell.
    pub rate: Option<f64>,
    /// True if a hostile user planted it.
    pub is_planted: bool,
}

impl SimulatedClaim {
    /// Returns whether it is true now.
    pub fn holds(&self) -> bool {
        self.truth == ClaimTruth::Holds
    }
}

/// Index of a claim.
pub type ClaimId = usize;

/// All facts and mistakes of the simulated codebase.
#[derive(Clone, Debug)]
pub struct SimulatedCodebase {
    pub claims: Vec<SimulatedClaim>,
    cell: GridCell,
    dice: SeededDice,
}

impl SimulatedCodebase {
    /// Creates the facts and mistakes of every area.
    pub fn new(cell: GridCell, dice: SeededDice) -> Self {
        let mut codebase = Self {
            claims: Vec::new(),
            cell,
            dice,
        };
        for area in 0..AREAS {
            for _ in 0..FACTS_PER_AREA {
                codebase.plant(area, ClaimTruth::Holds);
            }
            for _ in 0..cell.mistakes_per_area() {
                codebase.plant(area, ClaimTruth::Never);
            }
        }
        // Last, so that all other claims are those of the same world without hostile agents.
        let planted = if cell.hostile > 0.0 {
            PLANTED_PER_AREA
        } else {
            0
        };
        for area in 0..AREAS {
            for _ in 0..planted {
                codebase.plant(area, ClaimTruth::Never);
                codebase.claims.last_mut().expect("just planted").is_planted = true;
            }
        }
        codebase
    }

    /// Returns the area a run works in.
    pub fn area(&self, run: usize) -> usize {
        self.dice.pick(DrawPurpose::Area, run, AREAS)
    }

    /// Returns the claims of an area with their indices.
    pub fn of_area(&self, area: usize) -> impl Iterator<Item = (ClaimId, &SimulatedClaim)> {
        let all = self.claims.iter().enumerate();
        all.filter(move |(_, claim)| claim.area == area)
    }

    /// Returns the facts that are true now.
    pub fn facts(&self) -> impl Iterator<Item = ClaimId> + '_ {
        let all = self.claims.iter().enumerate();
        all.filter(|(_, claim)| claim.holds()).map(|(id, _)| id)
    }

    /// Returns the claim that a code change before this run breaks, if any.
    pub fn next_to_break(&self, run: usize) -> Option<ClaimId> {
        if self.dice.roll(DrawPurpose::Change, run, 0, 0) >= self.cell.change_rate {
            return None;
        }
        let facts: Vec<ClaimId> = self.facts().collect();
        let picked = self.dice.pick(DrawPurpose::ChangedFact, run, facts.len());
        facts.get(picked).copied()
    }

    /// Applies a code change before a run that breaks a claim.
    pub fn change(&mut self, run: usize, broken: ClaimId) {
        let dice = self.dice;
        let area = self.claims[broken].area;
        for (id, claim) in self.claims.iter_mut().enumerate() {
            let seen = if id == broken {
                dice.roll(DrawPurpose::CheckDetection, run, id, 0) < CHECK_DETECTION_RATE
            } else {
                dice.roll(DrawPurpose::FalseAlarm, run, id, 0) < FALSE_ALARM_RATE
            };
            if claim.area == area && claim.has_anchor && seen {
                claim.touched = Some(run);
            }
        }
        // A new fact keeps the number of facts per area constant.
        self.claims[broken].truth = ClaimTruth::Broken { run };
        self.plant(area, ClaimTruth::Holds);
    }

    /// Replaces the parameters from now on; for tests.
    pub fn set_cell(&mut self, cell: GridCell) {
        self.cell = cell;
    }

    /// Returns whether an agent of a run states a claim.
    pub fn is_found(&self, run: usize, agent: usize, id: ClaimId, seen: ClaimExposure) -> bool {
        let claim = &self.claims[id];
        if claim.is_planted && agent < HOSTILE_IDENTITIES && self.is_hostile(run) {
            return true;
        }
        let alone = self.cell.reporting
            * match claim.truth {
                // Honest agents have no reason to invent a planted claim.
                _ if claim.is_planted => 0.0,
                ClaimTruth::Holds => claim.rate.unwrap_or(self.cell.detection),
                // A broken fact is a mistake like others, however it was found before.
                ClaimTruth::Broken { .. } => self.cell.recurrence,
                ClaimTruth::Never => claim.rate.unwrap_or(self.cell.recurrence),
            };
        let probability = match seen {
            // Priming never lowers the probability of finding a claim alone.
            ClaimExposure::Shown => alone.max(self.cell.priming),
            ClaimExposure::Unseen => alone,
        };
        // Correlated agents share one draw, so they find or miss a claim together.
        let is_alike = self.dice.roll(DrawPurpose::IsCorrelated, run, agent, id) < CORRELATED_SHARE;
        let roll = if is_alike {
            self.dice.roll(DrawPurpose::FoundByAll, run, 0, id)
        } else {
            self.dice.roll(DrawPurpose::FoundByOne, run, agent, id)
        };
        roll < probability
    }

    /// Returns whether a run has hostile agents.
    fn is_hostile(&self, run: usize) -> bool {
        self.dice.roll(DrawPurpose::HostileRun, run, 0, 0) < self.cell.hostile
    }

    /// Returns whether an agent's work succeeds after it was shown these numbers of true and false
    /// claims.
    pub fn succeeds(
        &self,
        run: usize,
        agent: usize,
        shown_true: usize,
        shown_false: usize,
    ) -> bool {
        let (least, most) = SUCCESS_BOUNDS;
        let helped = SUCCESS_PER_TRUE * shown_true as f64;
        let misled = SUCCESS_PER_FALSE * shown_false as f64;
        // The bounds keep both outcomes possible.
        let probability = (SUCCESS_ALONE + helped - misled).clamp(least, most);
        self.dice.roll(DrawPurpose::Outcome, run, agent, 0) < probability
    }

    /// Returns the relevance of a claim to the work of a run, in [0, 1].
    pub fn relevance(&self, run: usize, id: ClaimId) -> f64 {
        let (least, most) = RELEVANCE;
        least + (most - least) * self.dice.roll(DrawPurpose::Relevance, run, id, 0)
    }

    /// Returns the confidence in thousandths that an agent states with a finding.
    pub fn confidence_milli(&self, run: usize, agent: usize, id: ClaimId) -> u16 {
        let (least, most) = CONFIDENCE_MILLI;
        interpolate(
            least,
            most,
            self.dice.roll(DrawPurpose::Confidence, run, agent, id),
        )
    }

    fn plant(&mut self, area: usize, truth: ClaimTruth) {
        let id = self.claims.len();
        let (odd_share, odd_rate) = match truth {
            ClaimTruth::Holds => (self.cell.hidden, HIDDEN_RATE),
            ClaimTruth::Broken { .. } | ClaimTruth::Never => {
                (self.cell.misconceptions, MISCONCEPTION_RATE)
            }
        };
        let is_odd = self.dice.roll(DrawPurpose::OddRate, id, 0, 0) < odd_share;
        let text = format!("Claim {id} about area {area} holds.");
        self.claims.push(SimulatedClaim {
            area,
            truth,
            statement: text.parse().expect("a short sentence is a statement"),
            severity_milli: severity_milli(self.dice.roll(DrawPurpose::Severity, id, 0, 0)),
            has_anchor: self.dice.roll(DrawPurpose::HasAnchor, id, 0, 0) < ANCHORED_SHARE,
            touched: None,
            rate: is_odd.then_some(odd_rate),
            is_planted: false,
        });
    }
}

/// Exposure of an agent to a claim before its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimExposure {
    Shown,
    Unseen,
}

fn severity_milli(roll: f64) -> u16 {
    let class = SEVERE_SHARES.iter().position(|share| roll < *share);
    SEVERITIES_MILLI[class.unwrap_or(SEVERE_SHARES.len())]
}

fn interpolate(least: u16, most: u16, roll: f64) -> u16 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number between two of its type"
    )]
    let above = (f64::from(most - least) * roll) as u16;
    least + above
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::MIDDLE;

    #[test]
    fn agents_that_are_shown_nothing_make_the_share_of_mistakes_the_cell_names() {
        let code = SimulatedCodebase::new(MIDDLE, SeededDice::new(1));
        let (mut all, mut wrong) = (0, 0);
        for run in 0..400 {
            for (id, claim) in code.of_area(run % AREAS) {
                let found = code.is_found(run, 0, id, ClaimExposure::Unseen);
                all += usize::from(found);
                wrong += usize::from(found && !claim.holds());
            }
        }
        let share = wrong as f64 / all as f64;
        assert!((share - MIDDLE.false_share).abs() < 0.03, "{share}");
    }

    /// Returns the share of runs in which agent 0 states a claim it was not shown.
    fn rate(code: &SimulatedCodebase, id: ClaimId) -> f64 {
        let runs = 4_000;
        let found = (0..runs).filter(|run| code.is_found(*run, 0, id, ClaimExposure::Unseen));
        found.count() as f64 / runs as f64
    }

    #[test]
    fn sparse_reporters_report_a_share_of_what_they_find() {
        let cell = GridCell {
            reporting: 1.0 / 6.0,
            ..MIDDLE
        };
        let code = SimulatedCodebase::new(cell, SeededDice::new(1));
        assert_eq!(
            code.claims.len(),
            SimulatedCodebase::new(MIDDLE, code.dice).claims.len()
        );
        assert!((rate(&code, 0) - 0.05).abs() < 0.015, "{}", rate(&code, 0));
    }

    #[test]
    fn hidden_facts_and_misconceptions_have_rates_of_their_own() {
        let cell = GridCell {
            hidden: 0.3,
            misconceptions: 0.05,
            ..MIDDLE
        };
        // Several seeds, because one codebase has only 36 facts.
        let codes = (1..11).map(|seed| SimulatedCodebase::new(cell, SeededDice::new(seed)));
        let codes: Vec<SimulatedCodebase> = codes.collect();
        let odd_share = |holds: bool, expected: f64| {
            let (mut all, mut odd) = (0_usize, 0_usize);
            for code in &codes {
                let claims = code.claims.iter().enumerate();
                let claims: Vec<_> = claims.filter(|(_, it)| it.holds() == holds).collect();
                let odd_claims = claims.iter().filter(|(_, it)| it.rate.is_some());
                let odd_claims: Vec<ClaimId> = odd_claims.map(|(id, _)| *id).collect();
                let found = rate(code, *odd_claims.first().expect("there are some"));
                assert!((found - expected).abs() < 0.02, "{found}");
                all += claims.len();
                odd += odd_claims.len();
            }
            odd as f64 / all as f64
        };
        assert!((odd_share(true, HIDDEN_RATE) - 0.3).abs() < 0.08);
        assert!((odd_share(false, MISCONCEPTION_RATE) - 0.05).abs() < 0.02);
    }

    #[test]
    fn hostile_agents_state_their_own_claims_and_nobody_else_invents_them() {
        let cell = GridCell {
            hostile: 0.1,
            ..MIDDLE
        };
        let code = SimulatedCodebase::new(cell, SeededDice::new(1));
        let planted: Vec<ClaimId> = (0..code.claims.len())
            .filter(|id| code.claims[*id].is_planted)
            .collect();
        assert_eq!(planted.len(), AREAS * PLANTED_PER_AREA);
        assert!((rate(&code, planted[0]) - 0.1).abs() < 0.02);
        let honest = |run| code.is_found(run, 2, planted[0], ClaimExposure::Unseen);
        assert!(!(0..4_000).any(honest));
    }

    #[test]
    fn a_change_breaks_one_fact_and_another_takes_its_place() {
        let cell = GridCell {
            change_rate: 1.0,
            ..MIDDLE
        };
        let mut code = SimulatedCodebase::new(cell, SeededDice::new(1));
        let broken = code.next_to_break(7).unwrap();
        code.change(7, broken);
        assert_eq!(code.claims[broken].truth, ClaimTruth::Broken { run: 7 });
        assert_eq!(code.facts().count(), AREAS * FACTS_PER_AREA);
        let still = GridCell {
            change_rate: 0.0,
            ..MIDDLE
        };
        assert_eq!(
            SimulatedCodebase::new(still, SeededDice::new(1)).next_to_break(7),
            None
        );
    }
}
