//! Selection of shown entries: the best that may be pushed, minus the holdout.
//!
//! As in a briefing of the engine, withheld entries are replaced with the next ones, and entries
//! that matched but had no room are recorded.

use ken_core::ledger::event::Arm;
use ken_core::retrieval::score::{
    DrawSeed, PosteriorDraw, QueryMatch, RankingSignals, ScoreBoosts, hidden_reason,
};
use ken_core::trust::facts::{EntryFacts, Validity};
use ken_core::trust::run::holdout::{assign_entry, holdout_share};
use ken_core::trust::run::{HoldoutAssignment, RunNote};
use ken_core::values::id::EntryId;

use super::{SimulatedRun, Simulation};
use crate::grid::SHOWN_MAX;
use crate::memory::PolicyEntry;

impl Simulation {
    /// Offers the best entries of the area to every agent.
    pub(super) fn surface(&self, work: &mut SimulatedRun) {
        let (pushable, unproven): (Vec<&PolicyEntry>, Vec<&PolicyEntry>) = self
            .ranked(work)
            .into_iter()
            .partition(|stored| self.may_push(stored));
        for (number, agent) in self.agents.iter().enumerate() {
            let mut offers: Vec<HoldoutAssignment> = Vec::new();
            let mut fitting = pushable.iter();
            // Withheld entries take no room: the page is filled with the next ones.
            while work.shown[number].len() < SHOWN_MAX {
                let Some(stored) = fitting.next() else {
                    break;
                };
                let share = holdout_share(&stored.entry, self.review);
                let offer = assign_entry(stored.entry.id, &work.name, agent, &self.agents, share);
                if offer.arm == Arm::Shown {
                    work.shown[number].insert(stored.claim);
                }
                offers.push(offer);
            }
            // Entries behind the last offered one matched but had no room.
            let passed = fitting.chain(&unproven).map(|stored| stored.entry.id);
            // Other policies have no notion of an entry that matched but was not shown.
            let passed: Vec<EntryId> = passed
                .filter(|_| self.policy.records_passed_over())
                .collect();
            work.fitted.extend(offers.iter().map(|offer| offer.entry));
            work.fitted.extend(&passed);
            work.notes.push(RunNote::Pushed {
                agent: agent.clone(),
                offers,
            });
            work.notes.push(RunNote::Passed {
                agent: agent.clone(),
                entries: passed,
            });
        }
    }

    /// Returns whether an entry is shown to agents that did not ask for it.
    pub(super) fn may_show(&self, stored: &PolicyEntry) -> bool {
        self.may_push(stored) && hidden_reason(&stored.entry, &self.facts(stored)).is_none()
    }

    fn may_push(&self, stored: &PolicyEntry) -> bool {
        !self.policy.requires_evidence() || self.review.rediscovery.may_push(&stored.entry)
    }

    /// Returns the validity of the entry's anchor, if the policy checks code.
    pub(super) fn validity(&self, stored: &PolicyEntry) -> Option<Validity> {
        let claim = &self.code.claims[stored.claim];
        self.policy.checks_code().then(|| stored.validity(claim))
    }

    fn facts(&self, stored: &PolicyEntry) -> EntryFacts {
        EntryFacts::from_entry(&stored.entry, self.validity(stored), self.memory.now)
    }

    /// Returns the showable entries of the area, the best first.
    fn ranked(&self, work: &SimulatedRun) -> Vec<&PolicyEntry> {
        let (weights, belief) = (self.policy.weights(), self.review.rediscovery);
        let seed = DrawSeed::new(&work.name, "the work of this run");
        let of_area = |stored: &&PolicyEntry| self.code.claims[stored.claim].area == work.area;
        let mut ranked: Vec<(f64, EntryId)> = Vec::new();
        for stored in self.memory.all().filter(of_area) {
            let facts = self.facts(stored);
            // The core's own rule hides archived, retracted, stale and changed entries.
            if hidden_reason(&stored.entry, &facts).is_some() {
                continue;
            }
            let found = QueryMatch {
                semantic: self.code.relevance(work.number, stored.claim),
                in_thread: false,
            };
            // One reproducible Thompson draw per run and entry, as in the engine.
            let draw = PosteriorDraw::Of(seed, stored.entry.id);
            let signals = RankingSignals::from_facts(&facts, found, draw, self.memory.now);
            let mut explained = signals.explain(&weights, ScoreBoosts::default());
            explained.discount(belief.score_factor(&stored.entry));
            ranked.push((explained.score, stored.entry.id));
        }
        // Ties are broken by id, so that the same seed gives the same page.
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let ranked = ranked.into_iter();
        ranked.filter_map(|(_, id)| self.memory.get(id)).collect()
    }
}
