//! Poisoning: how many false claims of other organizations reach readers, under three rules.
//!
//! Honest, careless and hostile organizations publish claims about the same questions. Readers ask,
//! are shown at most [`PEER_HITS_MAX`] claims, and sometimes report whether a claim held. The rules
//! differ in what a report changes and in who may report:
//!
//! - *confirmations*: one confidence for everybody, +0.1 per confirmation and −0.15 per flag. Any
//!   key may confirm, its own claims included, and again every day;
//! - *confirmations, once*: the same with one word per key and claim;
//! - *average*: the share of favorable votes of everybody, one vote per key and claim;
//! - *peers*: the rules of `ken_core::federation`. A person approves each wording, each reader
//!   trusts each publisher by its own observations, and keys that no person added count for
//!   nothing.
//!
//! Reports of all readers are pooled in the first two rules, which is to their advantage.

mod report;

use ken_core::federation::trust::{FAILURE_MILLI, SUCCESS_MILLI};
use ken_core::federation::{PeerTrust, foreign_weight};
use ken_core::retrieval::ranking::PEER_HITS_MAX;
use serde::Serialize;

use crate::dice::{DrawPurpose, SeededDice};

pub use report::{
    MIDDLE_POISONING, PoisoningResult, compare_rules, poisoning_cells, poisoning_tables,
};

/// Number of questions that claims are about.
const QUESTIONS: usize = 40;
/// Length of a simulation in days.
pub const DAYS: usize = 180;
/// Claims are published in the first days.
const PUBLISHING_DAYS: usize = 90;
/// Number of organizations that read and report. They publish nothing.
const READERS: usize = 6;
/// Questions that a reader asks per day.
const ASKED_PER_DAY: usize = 6;
/// Share of questions about which an organization publishes a claim.
const COVERAGE: f64 = 0.4;
/// Share of shown claims about which a reader reports whether they held.
const REPORTING: f64 = 0.3;
/// Share of reports that are right.
const REPORT_ACCURACY: f64 = 0.85;
/// Share of true wordings that a person approves.
const APPROVED_TRUE: f64 = 0.95;
/// Reports against an approved claim after which a person rejects it.
const COMPLAINTS_MAX: u8 = 2;
/// Day from which a patient attacker publishes false claims; before it publishes true ones.
const PATIENT_DAY: usize = 60;

/// Start, step up and step down of the confidence in the rule of confirmations.
const CONFIRMATION: (f64, f64, f64) = (0.5, 0.1, 0.15);

/// Honest organizations, and the share of their claims that is false.
const HONEST: (usize, f64) = (5, 0.05);
/// Careless organizations, and the share of their claims that is false.
const CARELESS: (usize, f64) = (2, 0.3);

/// What varies between cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PoisoningCell {
    /// Hostile organizations that a person of every reader was talked into adding.
    pub attackers: usize,
    /// Keys of each hostile organization.
    pub keys: usize,
    /// Whether attackers publish true claims first.
    pub is_patient: bool,
    /// Share of false wordings that a person approves.
    pub approved_false: f64,
}

/// How claims are shared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum SharingRule {
    /// Shown from this confidence.
    Confirmations(f64),
    /// Shown from this confidence; a key confirms a claim once.
    ConfirmationsOnce(f64),
    /// Shown from this share of favorable votes.
    Average(f64),
    Peers,
}

impl SharingRule {
    /// Returns whether a key may confirm or flag a claim again.
    fn repeats(self) -> bool {
        match self {
            Self::Confirmations(_) => true,
            Self::ConfirmationsOnce(_) | Self::Average(_) | Self::Peers => false,
        }
    }

    /// Returns the rule with another threshold; peers have none.
    #[must_use]
    pub fn with_threshold(self, threshold: f64) -> Self {
        match self {
            Self::Confirmations(_) => Self::Confirmations(threshold),
            Self::ConfirmationsOnce(_) => Self::ConfirmationsOnce(threshold),
            Self::Average(_) => Self::Average(threshold),
            Self::Peers => Self::Peers,
        }
    }

    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmations(_) => "confirmations",
            Self::ConfirmationsOnce(_) => "confirmations, once",
            Self::Average(_) => "average",
            Self::Peers => "peers",
        }
    }
}

/// Result of one simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PoisoningFigures {
    /// False claims among those shown.
    pub false_share: f64,
    /// False claims of hostile organizations among those shown.
    pub hostile_share: f64,
    /// Answers with a true claim among those in which one was published.
    pub retained: f64,
    /// Number of times a false claim of a hostile organization was shown.
    pub hostile_shown: f64,
    /// Median days between the first and the last time a false claim was shown.
    pub days_on_display: f64,
}

/// One published claim.
#[derive(Clone, Copy, Debug)]
struct SharedClaim {
    question: usize,
    organization: usize,
    is_true: bool,
    is_hostile: bool,
    day: usize,
}

/// State of the rules.
struct SharingState {
    rule: SharingRule,
    confidence: Vec<f64>,
    /// Favorable and unfavorable votes.
    votes: Vec<(f64, f64)>,
    /// Trust of each reader in each publisher.
    trust: Vec<Vec<PeerTrust>>,
    /// Whether a person of each reader lets a claim be shown.
    approved: Vec<Vec<bool>>,
    complaints: Vec<Vec<u8>>,
    /// Whether a reader reported about a claim before.
    reported: Vec<Vec<bool>>,
}

/// Runs one simulation.
pub fn simulate_poisoning(cell: PoisoningCell, rule: SharingRule, seed: u64) -> PoisoningFigures {
    let dice = SeededDice::new(seed);
    let claims = publish_claims(cell, dice);
    let mut state = SharingState::new(rule, claims.len(), cell);
    let mut counts = ShownCounts::new(claims.len());
    for day in 0..DAYS {
        for (number, claim) in claims.iter().enumerate() {
            if claim.day == day {
                state.publish(number, claim, cell, dice);
            }
            let is_pushed = claim.day == day || claim.day < day && state.rule.repeats();
            if claim.is_hostile && !claim.is_true && is_pushed {
                state.push(number, cell.keys);
            }
        }
        for turn in 0..READERS * ASKED_PER_DAY {
            let reader = turn / ASKED_PER_DAY;
            let place = day * READERS * ASKED_PER_DAY + turn;
            let question = dice.pick(DrawPurpose::Asked, place, QUESTIONS);
            let shown = state.answer(&claims, reader, question, (day, dice));
            counts.count(&claims, question, day, &shown);
            for number in shown {
                let is_reported = dice.roll(DrawPurpose::Report, place, number, 0) < REPORTING;
                let is_right = dice.roll(DrawPurpose::Report, place, number, 1) < REPORT_ACCURACY;
                if is_reported {
                    // A wrong report calls a true claim false, or the reverse.
                    let has_held = claims[number].is_true == is_right;
                    state.report(reader, number, claims[number].organization, has_held);
                }
            }
        }
    }
    counts.figures()
}

/// Returns the claims of all organizations.
fn publish_claims(cell: PoisoningCell, dice: SeededDice) -> Vec<SharedClaim> {
    let mut claims = Vec::new();
    let (careless, hostile) = (HONEST.0, HONEST.0 + CARELESS.0);
    for organization in 0..hostile + cell.attackers {
        let is_hostile = organization >= hostile;
        let false_share = if organization < careless {
            HONEST.1
        } else {
            CARELESS.1
        };
        for question in 0..QUESTIONS {
            let roll = |third| dice.roll(DrawPurpose::Publication, organization, question, third);
            if roll(0) >= COVERAGE {
                continue;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a small count"
            )]
            let day = (roll(1) * PUBLISHING_DAYS as f64) as usize;
            let is_true = if is_hostile {
                cell.is_patient && day < PATIENT_DAY
            } else {
                roll(2) >= false_share
            };
            claims.push(SharedClaim {
                question,
                organization,
                is_true,
                is_hostile,
                day,
            });
        }
    }
    claims
}

impl SharingState {
    fn new(rule: SharingRule, claims: usize, cell: PoisoningCell) -> Self {
        let organizations = HONEST.0 + CARELESS.0 + cell.attackers;
        Self {
            rule,
            confidence: vec![CONFIRMATION.0; claims],
            votes: vec![(0.0, 0.0); claims],
            trust: vec![vec![PeerTrust::default(); organizations]; READERS],
            approved: vec![vec![false; claims]; READERS],
            complaints: vec![vec![0; claims]; READERS],
            reported: vec![vec![false; claims]; READERS],
        }
    }

    /// A person of each reader approves or rejects the wording; votes begin with the publisher's.
    fn publish(
        &mut self,
        number: usize,
        claim: &SharedClaim,
        cell: PoisoningCell,
        dice: SeededDice,
    ) {
        // Attackers vote with every key, once each.
        let keys = if claim.is_hostile { cell.keys } else { 1 };
        self.votes[number].0 += keys as f64;
        let share = if claim.is_true {
            APPROVED_TRUE
        } else {
            cell.approved_false
        };
        for reader in 0..READERS {
            let is_approved = dice.roll(DrawPurpose::Approval, number, reader, 0) < share;
            self.approved[reader][number] = is_approved;
            if !is_approved {
                observe(&mut self.trust[reader][claim.organization], false);
            }
        }
    }

    /// An attacker confirms its own claim with each of its keys.
    fn push(&mut self, number: usize, keys: usize) {
        let raised = self.confidence[number] + CONFIRMATION.1 * keys as f64;
        self.confidence[number] = raised.min(1.0);
    }

    /// Returns the claims that a reader is shown, best first.
    fn answer(
        &self,
        claims: &[SharedClaim],
        reader: usize,
        question: usize,
        (day, dice): (usize, SeededDice),
    ) -> Vec<usize> {
        let about = claims.iter().enumerate();
        let about = about.filter(|(_, it)| it.question == question && it.day <= day);
        let mut scored: Vec<(f64, f64, usize)> = about
            .filter_map(|(number, claim)| {
                let score = self.score(reader, number, claim)?;
                // Equal scores are ordered at random, but always in the same way.
                Some((
                    score,
                    dice.roll(DrawPurpose::Approval, number, reader, 1),
                    number,
                ))
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        scored.truncate(PEER_HITS_MAX);
        scored.into_iter().map(|(_, _, number)| number).collect()
    }

    /// Returns the score of a claim, or `None` if it is not shown.
    fn score(&self, reader: usize, number: usize, claim: &SharedClaim) -> Option<f64> {
        match self.rule {
            SharingRule::Confirmations(threshold) | SharingRule::ConfirmationsOnce(threshold) => {
                let confidence = self.confidence[number];
                (confidence >= threshold).then_some(confidence)
            }
            SharingRule::Average(threshold) => {
                let (favorable, against) = self.votes[number];
                let share = (favorable + 1.0) / (favorable + against + 2.0);
                (share >= threshold).then_some(share)
            }
            SharingRule::Peers => self.approved[reader][number].then(|| {
                let trust = self.trust[reader][claim.organization];
                foreign_weight(trust.score(), 1, None)
            }),
        }
    }

    /// A reader reports whether a claim held.
    fn report(&mut self, reader: usize, number: usize, organization: usize, has_held: bool) {
        let is_first = !std::mem::replace(&mut self.reported[reader][number], true);
        if is_first || self.rule.repeats() {
            let (_, up, down) = CONFIRMATION;
            let step = if has_held { up } else { -down };
            self.confidence[number] = (self.confidence[number] + step).clamp(0.0, 1.0);
            let (favorable, against) = &mut self.votes[number];
            *if has_held { favorable } else { against } += 1.0;
        }
        self.complaints[reader][number] += u8::from(!has_held);
        observe(&mut self.trust[reader][organization], has_held);
        if self.complaints[reader][number] >= COMPLAINTS_MAX && self.approved[reader][number] {
            self.approved[reader][number] = false;
            observe(&mut self.trust[reader][organization], false);
        }
    }
}

/// Counts an observation as `ken feedback` and `ken remote peer reject` do.
fn observe(trust: &mut PeerTrust, has_held: bool) {
    if has_held {
        trust.observe(SUCCESS_MILLI, 0);
    } else {
        trust.observe(0, FAILURE_MILLI);
    }
}

/// What was shown in a simulation.
struct ShownCounts {
    shown: usize,
    wrong: usize,
    hostile: usize,
    answerable: usize,
    answered: usize,
    /// First and last day on which each false claim was shown.
    display: Vec<Option<(usize, usize)>>,
}

impl ShownCounts {
    fn new(claims: usize) -> Self {
        Self {
            shown: 0,
            wrong: 0,
            hostile: 0,
            answerable: 0,
            answered: 0,
            display: vec![None; claims],
        }
    }

    fn count(&mut self, claims: &[SharedClaim], question: usize, day: usize, shown: &[usize]) {
        let mut published = claims.iter().filter(|it| it.question == question);
        if published.any(|it| it.day <= day && it.is_true) {
            self.answerable += 1;
            let has_true = shown.iter().any(|number| claims[*number].is_true);
            self.answered += usize::from(has_true);
        }
        for number in shown {
            let claim = &claims[*number];
            self.shown += 1;
            if !claim.is_true {
                self.wrong += 1;
                self.hostile += usize::from(claim.is_hostile);
                let display = &mut self.display[*number];
                *display = Some((display.map_or(day, |(first, _)| first), day));
            }
        }
    }

    fn figures(self) -> PoisoningFigures {
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        let days = self.display.iter().flatten();
        let mut days: Vec<usize> = days.map(|(first, last)| last - first).collect();
        days.sort_unstable();
        let median = days.get(days.len() / 2).copied().unwrap_or_default();
        PoisoningFigures {
            false_share: share(self.wrong, self.shown),
            hostile_share: share(self.hostile, self.shown),
            retained: share(self.answered, self.answerable),
            hostile_shown: self.hostile as f64,
            days_on_display: median as f64,
        }
    }
}
