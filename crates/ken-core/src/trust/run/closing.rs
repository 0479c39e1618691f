//! Closing a run: its effects on the entries it touched.
//!
//! All decisions follow from the run's notes and the current entries, and are recorded as events,
//! so that replay recomputes nothing. Truth and usefulness are separate throughout. Only an
//! independent finding changes *truth*: it refreshes, restores and verifies. Outcomes of work that
//! used an entry change its *usefulness* and never make a claim truer.

use std::collections::{BTreeMap, BTreeSet};

use super::closed::{entries_with_same_claim, known_outcome};
use super::exposure::{ExposureSet, may_be_same_actor};
use super::{AgentActivity, Run, RunMode, RunWitness};
use crate::ledger::entry::{Entry, ExposureCount};
use crate::ledger::event::{
    ArchiveReason, Arm, EntryEffect, EventBody, Outcome, Overlay, Provenance, RecordedEvent,
    RunClosed, TrialResult,
};
use crate::trust::facts::Validity;
use crate::trust::posterior::outcome_weight;
use crate::trust::review::ReviewPolicy;
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::kind::Memory;
use crate::values::status::EntryStatus;
use crate::values::text::Tag;
use crate::values::time::{Date, Timestamp};

/// The end of a run as reported by the actor that closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnding {
    pub outcome: Outcome,
    pub quality_milli: Option<u16>,
    pub rounds: u32,
    pub cost_micros: u64,
    pub strategy: Option<Tag>,
}

impl RunEnding {
    /// Returns the ending of a run without a reported outcome.
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

/// An entry touched by a run, with facts that do not follow from its events.
#[derive(Clone, Debug)]
pub struct TouchedEntry {
    pub entry: Entry,
    pub validity: Validity,
    /// The entry and its copies: an exposure to one is an exposure to all.
    pub same: BTreeSet<EntryId>,
    /// The agents whose findings make the same claim.
    pub found_by: BTreeSet<Actor>,
    /// The authors of the entry, who cannot confirm it. Empty where actor names are unauthenticated
    /// and only exposures distinguish agents.
    pub authors: BTreeSet<Actor>,
}

/// The decisions of closing a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunClosing {
    pub closed: RunClosed,
    pub effects: Vec<EntryEffect>,
    /// Rediscovered entries with the provenance of the finding.
    pub found: BTreeMap<EntryId, Provenance>,
    pub restored: Vec<EntryId>,
    pub archived: Vec<EntryId>,
    pub promoted: BTreeMap<EntryId, EntryStatus>,
}

/// Returns the touched `entries` with their findings; `validity` returns the verdict of one entry.
///
/// Leaves out entries written by a newer version, which are read-only. The caller fills in
/// `authors`.
pub fn collect_touched_entries(
    run: &Run,
    entries: Vec<Entry>,
    validity: impl Fn(EntryId) -> Validity,
) -> Vec<TouchedEntry> {
    let mut found_by = run.finders_by_entry();
    let entries = entries.into_iter().filter(|it| !it.is_read_only());
    let touched = entries.map(|entry| TouchedEntry {
        validity: validity(entry.id),
        same: entries_with_same_claim(run, &entry),
        found_by: found_by.remove(&entry.id).unwrap_or_default(),
        authors: BTreeSet::new(),
        entry,
    });
    let mut touched: Vec<TouchedEntry> = touched.collect();
    touched.sort_by_key(|it| it.entry.id);
    touched
}

/// Returns the authors of an entry's statement and citations.
pub fn entry_authors(entry: &Entry, history: &[RecordedEvent]) -> BTreeSet<Actor> {
    let worded = history.iter().map(|it| &it.event).filter(|event| {
        matches!(
            event.body,
            EventBody::Proposed(_) | EventBody::Revised(_) | EventBody::Merged(_)
        )
    });
    let worded = worded.map(|it| it.by.clone());
    let cited = entry.citations.iter().map(|it| it.cited_by.clone());
    let created = entry.created.iter().map(|it| it.by.clone());
    worded.chain(cited).chain(created).collect()
}

/// Decides the effects on `touched`; `before` returns an agent's exposures before the run.
pub fn close_run(
    run: &Run,
    ending: &RunEnding,
    touched: &[TouchedEntry],
    before: &dyn Fn(&Actor) -> ExposureSet,
    policy: ReviewPolicy,
    now: Timestamp,
) -> RunClosing {
    let mut closing = RunClosing {
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
    // Computed once per agent, because the decisions below ask once per entry and agent.
    let sights = run.agents.keys().map(|agent| (agent, before(agent)));
    let closer = RunCloser {
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

/// The inputs of the decisions for one run.
struct RunCloser<'a> {
    run: &'a Run,
    ending: &'a RunEnding,
    before: BTreeMap<&'a Actor, ExposureSet>,
    today: Date,
}

impl RunCloser<'_> {
    fn decide(&self, it: &TouchedEntry, policy: ReviewPolicy, closing: &mut RunClosing) {
        let id = it.entry.id;
        let effect = self.entry_effect(it);
        let found = self.rediscovery(it);
        let is_confirmed = found == Some(Provenance::Independent);
        // A retracted claim stays retracted, however often agents report it.
        if let Some(provenance) = found.filter(|_| it.entry.retracted.is_none()) {
            closing.found.insert(id, provenance);
        }
        if is_confirmed && is_archived_automatically(&it.entry) {
            closing.restored.push(id);
        }
        // The effect of this run is not folded into the entry yet, so it is added here.
        let before = it.entry.exposures_since_confirmation();
        let seen = ExposureCount {
            shown: before.shown + u64::from(effect.shown),
            blind: before.blind + u64::from(effect.blind),
        };
        let is_silent = policy.archives_entry(&it.entry, seen);
        if !is_confirmed && self.is_review() && may_be_archived(&it.entry) && is_silent {
            closing.archived.push(id);
        }
        if let Some(status) = self.new_status(&it.entry, is_confirmed) {
            closing.promoted.insert(id, status);
        }
        // Events without an effect would only grow the ledger.
        if !is_empty_effect(&effect) {
            closing.effects.push(effect);
        }
    }

    /// Returns whether the run counts as a review: explicit and observed to its end.
    fn is_review(&self) -> bool {
        self.run.manner == RunMode::Explicit && self.run.is_end_observed(self.ending.outcome)
    }

    fn entry_effect(&self, it: &TouchedEntry) -> EntryEffect {
        let id = it.entry.id;
        let agents = || self.run.agents.iter();
        let saw = |agent: &AgentActivity| agent.shown.contains_key(&id) || agent.told.contains(&id);
        let shown = agents().any(|(_, agent)| saw(agent));
        let unseen = if self.is_review() {
            let unseen = agents().filter(|(name, agent)| self.could_rediscover(name, agent, it));
            u32::try_from(unseen.count()).unwrap_or(u32::MAX)
        } else {
            0
        };
        // Showing an entry proves nothing about its usefulness; only its use does.
        let weight = if self.run.uses(id) {
            self.outcome_milli(it)
        } else {
            (0, 0)
        };
        EntryEffect {
            entry: id,
            alpha_milli: weight.0,
            beta_milli: weight.1,
            shown: u32::from(shown),
            blind: unseen.min(1),
            // Older builds do not know this field, so it is written only where it says more.
            unseen: if unseen > 1 { unseen } else { 0 },
            since: it.entry.confirmation.by.filter(|_| self.is_review()),
            source_outcome: self.failure().filter(|_| {
                let mut agents = agents();
                agents.any(|(_, agent)| agent.added.contains(&id))
            }),
            trials: agents()
                .filter_map(|(_, agent)| self.trial(agent, id))
                .collect(),
        }
    }

    /// Returns the outcome if the run failed or was abandoned.
    fn failure(&self) -> Option<Outcome> {
        let outcome = known_outcome(&self.run.id, self.ending.outcome)?;
        matches!(outcome, Outcome::Failed | Outcome::Abandoned).then_some(outcome)
    }

    /// Returns whether an agent could have found the entry independently: it was relevant to the
    /// work but withheld or omitted.
    ///
    /// Agents of one run resemble each other, so a run is one chance however many agents qualify.
    fn could_rediscover(&self, name: &Actor, agent: &AgentActivity, it: &TouchedEntry) -> bool {
        let id = it.entry.id;
        let offer = agent.offers.get(&id);
        let withheld = offer.is_some_and(|offer| offer.arm == Arm::Withheld);
        (withheld || agent.passed.contains(&id))
            && self.provenance(name, it) == Provenance::Independent
    }

    fn provenance(&self, agent: &Actor, it: &TouchedEntry) -> Provenance {
        match self.before.get(agent) {
            Some(_) if self.run.may_be_author(agent, &it.authors) => Provenance::Unwitnessed,
            Some(before) => self.run.provenance(agent, &it.same, before),
            // An agent outside the run has no recorded exposures at all.
            None => Provenance::Unwitnessed,
        }
    }

    /// Returns the provenance of the rediscovery, if any; one independent finding is enough.
    fn rediscovery(&self, it: &TouchedEntry) -> Option<Provenance> {
        let findings = it.found_by.iter().map(|agent| self.provenance(agent, it));
        let all: BTreeSet<Provenance> = findings.collect();
        let of = |wanted| all.contains(&wanted).then_some(wanted);
        // A run closed by timeout may have unrecorded exposures, so independence is not certain.
        let independent = of(Provenance::Independent);
        let best = if self.run.is_end_observed(self.ending.outcome) {
            independent
        } else {
            independent.map(|_| Provenance::Unwitnessed)
        };
        best.or(of(Provenance::Primed))
            .or(of(Provenance::Unwitnessed))
    }

    /// Returns the increments of alpha and beta, in thousandths.
    fn outcome_milli(&self, it: &TouchedEntry) -> (u32, u32) {
        let mut weight = outcome_weight(self.ending.outcome, self.ending.quality_milli);
        if self.ending.outcome == Outcome::Succeeded {
            weight.alpha += it.entry.mastery_bonus(it.validity, self.today);
        }
        (milli(weight.alpha), milli(weight.beta))
    }

    /// Returns the trial of one agent: its own outcome, or the run's if it was the only agent.
    fn trial(&self, agent: &AgentActivity, entry: EntryId) -> Option<TrialResult> {
        let offer = agent.offers.get(&entry)?;
        let alone = (self.run.agents.len() == 1).then_some(self.ending.outcome);
        let succeeded = match agent.outcome.or(alone)? {
            Outcome::Succeeded => true,
            Outcome::Failed => false,
            Outcome::Abandoned => return None,
        };
        // A propensity of 0 means that the entry was exempt, so chance decided nothing.
        (offer.propensity_milli > 0).then_some(TrialResult {
            arm: offer.arm,
            propensity_milli: offer.propensity_milli,
            succeeded,
        })
    }

    /// Returns the new status of an entry, if it rises: active if its source run succeeded,
    /// verified if it was found independently. Only a person raises the status of a norm.
    fn new_status(&self, entry: &Entry, is_confirmed: bool) -> Option<EntryStatus> {
        if entry.id.prefix().memory() == Memory::Procedural {
            return None;
        }
        let source = entry.created.as_ref().and_then(|it| it.run.as_ref());
        let is_source = source.is_some_and(|source| source.id == self.run.id);
        let succeeded = self.ending.outcome == Outcome::Succeeded;
        match entry.status.value {
            EntryStatus::Candidate | EntryStatus::Active | EntryStatus::Stale if is_confirmed => {
                Some(EntryStatus::Verified)
            }
            EntryStatus::Candidate if is_source && succeeded => Some(EntryStatus::Active),
            EntryStatus::Candidate
            | EntryStatus::Active
            | EntryStatus::Verified
            | EntryStatus::Stale
            | EntryStatus::Rejected => None,
        }
    }
}

impl Run {
    /// Returns whether the end of the run was observed.
    ///
    /// A reported outcome implies it. An abandoned run qualifies only if hooks saw the session of
    /// the agent that opened it end.
    pub fn is_end_observed(&self, outcome: Outcome) -> bool {
        let main = self.agents.get(&self.by);
        let ended = main.is_some_and(|it| it.outcome.is_some());
        match outcome {
            Outcome::Succeeded | Outcome::Failed => true,
            Outcome::Abandoned => self.witness == RunWitness::Hooks && ended,
        }
    }

    /// Returns the duration of a run closed at `now`.
    ///
    /// With a reported outcome the run ends now. The end of an abandoned run is unknown, so its
    /// last note counts.
    fn duration_ms(&self, outcome: Outcome, now: Timestamp) -> u64 {
        let end = match outcome {
            // `max` guards against a clock that lags behind the last note.
            Outcome::Succeeded | Outcome::Failed => self.last.max(now),
            Outcome::Abandoned => self.last,
        };
        end.millis_since(self.opened)
    }

    /// Returns the agents whose findings match each entry.
    fn finders_by_entry(&self) -> BTreeMap<EntryId, BTreeSet<Actor>> {
        let mut found_by: BTreeMap<EntryId, BTreeSet<Actor>> = BTreeMap::new();
        for (name, agent) in &self.agents {
            for id in agent.findings.iter().flat_map(|it| &it.says) {
                found_by.entry(*id).or_default().insert(name.clone());
            }
        }
        found_by
    }

    /// Returns whether a finding of `agent` may come from one of `authors` under a related name.
    fn may_be_author(&self, agent: &Actor, authors: &BTreeSet<Actor>) -> bool {
        let spoke = self.reporters_for(agent);
        let is_ones = |author: &Actor| spoke.iter().any(|it| may_be_same_actor(it, author));
        authors.iter().any(is_ones)
    }

    /// Returns the number of entries that its agents added.
    fn count_added(&self) -> u32 {
        let added: usize = self.agents.values().map(|it| it.added.len()).sum();
        u32::try_from(added).unwrap_or(u32::MAX)
    }

    /// Returns the number of agents per role.
    fn roles(&self) -> BTreeMap<Tag, u32> {
        let mut roles = BTreeMap::new();
        for role in self.agents.values().filter_map(|it| it.member.role.clone()) {
            *roles.entry(role).or_default() += 1;
        }
        roles
    }
}

/// Returns whether an entry was archived automatically; manual archiving and retraction persist.
fn is_archived_automatically(entry: &Entry) -> bool {
    let archived = entry
        .archived
        .as_ref()
        .filter(|_| entry.retracted.is_none());
    archived.is_some_and(|it| it.because != ArchiveReason::Manual)
}

/// Returns whether silence may archive an entry: prescriptive and pinned entries persist until a
/// person decides.
fn may_be_archived(entry: &Entry) -> bool {
    entry.is_live() && !entry.is_prescriptive() && !entry.has_annotation(Overlay::Pin)
}

fn is_empty_effect(effect: &EntryEffect) -> bool {
    let weight = effect.alpha_milli + effect.beta_milli;
    weight + effect.shown + effect.blind == 0
        && effect.trials.is_empty()
        && effect.source_outcome.is_none()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "weights are small and positive"
)]
fn milli(weight: f64) -> u32 {
    libm::round(weight * 1000.0) as u32
}
