//! How a finding came about: who had seen the entry it repeats.
//!
//! Ken decides this from what was written down, never from what an agent says of itself. In doubt an agent
//! has seen an entry, and in doubt nobody watched: both cost a confirmation, and the opposite error would let
//! a claim confirm itself.

use std::collections::BTreeSet;

use super::{Manner, Run, Witness};
use crate::actor::Actor;
use crate::event::Provenance;
use crate::id::EntryId;

/// The line of who may have seen everything.
const EVERYTHING: &str = "*";

/// What an agent had seen, itself or through those that told it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    pub entries: BTreeSet<EntryId>,
    pub everything: bool,
}

impl Sight {
    /// Adds what else was seen.
    pub fn add(&mut self, other: Self) {
        self.entries.extend(other.entries);
        self.everything |= other.everything;
    }

    /// Returns it as it is kept: a line for each entry, and one for everything.
    pub fn to_lines(&self) -> Vec<String> {
        let everything = self.everything.then(|| EVERYTHING.to_owned());
        let entries = self.entries.iter().map(ToString::to_string);
        everything.into_iter().chain(entries).collect()
    }

    /// Reads it back; a line that cannot be read may name any entry.
    pub fn of_lines<'l>(lines: impl IntoIterator<Item = &'l str>) -> Self {
        let mut sight = Self::default();
        for line in lines {
            match line.parse::<EntryId>() {
                Ok(id) => {
                    sight.entries.insert(id);
                }
                Err(_) => sight.everything = true,
            }
        }
        sight
    }

    /// Returns whether one of `entries`, which all say the same, was seen.
    pub fn includes(&self, entries: &BTreeSet<EntryId>) -> bool {
        self.everything || !self.entries.is_disjoint(entries)
    }

    /// Returns whether `entry` was seen.
    pub fn has(&self, entry: EntryId) -> bool {
        self.everything || self.entries.contains(&entry)
    }
}

impl Run {
    /// Returns what an agent saw in this run, what those saw that told it included.
    ///
    /// Whoever opened the run wrote the others' prompts, so what an agent saw that did is in them.
    pub fn sight(&self, agent: &Actor) -> Sight {
        let mut sight = Sight::default();
        let (mut open, mut done) = (vec![agent, &self.by], BTreeSet::new());
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

    /// Returns what an agent saw before this run: in its session, and in those of `outside` that may have been in it.
    ///
    /// Only where both sessions are known and differ was it somebody else who saw what is told there.
    pub fn seen_before(&self, agent: &Actor, in_session: Sight, outside: &[Self]) -> Sight {
        let mut seen = in_session;
        let session = self.session_of(agent);
        for other in outside.iter().filter(|other| other.id != self.id) {
            let theirs = other.session_of(agent);
            let is_apart = theirs.is_some() && session.is_some() && theirs != session;
            if other.agents.contains_key(agent) && !is_apart {
                seen.add(other.sight(agent));
            }
        }
        seen
    }

    /// Returns whether somebody else knows everything an agent saw; nobody is a witness to itself, nor to what goes by a
    /// name below its own.
    pub fn is_witnessed(&self, agent: &Actor) -> bool {
        let declared = |name: &Actor| {
            let agent = self.agents.get(name);
            agent.is_some_and(|it| it.member.declared)
        };
        let member = self.agents.get(agent).map(|it| &it.member);
        let upstream = member.map(|it| &it.told_by);
        self.manner == Manner::Explicit
            && self.witness != Witness::Nobody
            && (self.witness == Witness::Hooks || !is_kin(&self.by, agent))
            && self.is_complete
            && declared(agent)
            && upstream.is_none_or(|told_by| told_by.iter().all(declared))
    }

    /// Returns how a finding of `agent` came about that repeats an entry; `same` are that entry and its
    /// copies, `before` what the agent's session saw before this run.
    pub fn provenance(
        &self,
        agent: &Actor,
        same: &BTreeSet<EntryId>,
        before: &Sight,
    ) -> Provenance {
        if self.sight(agent).includes(same) || before.includes(same) {
            return Provenance::Primed;
        }
        match self.is_witnessed(agent) {
            true => Provenance::Independent,
            false => Provenance::Unwitnessed,
        }
    }
}

/// Returns whether two may be one: the same, or one of them below the other.
pub(super) fn is_kin(one: &Actor, other: &Actor) -> bool {
    one.covers(other) || other.covers(one)
}
