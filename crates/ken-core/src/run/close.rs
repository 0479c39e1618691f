//! What becomes of the entries a run touched, once it ends.
//!
//! Everything is decided here, from the run's notes and the entries as they stand, and written down: replay
//! asks nobody. Two things are kept apart throughout. *Truth* moves only by an independent finding: it
//! refreshes, restores and verifies. *Utility* moves by outcomes of work that used an entry, and never makes
//! a claim truer.

use std::collections::{BTreeMap, BTreeSet};

use super::exposure::{Sight, is_kin};
use super::written::same_claim;
use super::{Agent, Manner, Run, Witness};
use crate::actor::Actor;
use crate::entry::{Entry, Seen};
use crate::event::{
    ArchiveReason, Arm, Body, Effect, Outcome, Overlay, Provenance, Recorded, RunClosed, Trial,
};
use crate::facts::Validity;
use crate::id::EntryId;
use crate::kind::Memory;
use crate::posterior::outcome_weight;
use crate::review::ReviewPolicy;
use crate::status::Status;
use crate::text::Tag;
use crate::time::{Date, Timestamp};

/// How a run ended, as whoever closes it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub outcome: Outcome,
    pub quality_milli: Option<u16>,
    pub rounds: u32,
    pub cost_micros: u64,
    pub strategy: Option<Tag>,
}

impl Ending {
    /// The ending of a run that nobody judged.
    pub fn abandoned() -> Self {
        Self {
            outcome: Outcome::Abandoned,
            quality_milli: None,
            rounds: 0,
            cost_micros: 0,
            strategy: None,
        }
    }
}

/// An entry a run touched, and what is known beside its events.
#[derive(Clone, Debug)]
pub struct Touched {
    pub entry: Entry,
    pub validity: Validity,
    /// The entry and its copies: whoever saw one of them saw all.
    pub same: BTreeSet<EntryId>,
    /// The agents whose findings say the same.
    pub found_by: BTreeSet<Actor>,
    /// Whose word the entry is, where names are proven: nobody confirms its own. Empty where a name is but a claim, and
    /// what tells agents apart is what they saw.
    pub authors: BTreeSet<Actor>,
}

/// What closing a run decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Closing {
    pub closed: RunClosed,
    pub effects: Vec<Effect>,
    /// Entries that were found again, and how that came about.
    pub found: BTreeMap<EntryId, Provenance>,
    pub restored: Vec<EntryId>,
    pub archived: Vec<EntryId>,
    pub promoted: BTreeMap<EntryId, Status>,
}

/// Returns `entries`, which `run` touched, with what it has to do with them; `validity` is what the code says of one.
///
/// What a newer ken wrote this one may only read, and leaves out. Whose words they are is for the caller to say.
pub fn touched(
    run: &Run,
    entries: Vec<Entry>,
    validity: impl Fn(EntryId) -> Validity,
) -> Vec<Touched> {
    let mut found_by = run.found_by();
    let entries = entries.into_iter().filter(|it| !it.is_read_only());
    let touched = entries.map(|entry| Touched {
        validity: validity(entry.id),
        same: same_claim(run, &entry),
        found_by: found_by.remove(&entry.id).unwrap_or_default(),
        authors: BTreeSet::new(),
        entry,
    });
    let mut touched: Vec<Touched> = touched.collect();
    touched.sort_by_key(|it| it.entry.id);
    touched
}

/// Returns whose word an entry is: those who worded it, and those who say what it rests on.
pub fn authors(entry: &Entry, history: &[Recorded]) -> BTreeSet<Actor> {
    let worded = history.iter().map(|it| &it.event).filter(|it| {
        matches!(
            it.body,
            Body::Proposed(_) | Body::Revised(_) | Body::Merged(_)
        )
    });
    let worded = worded.map(|it| it.by.clone());
    let cited = entry.citations.iter().map(|it| it.cited_by.clone());
    let created = entry.created.iter().map(|it| it.by.clone());
    worded.chain(cited).chain(created).collect()
}

/// Decides what becomes of `touched`; `before` is what an agent's session saw before the run.
pub fn close(
    run: &Run,
    ending: &Ending,
    touched: &[Touched],
    before: &dyn Fn(&Actor) -> Sight,
    policy: ReviewPolicy,
    now: Timestamp,
) -> Closing {
    let mut closing = Closing {
        closed: RunClosed {
            run: run.id.clone(),
            outcome: ending.outcome,
            quality_milli: ending.quality_milli,
            rounds: ending.rounds,
            cost_micros: ending.cost_micros,
            strategy: ending.strategy.clone(),
            agents: run.agents.keys().cloned().collect(),
            roles: run.roles(),
            thread: run.thread.clone(),
            duration_ms: run.duration_ms(ending.outcome, now),
            accessed: 0,
            extracted: run.count_added(),
        },
        effects: Vec::new(),
        found: BTreeMap::new(),
        restored: Vec::new(),
        archived: Vec::new(),
        promoted: BTreeMap::new(),
    };
    let sights = run.agents.keys().map(|agent| (agent, before(agent)));
    let closer = Closer {
        run,
        ending,
        before: sights.collect(),
        today: now.date(),
    };
    for it in touched {
        closer.decide(it, policy, &mut closing);
    }
    closing.closed.accessed = closing.effects.iter().map(|it| it.shown).sum();
    closing
}

struct Closer<'a> {
    run: &'a Run,
    ending: &'a Ending,
    before: BTreeMap<&'a Actor, Sight>,
    today: Date,
}

impl Closer<'_> {
    fn decide(&self, it: &Touched, policy: ReviewPolicy, closing: &mut Closing) {
        let id = it.entry.id;
        let effect = self.effect(it);
        let found = self.found(it);
        let is_confirmed = found == Some(Provenance::Independent);
        if let Some(provenance) = found.filter(|_| it.entry.retracted.is_none()) {
            closing.found.insert(id, provenance);
        }
        if is_confirmed && is_laid_aside_by_silence(&it.entry) {
            closing.restored.push(id);
        }
        let seen = it.entry.since_confirmation();
        let seen = Seen {
            shown: seen.shown + u64::from(effect.shown),
            blind: seen.blind + u64::from(effect.blind),
        };
        if !is_confirmed && self.counts() && may_fade(&it.entry) && policy.is_over(seen) {
            closing.archived.push(id);
        }
        if let Some(status) = self.promotion(&it.entry, is_confirmed) {
            closing.promoted.insert(id, status);
        }
        if !is_nothing(&effect) {
            closing.effects.push(effect);
        }
    }

    /// Whether the run is a review: somebody asked for it, and it was seen to its end.
    fn counts(&self) -> bool {
        self.run.manner == Manner::Explicit && self.run.is_seen_out(self.ending.outcome)
    }

    fn effect(&self, it: &Touched) -> Effect {
        let id = it.entry.id;
        let agents = || self.run.agents.iter();
        let saw = |agent: &Agent| agent.shown.contains_key(&id) || agent.told.contains(&id);
        let shown = agents().any(|(_, agent)| saw(agent));
        let blind =
            self.counts() && agents().any(|(name, agent)| self.had_a_chance(name, agent, it));
        let weight = match self.run.uses(id) {
            true => self.weight(it),
            false => (0, 0),
        };
        Effect {
            entry: id,
            alpha_milli: weight.0,
            beta_milli: weight.1,
            shown: u32::from(shown),
            blind: u32::from(blind),
            since: it.entry.confirmation.by.filter(|_| self.counts()),
            trials: agents()
                .filter_map(|(_, agent)| self.trial(agent, id))
                .collect(),
        }
    }

    /// Whether an agent could have found the entry without having seen it: it fitted the work, and chance or want
    /// of room kept it away. Agents of one run are alike, so a run is one chance, however many of them were blind.
    fn had_a_chance(&self, name: &Actor, agent: &Agent, it: &Touched) -> bool {
        let id = it.entry.id;
        let offer = agent.offers.get(&id);
        let withheld = offer.is_some_and(|offer| offer.arm == Arm::Withheld);
        (withheld || agent.passed.contains(&id))
            && self.provenance(name, it) == Provenance::Independent
    }

    fn provenance(&self, agent: &Actor, it: &Touched) -> Provenance {
        match self.before.get(agent) {
            Some(_) if self.run.speaks_for(agent, &it.authors) => Provenance::Unwitnessed,
            Some(before) => self.run.provenance(agent, &it.same, before),
            None => Provenance::Unwitnessed,
        }
    }

    /// Returns how the entry was found again, if it was: one independent finding is enough.
    fn found(&self, it: &Touched) -> Option<Provenance> {
        let all = it.found_by.iter().map(|agent| self.provenance(agent, it));
        let all: BTreeSet<Provenance> = all.collect();
        let of = |wanted| all.contains(&wanted).then_some(wanted);
        // Of a run that was swept nobody knows what else happened in it.
        let independent = of(Provenance::Independent);
        match self.run.is_seen_out(self.ending.outcome) {
            true => independent,
            false => independent.map(|_| Provenance::Unwitnessed),
        }
        .or(of(Provenance::Primed))
        .or(of(Provenance::Unwitnessed))
    }

    /// Returns what the outcome adds to alpha and beta, in thousandths.
    fn weight(&self, it: &Touched) -> (u32, u32) {
        let mut weight = outcome_weight(self.ending.outcome, self.ending.quality_milli);
        if self.ending.outcome == Outcome::Succeeded {
            weight.alpha += it.entry.mastery_bonus(it.validity, self.today);
        }
        (milli(weight.alpha), milli(weight.beta))
    }

    /// Returns what one agent's work says about the entry: its own outcome, or the run's if it was alone.
    fn trial(&self, agent: &Agent, entry: EntryId) -> Option<Trial> {
        let offer = agent.offers.get(&entry)?;
        let alone = (self.run.agents.len() == 1).then_some(self.ending.outcome);
        let succeeded = match agent.outcome.or(alone)? {
            Outcome::Succeeded => true,
            Outcome::Failed => false,
            Outcome::Abandoned => return None,
        };
        (0 < offer.propensity_milli).then_some(Trial {
            arm: offer.arm,
            propensity_milli: offer.propensity_milli,
            succeeded,
        })
    }

    /// Returns the status an entry rises to: active if the run it came from succeeded, verified if somebody
    /// found it who had not seen it. Norms rise by a person's word only.
    fn promotion(&self, entry: &Entry, is_confirmed: bool) -> Option<Status> {
        if entry.id.prefix().memory() == Memory::Procedural {
            return None;
        }
        let source = entry.created.as_ref().and_then(|it| it.run.as_ref());
        let is_source = source.is_some_and(|source| source.id == self.run.id);
        let succeeded = self.ending.outcome == Outcome::Succeeded;
        match entry.status.value {
            Status::Candidate | Status::Active | Status::Stale if is_confirmed => {
                Some(Status::Verified)
            }
            Status::Candidate if is_source && succeeded => Some(Status::Active),
            Status::Candidate
            | Status::Active
            | Status::Verified
            | Status::Stale
            | Status::Rejected => None,
        }
    }
}

impl Run {
    /// Returns whether somebody saw the run to its end: whoever says how it went, or hooks that saw the conversation
    /// of whoever opened it end, about whose success nobody said anything.
    pub fn is_seen_out(&self, outcome: Outcome) -> bool {
        let main = self.agents.get(&self.by);
        let ended = main.is_some_and(|it| it.outcome.is_some());
        match outcome {
            Outcome::Succeeded | Outcome::Failed => true,
            Outcome::Abandoned => self.witness == Witness::Hooks && ended,
        }
    }

    /// Returns how long it took, if it ends `now`: whoever says how work went ended it then. When work ended that nobody
    /// saw to its end is not known, only until when there was any.
    fn duration_ms(&self, outcome: Outcome, now: Timestamp) -> u64 {
        let end = match outcome {
            Outcome::Succeeded | Outcome::Failed => self.last.max(now),
            Outcome::Abandoned => self.last,
        };
        end.millis_since(self.opened)
    }

    /// Returns who found the entries that say what was found.
    fn found_by(&self) -> BTreeMap<EntryId, BTreeSet<Actor>> {
        let mut found_by: BTreeMap<EntryId, BTreeSet<Actor>> = BTreeMap::new();
        for (name, agent) in &self.agents {
            for id in agent.findings.iter().flat_map(|it| &it.says) {
                found_by.entry(*id).or_default().insert(name.clone());
            }
        }
        found_by
    }

    /// Returns whether what `agent` found may be the word of one of `authors`, under whatever name.
    fn speaks_for(&self, agent: &Actor, authors: &BTreeSet<Actor>) -> bool {
        let spoke = self.speakers(agent);
        let is_ones = |author: &Actor| spoke.iter().any(|it| is_kin(it, author));
        authors.iter().any(is_ones)
    }

    /// Returns how many entries its agents wrote.
    fn count_added(&self) -> u32 {
        let added: usize = self.agents.values().map(|it| it.added.len()).sum();
        u32::try_from(added).unwrap_or(u32::MAX)
    }

    /// Returns how many agents had each role.
    fn roles(&self) -> BTreeMap<Tag, u32> {
        let mut roles = BTreeMap::new();
        for role in self.agents.values().filter_map(|it| it.member.role.clone()) {
            *roles.entry(role).or_default() += 1;
        }
        roles
    }
}

/// Whether an entry was laid aside because nobody found it; what a person laid aside or took back stays there.
fn is_laid_aside_by_silence(entry: &Entry) -> bool {
    let archived = entry
        .archived
        .as_ref()
        .filter(|_| entry.retracted.is_none());
    archived.is_some_and(|it| it.because != ArchiveReason::Manual)
}

/// Whether silence may lay an entry aside: not norms, which bind until a person lifts them, and not what a
/// person pinned.
fn may_fade(entry: &Entry) -> bool {
    let is_norm = entry.id.prefix().memory() == Memory::Procedural;
    entry.is_live() && !is_norm && !entry.is_marked(Overlay::Pin)
}

fn is_nothing(effect: &Effect) -> bool {
    let weight = effect.alpha_milli + effect.beta_milli;
    weight + effect.shown + effect.blind == 0 && effect.trials.is_empty()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "weights are small and positive"
)]
fn milli(weight: f64) -> u32 {
    libm::round(weight * 1000.0) as u32
}
