//! What agents are shown: the best of what may be shown, less what chance withholds.

use ken_core::event::Arm;
use ken_core::facts::{EntryFacts, Validity};
use ken_core::id::EntryId;
use ken_core::review::ReviewPolicy;
use ken_core::run::blind::{may_be_withheld, offer};
use ken_core::run::{Note, Offer};
use ken_core::score::{Boosts, Draw, Match, Seed, Signals, withheld};

use super::{Simulation, Work};
use crate::grid::SHOWN_MAX;
use crate::memory::Held;

impl Simulation {
    /// Offers the best entries of the area to every agent.
    pub(super) fn surface(&self, work: &mut Work) {
        let best = self.best(work);
        for (number, agent) in self.agents.iter().enumerate() {
            let mut offers: Vec<Offer> = Vec::new();
            for held in &best {
                let share = self.share_milli(held);
                let id = held.entry.id;
                let offer = offer(id, &work.name, agent, &self.agents, share);
                if offer.arm == Arm::Shown {
                    work.shown[number].insert(held.claim);
                }
                work.offered.insert(id);
                offers.push(offer);
            }
            work.notes.push(Note::Pushed {
                agent: agent.clone(),
                offers,
            });
        }
    }

    /// Returns whether an entry may be shown to anybody.
    pub(super) fn may_show(&self, held: &Held) -> bool {
        withheld(&held.entry, &self.facts(held)).is_none()
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

    fn best(&self, work: &Work) -> Vec<&Held> {
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
        let best = ranked.into_iter().take(SHOWN_MAX);
        best.filter_map(|(_, id)| self.memory.get(id)).collect()
    }
}
