//! What agents are shown: the best of what may be pushed, less what chance withholds.
//!
//! As in a briefing of the engine, the page of an agent from whom entries are withheld is filled with those that
//! come next, and what fitted and had no room is noted.

use ken_core::event::Arm;
use ken_core::facts::{EntryFacts, Validity};
use ken_core::id::EntryId;
use ken_core::review::ReviewPolicy;
use ken_core::run::blind::{is_one_agents_word, may_be_withheld, offer};
use ken_core::run::{Note, Offer};
use ken_core::score::{Boosts, Draw, Match, Seed, Signals, withheld};

use super::{Simulation, Work};
use crate::grid::SHOWN_MAX;
use crate::memory::Held;

impl Simulation {
    /// Offers the best entries of the area to every agent.
    pub(super) fn surface(&self, work: &mut Work) {
        let (said, unsaid): (Vec<&Held>, Vec<&Held>) = self
            .ranked(work)
            .into_iter()
            .partition(|held| self.may_push(held));
        for (number, agent) in self.agents.iter().enumerate() {
            let mut offers: Vec<Offer> = Vec::new();
            let mut fitting = said.iter();
            while work.shown[number].len() < SHOWN_MAX {
                let Some(held) = fitting.next() else {
                    break;
                };
                let share = self.share_milli(held);
                let offer = offer(held.entry.id, &work.name, agent, &self.agents, share);
                if offer.arm == Arm::Shown {
                    work.shown[number].insert(held.claim);
                }
                offers.push(offer);
            }
            let passed = fitting.chain(&unsaid).map(|held| held.entry.id);
            let passed: Vec<EntryId> = passed.filter(|_| self.policy.notes_passed()).collect();
            work.fitted.extend(offers.iter().map(|offer| offer.entry));
            work.fitted.extend(&passed);
            work.notes.push(Note::Pushed {
                agent: agent.clone(),
                offers,
            });
            work.notes.push(Note::Passed {
                agent: agent.clone(),
                entries: passed,
            });
        }
    }

    /// Returns whether an entry is shown to agents that did not ask for it.
    pub(super) fn may_show(&self, held: &Held) -> bool {
        self.may_push(held) && withheld(&held.entry, &self.facts(held)).is_none()
    }

    fn may_push(&self, held: &Held) -> bool {
        !self.policy.waits_for_another() || !is_one_agents_word(&held.entry)
    }

    /// Returns what the code says, where the policy asks it.
    pub(super) fn validity(&self, held: &Held) -> Option<Validity> {
        let claim = &self.code.claims[held.claim];
        self.policy.asks_the_code().then(|| held.validity(claim))
    }

    fn facts(&self, held: &Held) -> EntryFacts {
        EntryFacts::of(&held.entry, self.validity(held), self.memory.now)
    }

    /// Returns the thousandths of agents an entry is withheld from.
    fn share_milli(&self, held: &Held) -> u16 {
        let review: ReviewPolicy = self.policy.review();
        match may_be_withheld(&held.entry) {
            true => {
                let worth = held.entry.tallies.worth();
                review.share_milli(held.entry.since_confirmation(), worth)
            }
            false => 0,
        }
    }

    /// Returns the entries of the area that may be shown, the best first.
    fn ranked(&self, work: &Work) -> Vec<&Held> {
        let weights = self.policy.weights();
        let seed = Seed::new(&work.name, "the work of this run");
        let of_area = |held: &&Held| self.code.claims[held.claim].area == work.area;
        let mut ranked: Vec<(f64, EntryId)> = Vec::new();
        for held in self.memory.all().filter(of_area) {
            let facts = self.facts(held);
            if withheld(&held.entry, &facts).is_some() {
                continue;
            }
            let found = Match {
                semantic: self.code.relevance(work.number, held.claim),
                in_thread: false,
            };
            let draw = Draw::Of(seed, held.entry.id);
            let signals = Signals::of(&facts, found, draw, self.memory.now);
            let score = signals.explain(&weights, Boosts::default()).score;
            ranked.push((score, held.entry.id));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let ranked = ranked.into_iter();
        ranked.filter_map(|(_, id)| self.memory.get(id)).collect()
    }
}
