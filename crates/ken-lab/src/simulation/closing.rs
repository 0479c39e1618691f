//! What a policy writes down when a run ends.
//!
//! The core closes the run for every policy. Ken writes what the core decided; the others put their own rule
//! in the place of what makes claims truer or lays them aside, and keep the rest.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::decide::{self, Draft};
use ken_core::entry::Entry;
use ken_core::event::{ArchiveReason, Channel, Outcome, Provenance, RetractReason};
use ken_core::facts::Validity;
use ken_core::id::EntryId;
use ken_core::run::Run;
use ken_core::run::accumulate::Gain;
use ken_core::run::close::{Closing, Ending, Touched, close};
use ken_core::run::exposure::Sight;
use ken_core::status::Status;

use super::{Simulation, Work};
use crate::accumulation::gain;
use crate::memory::{Held, Source};
use crate::policy::{Policy, Renewal};
use crate::world::ClaimId;

impl Simulation {
    /// Closes the run and writes down what follows.
    pub(super) fn close(&mut self, work: &Work) {
        let run = self.add_up(work);
        let outcome = match self.agents.len() <= 2 * work.succeeded {
            true => Outcome::Succeeded,
            false => Outcome::Failed,
        };
        let ending = Ending {
            outcome,
            quality_milli: None,
            rounds: 1,
            cost_micros: 0,
            strategy: None,
        };
        let touched = self.touched(work);
        let review = self.policy.review();
        let now = self.memory.now;
        let mut closing = close(&run, &ending, &touched, &|_| Sight::default(), review, now);
        self.apply_policy(&touched, &run, outcome, work, &mut closing);
        self.write(&touched, &closing);
        self.take_up(&run, outcome, work);
    }

    /// Lays aside what the policy finds too old.
    pub(super) fn forget_what_is_too_old(&mut self) {
        let today = self.memory.now.date();
        let old = self.memory.all().filter(|held| {
            let last = held.entry.confirmation.last;
            let age = last.map_or(0, |last| today.days_since(last));
            held.entry.is_live() && self.policy.is_too_old(age)
        });
        let old: Vec<Entry> = old.map(|held| held.entry.clone()).collect();
        for entry in old {
            self.tell(decide::archive(&entry, ArchiveReason::Age).map(|it| [it]));
        }
        self.memory.settle();
    }

    /// Takes a claim back, as a person.
    pub(super) fn retract(&mut self, claim: ClaimId) {
        let held = self.memory.of_claim(claim);
        let Some(entry) = held.map(|held| held.entry.clone()) else {
            return;
        };
        let retracted = decide::retract(&entry, RetractReason::False, Channel::Command, None);
        self.tell(retracted.map(|it| [it]));
        if !self.policy.has_tombstones() {
            self.memory.delete(claim);
        }
        self.retracted.insert(claim);
    }

    /// Returns the entries that fitted somebody's work or were found by somebody.
    fn touched(&self, work: &Work) -> Vec<Touched> {
        let found = work.found.keys().filter_map(|id| self.memory.of_claim(*id));
        let found = found.map(|held| held.entry.id);
        let ids: BTreeSet<EntryId> = found.chain(work.fitted.iter().copied()).collect();
        let held = ids.into_iter().filter_map(|id| self.memory.get(id));
        held.map(|held| self.touch(held, work)).collect()
    }

    fn touch(&self, held: &Held, work: &Work) -> Touched {
        let words = work.found.get(&held.claim).into_iter().flatten();
        Touched {
            entry: held.entry.clone(),
            validity: self.validity(held).unwrap_or(Validity::Unverifiable),
            same: BTreeSet::from([held.entry.id]),
            found_by: words
                .map(|(agent, _)| self.agents[*agent].clone())
                .collect(),
            authors: BTreeSet::new(),
        }
    }

    /// Puts the policy's own rule in the place of the core's, for every policy but Ken.
    fn apply_policy(
        &self,
        touched: &[Touched],
        run: &Run,
        outcome: Outcome,
        work: &Work,
        closing: &mut Closing,
    ) {
        if let Policy::Ken { .. } = self.policy {
            return;
        }
        let mut confirmed = BTreeSet::new();
        let mut restored = Vec::new();
        for it in touched {
            let id = it.entry.id;
            let is_aside = it.entry.archived.is_some();
            if is_aside && self.is_taken_up_again(it, run, outcome, work) {
                restored.push(id);
                confirmed.insert(id);
            }
            if !is_aside && self.confirms(it, run) {
                confirmed.insert(id);
            }
        }
        closing.archived.retain(|id| !confirmed.contains(id));
        closing.promoted = match self.policy {
            Policy::Reinforcement { .. } => {
                let is_new = |it: &&Touched| it.entry.status.value != Status::Verified;
                let ids = touched.iter().filter(is_new).map(|it| it.entry.id);
                let rising = ids.filter(|id| confirmed.contains(id));
                rising.map(|id| (id, Status::Verified)).collect()
            }
            Policy::Ken { .. }
            | Policy::KeepEverything { .. }
            | Policy::TimeDecay { .. }
            | Policy::Citation { .. } => BTreeMap::new(),
        };
        let independent = confirmed
            .into_iter()
            .map(|id| (id, Provenance::Independent));
        closing.found = independent.collect();
        closing.restored = restored;
    }

    /// Returns whether the run confirms an entry in the eyes of a policy other than Ken.
    fn confirms(&self, it: &Touched, run: &Run) -> bool {
        let id = it.entry.id;
        let mut agents = run.agents.values();
        match self.policy {
            Policy::Ken { .. } | Policy::KeepEverything { .. } => false,
            Policy::Reinforcement { .. } => !it.found_by.is_empty(),
            Policy::TimeDecay { .. } => agents.any(|agent| agent.shown.contains_key(&id)),
            Policy::Citation { renewal, .. } => match renewal {
                Renewal::Never => false,
                Renewal::Use => {
                    it.validity != Validity::Changed && agents.any(|agent| agent.used.contains(&id))
                }
            },
        }
    }

    /// Returns whether findings are enough to bring back what a policy other than Ken laid aside.
    fn is_taken_up_again(&self, it: &Touched, run: &Run, outcome: Outcome, work: &Work) -> bool {
        let claim = self.memory.get(it.entry.id).map(|held| held.claim);
        claim.is_some_and(|claim| self.gains(claim, run, outcome, work).is_some())
    }

    fn gains(&self, claim: ClaimId, run: &Run, outcome: Outcome, work: &Work) -> Option<Gain> {
        let words = work.found.get(&claim)?;
        let words = words
            .iter()
            .map(|(agent, finding)| (&self.agents[*agent], finding));
        let words: Vec<_> = words.collect();
        gain(run, outcome, &words, self.policy.gate())
    }

    /// Makes entries of what was found and no entry says.
    fn take_up(&mut self, run: &Run, outcome: Outcome, work: &Work) {
        for claim in work.found.keys().copied() {
            if self.memory.of_claim(claim).is_some() {
                continue;
            }
            let Some(gained) = self.gains(claim, run, outcome, work) else {
                continue;
            };
            let finder = gained.found_by.first();
            let source = Source {
                by: finder.expect("somebody found it"),
                run: &work.name,
                number: work.number,
                outcome,
            };
            let said = &self.code.claims[claim];
            let entry = self.memory.propose(claim, said, gained.kind, source);
            if let Policy::Ken { .. } = self.policy {
                let today = self.memory.now.date();
                self.tell(decide::after_gain(&entry, &gained, run, outcome, today));
            }
        }
    }

    /// Writes what a closing decided.
    fn write(&mut self, touched: &[Touched], closing: &Closing) {
        let today = self.memory.now.date();
        let effects = decide::effects(&closing.closed.run, &closing.effects);
        self.tell(Ok([effects]));
        for it in touched {
            self.tell(decide::after_run(&it.entry, closing, today));
        }
    }

    fn tell(&mut self, drafts: Result<impl IntoIterator<Item = Draft>, decide::Refusal>) {
        for draft in drafts.expect("the core decided it") {
            self.memory.tell(draft, &self.person);
        }
    }
}
