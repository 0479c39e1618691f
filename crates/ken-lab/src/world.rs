//! The simulated codebase: what is true of it, what agents get wrong, and how code changes break truths.
//!
//! A claim is a fact or a mistake. Facts are true until a code change breaks them; a new fact then takes the
//! place. Mistakes were never true. Every number that shapes the world is named here; those that the grid
//! varies are in [`Cell`].

use ken_core::text::Statement;
use serde::Serialize;

use crate::dice::{About, Dice};

/// Parts of the codebase; a run works in one of them.
pub const AREAS: usize = 6;

/// Facts that are true of an area at any time.
pub const FACTS_PER_AREA: usize = 6;

/// The share of claims that point at code a check can compare.
pub const ANCHORED_SHARE: f64 = 0.7;

/// How often the check sees a change that breaks a claim which points at code.
pub const CHECK_SEES: f64 = 0.8;

/// How often a change touches the code another claim of its area points at, without breaking that claim.
pub const FALSE_ALARM: f64 = 0.1;

/// How often, in a run of its area, somebody looks at an entry whose code changed, and points it at the code
/// as it is if it is still true.
pub const LOOKED_AT: f64 = 0.25;

/// How often a person who sees a false claim being shown takes it back, for each run that showed it.
pub const RETRACTED: f64 = 0.01;

/// How often an agent's draw is that of its whole run: agents of one run are alike.
pub const ALIKE: f64 = 0.2;

/// How near entries of an area are to the work of a run: between these two.
pub const RELEVANCE: (f64, f64) = (0.4, 0.9);

/// The probability that work succeeds with nothing shown, what each true claim shown adds, what each false
/// one takes, and the least and the most there is.
pub const SUCCESS_ALONE: f64 = 0.6;
pub const SUCCESS_PER_TRUE: f64 = 0.05;
pub const SUCCESS_PER_FALSE: f64 = 0.12;
pub const SUCCESS_BOUNDS: (f64, f64) = (0.05, 0.95);

/// The least severity, in thousandths, of the worst claims, of bad ones and of all others; and what share of
/// claims is in the first class, and in the first two. The same for facts and mistakes.
pub const SEVERITIES_MILLI: [u16; 3] = [9_000, 7_000, 3_000];
pub const SEVERE_SHARES: [f64; 2] = [0.02, 0.15];

/// The confidence agents name, in thousandths: between these two, the same for facts and mistakes.
pub const CONFIDENCE_MILLI: (u16, u16) = (5_000, 10_000);

/// What the grid varies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// How often an agent that was not shown a fact finds it.
    pub detection: f64,
    /// How often an agent repeats what it was shown, if it would not find it more often anyhow.
    pub priming: f64,
    /// The share of mistakes among what an agent finds that was shown nothing.
    pub false_share: f64,
    /// Breaking code changes in a run.
    pub change_rate: f64,
    /// Agents in a run.
    pub agents: usize,
    /// How often an agent that was not shown a certain mistake makes it.
    pub recurrence: f64,
}

impl Cell {
    /// Returns how many different mistakes each area invites, so that their share comes out.
    pub fn mistakes_per_area(&self) -> usize {
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

/// Whether a claim is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Holds,
    /// A change in this run made it false.
    Broken {
        run: usize,
    },
    Never,
}

/// Something an agent may say about the codebase.
#[derive(Clone, Debug)]
pub struct Claim {
    pub area: usize,
    pub truth: Truth,
    pub statement: Statement,
    pub severity_milli: u16,
    /// Whether it points at code.
    pub has_anchor: bool,
    /// The last run in which a check saw that code change.
    pub touched: Option<usize>,
}

impl Claim {
    /// Returns whether it is true now.
    pub fn holds(&self) -> bool {
        self.truth == Truth::Holds
    }
}

/// A claim by its number.
pub type ClaimId = usize;

/// Everything there is to know, and to get wrong.
#[derive(Clone, Debug)]
pub struct Codebase {
    pub claims: Vec<Claim>,
    cell: Cell,
    dice: Dice,
}

impl Codebase {
    /// Plants the facts and the mistakes of every area.
    pub fn new(cell: Cell, dice: Dice) -> Self {
        let mut it = Self {
            claims: Vec::new(),
            cell,
            dice,
        };
        for area in 0..AREAS {
            for _ in 0..FACTS_PER_AREA {
                it.plant(area, Truth::Holds);
            }
            for _ in 0..cell.mistakes_per_area() {
                it.plant(area, Truth::Never);
            }
        }
        it
    }

    /// Returns the area a run works in.
    pub fn area(&self, run: usize) -> usize {
        self.dice.pick(About::Area, run, AREAS)
    }

    /// Returns the claims of an area, with their numbers.
    pub fn of_area(&self, area: usize) -> impl Iterator<Item = (ClaimId, &Claim)> {
        let all = self.claims.iter().enumerate();
        all.filter(move |(_, claim)| claim.area == area)
    }

    /// Returns the facts that are true now.
    pub fn facts(&self) -> impl Iterator<Item = ClaimId> + '_ {
        let all = self.claims.iter().enumerate();
        all.filter(|(_, claim)| claim.holds()).map(|(id, _)| id)
    }

    /// Returns the claim a code change before this run breaks, if there is one.
    pub fn next_to_break(&self, run: usize) -> Option<ClaimId> {
        if self.cell.change_rate <= self.dice.roll(About::Change, run, 0, 0) {
            return None;
        }
        let facts: Vec<ClaimId> = self.facts().collect();
        let picked = self.dice.pick(About::ChangedFact, run, facts.len());
        facts.get(picked).copied()
    }

    /// Changes the code so that a claim breaks, before a run.
    pub fn change(&mut self, run: usize, broken: ClaimId) {
        let dice = self.dice;
        let area = self.claims[broken].area;
        for (id, claim) in self.claims.iter_mut().enumerate() {
            let seen = match id == broken {
                true => dice.roll(About::CheckSees, run, id, 0) < CHECK_SEES,
                false => dice.roll(About::FalseAlarm, run, id, 0) < FALSE_ALARM,
            };
            if claim.area == area && claim.has_anchor && seen {
                claim.touched = Some(run);
            }
        }
        self.claims[broken].truth = Truth::Broken { run };
        self.plant(area, Truth::Holds);
    }

    /// Changes what agents are like, and how often code changes, from now on; for tests.
    pub fn set_cell(&mut self, cell: Cell) {
        self.cell = cell;
    }

    /// Returns whether an agent of a run says a claim.
    pub fn is_found(&self, run: usize, agent: usize, id: ClaimId, seen: Seen) -> bool {
        let alone = match self.claims[id].truth {
            Truth::Holds => self.cell.detection,
            Truth::Broken { .. } | Truth::Never => self.cell.recurrence,
        };
        let probability = match seen {
            Seen::Shown => alone.max(self.cell.priming),
            Seen::Unseen => alone,
        };
        let is_alike = self.dice.roll(About::IsAlike, run, agent, id) < ALIKE;
        let roll = match is_alike {
            true => self.dice.roll(About::FoundByAll, run, 0, id),
            false => self.dice.roll(About::FoundByOne, run, agent, id),
        };
        roll < probability
    }

    /// Returns whether an agent's work succeeds with so many true and false claims before it.
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
        let probability = (SUCCESS_ALONE + helped - misled).clamp(least, most);
        self.dice.roll(About::Outcome, run, agent, 0) < probability
    }

    /// Returns how near a claim is to the work of a run, in [0, 1].
    pub fn relevance(&self, run: usize, id: ClaimId) -> f64 {
        let (least, most) = RELEVANCE;
        least + (most - least) * self.dice.roll(About::Relevance, run, id, 0)
    }

    /// Returns the confidence, in thousandths, an agent names with a finding.
    pub fn confidence_milli(&self, run: usize, agent: usize, id: ClaimId) -> u16 {
        let (least, most) = CONFIDENCE_MILLI;
        between(
            least,
            most,
            self.dice.roll(About::Confidence, run, agent, id),
        )
    }

    fn plant(&mut self, area: usize, truth: Truth) {
        let id = self.claims.len();
        let text = format!("Claim {id} about area {area} holds.");
        self.claims.push(Claim {
            area,
            truth,
            statement: text.parse().expect("a short sentence is a statement"),
            severity_milli: severity_milli(self.dice.roll(About::Severity, id, 0, 0)),
            has_anchor: self.dice.roll(About::HasAnchor, id, 0, 0) < ANCHORED_SHARE,
            touched: None,
        });
    }
}

/// Whether an agent was shown a claim before it worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Shown,
    Unseen,
}

fn severity_milli(roll: f64) -> u16 {
    let class = SEVERE_SHARES.iter().position(|share| roll < *share);
    SEVERITIES_MILLI[class.unwrap_or(SEVERE_SHARES.len())]
}

fn between(least: u16, most: u16, roll: f64) -> u16 {
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
        let code = Codebase::new(MIDDLE, Dice::new(1));
        let (mut all, mut wrong) = (0, 0);
        for run in 0..400 {
            for (id, claim) in code.of_area(run % AREAS) {
                let found = code.is_found(run, 0, id, Seen::Unseen);
                all += usize::from(found);
                wrong += usize::from(found && !claim.holds());
            }
        }
        let share = wrong as f64 / all as f64;
        assert!((share - MIDDLE.false_share).abs() < 0.03, "{share}");
    }

    #[test]
    fn a_change_breaks_one_fact_and_another_takes_its_place() {
        let cell = Cell {
            change_rate: 1.0,
            ..MIDDLE
        };
        let mut code = Codebase::new(cell, Dice::new(1));
        let broken = code.next_to_break(7).unwrap();
        code.change(7, broken);
        assert_eq!(code.claims[broken].truth, Truth::Broken { run: 7 });
        assert_eq!(code.facts().count(), AREAS * FACTS_PER_AREA);
        let still = Cell {
            change_rate: 0.0,
            ..MIDDLE
        };
        assert_eq!(Codebase::new(still, Dice::new(1)).next_to_break(7), None);
    }
}
