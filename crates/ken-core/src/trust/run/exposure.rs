//! Exposure of agents to entries, and the provenance of their findings.
//!
//! Provenance follows from recorded notes, never from an agent's own claims. In doubt an agent
//! counts as exposed and as unwitnessed. Both errors only cost a confirmation; the opposite error
//! would let a claim confirm itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{Run, RunMode, RunNote, RunRecord, RunWitness};
use crate::ledger::event::{Arm, Provenance};
use crate::values::actor::Actor;
use crate::values::id::EntryId;
use crate::values::time::Date;

/// The line that stands for every entry.
const EVERYTHING: &str = "*";

/// The entries an agent was exposed to, directly or through the agents that instructed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExposureSet {
    pub entries: BTreeSet<EntryId>,
    pub everything: bool,
}

impl ExposureSet {
    /// Adds the exposures of another set.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
        self.everything |= other.everything;
    }

    /// Returns the stored form: one line per entry, and `*` for everything.
    pub fn to_lines(&self) -> Vec<String> {
        let everything = self.everything.then(|| EVERYTHING.to_owned());
        let entries = self.entries.iter().map(ToString::to_string);
        everything.into_iter().chain(entries).collect()
    }

    /// Parses the stored form.
    pub fn from_lines<'l>(lines: impl IntoIterator<Item = &'l str>) -> Self {
        let mut sight = Self::default();
        for line in lines {
            match line.parse::<EntryId>() {
                Ok(id) => {
                    sight.entries.insert(id);
                }
                // `*`, or a line of a newer version that may name any entry.
                Err(_) => sight.everything = true,
            }
        }
        sight
    }

    /// Returns whether it contains one of `entries`.
    pub fn intersects(&self, entries: &BTreeSet<EntryId>) -> bool {
        self.everything || !self.entries.is_disjoint(entries)
    }

    /// Returns whether it contains `entry`.
    pub fn contains(&self, entry: EntryId) -> bool {
        self.everything || self.entries.contains(&entry)
    }
}

/// Returns the last day on which the notes of a run show each entry.
pub fn shown_days(notes: &[RunRecord]) -> BTreeMap<EntryId, Date> {
    let mut days = BTreeMap::new();
    for noted in notes {
        let shown: Vec<EntryId> = match &noted.note {
            RunNote::Shown { entries, .. } | RunNote::Used { entries, .. } => entries.clone(),
            RunNote::Pushed { offers, .. } => {
                let shown = offers.iter().filter(|offer| offer.arm == Arm::Shown);
                shown.map(|offer| offer.entry).collect()
            }
            RunNote::Said { cites, .. } => cites.clone(),
            RunNote::Opened { .. }
            | RunNote::Joined { .. }
            | RunNote::SawEverything { .. }
            | RunNote::Passed { .. }
            | RunNote::Added { .. }
            | RunNote::Observed { .. }
            | RunNote::Feedback { .. }
            | RunNote::Ended { .. }
            | RunNote::Facts { .. }
            | RunNote::Gap => Vec::new(),
        };
        for entry in shown {
            let last = days.entry(entry).or_default();
            *last = noted.at.date().max(*last);
        }
    }
    days
}

impl Run {
    /// Returns the exposures of an agent in this run, including those of the agents above it.
    ///
    /// The agent that opened the run wrote the prompts of the others and passes on its exposures.
    pub fn exposures(&self, agent: &Actor) -> ExposureSet {
        let mut sight = ExposureSet::default();
        let (mut open, mut done) = (vec![agent, &self.by], BTreeSet::new());
        // `done` also ends cycles: two agents may name each other as instructors.
        while let Some(name) = open.pop() {
            let Some(agent) = self.agents.get(name).filter(|_| done.insert(name)) else {
                continue;
            };
            sight.everything |= agent.saw_everything;
            sight.entries.extend(agent.shown.keys());
            sight.entries.extend(&agent.told);
            sight.entries.extend(&agent.cites);
            sight.entries.extend(&agent.used);
            sight.entries.extend(&agent.added);
            open.extend(&agent.member.told_by);
        }
        sight
    }

    /// Returns the exposures of an agent before this run: those of its session, and those in the
    /// other runs `outside` that may belong to the same session.
    ///
    /// Another run is excluded only if both sessions are known and differ.
    pub fn prior_exposures(
        &self,
        agent: &Actor,
        in_session: ExposureSet,
        outside: &[Self],
    ) -> ExposureSet {
        let mut seen = in_session;
        let session = self.session_of(agent);
        for other in outside.iter().filter(|other| other.id != self.id) {
            let theirs = other.session_of(agent);
            let is_other_session = theirs.is_some() && session.is_some() && theirs != session;
            if other.agents.contains_key(agent) && !is_other_session {
                seen.extend(other.exposures(agent));
            }
        }
        seen
    }

    /// Returns whether an independent witness knows every exposure of an agent.
    ///
    /// An actor is no witness for itself or for actors whose name extends its own.
    pub fn is_witnessed(&self, agent: &Actor) -> bool {
        let declared = |name: &Actor| {
            let agent = self.agents.get(name);
            agent.is_some_and(|it| it.member.declared)
        };
        let member = self.agents.get(agent).map(|it| &it.member);
        let upstream = member.map(|it| &it.told_by);
        self.manner == RunMode::Explicit
            && self.witness != RunWitness::Nobody
            // Hooks observe every agent; an orchestrator cannot vouch for itself.
            && (self.witness == RunWitness::Hooks || !may_be_same_actor(&self.by, agent))
            && self.is_complete
            && declared(agent)
            && upstream.is_none_or(|told_by| told_by.iter().all(declared))
    }

    /// Returns the provenance of a finding of `agent` that repeats an entry.
    ///
    /// `same` is the entry with its copies, `before` the exposures of the session before this run.
    pub fn provenance(
        &self,
        agent: &Actor,
        same: &BTreeSet<EntryId>,
        before: &ExposureSet,
    ) -> Provenance {
        // Checked before the witness: a known exposure primes an agent, witnessed or not.
        if self.exposures(agent).intersects(same) || before.intersects(same) {
            return Provenance::Primed;
        }
        if self.is_witnessed(agent) {
            Provenance::Independent
        } else {
            Provenance::Unwitnessed
        }
    }
}

/// Returns whether two actors may be the same: equal, or one name extends the other.
pub(super) fn may_be_same_actor(one: &Actor, other: &Actor) -> bool {
    one.covers(other) || other.covers(one)
}
