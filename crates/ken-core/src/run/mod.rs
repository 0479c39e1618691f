//! One unit of agent work: who took part, who was shown which entries, what they found.
//!
//! A run is a list of notes, each true when it was made; [`Run`] is what they add up to. From it follows how
//! a finding came about ([`exposure`]), from whom entries are withheld ([`blind`]) and, at the end, what
//! becomes of the entries it touched ([`close`]) and of findings that are new ([`accumulate`]). Nobody is asked
//! again: what follows is written down ([`written`]). [`known`] says what somebody is told who records what is
//! known already, [`name`] what runs are called, [`reader`] who is given entries and which note says so.

pub mod accumulate;
pub mod blind;
pub mod close;
pub mod exposure;
pub mod known;
pub mod name;
pub mod reader;
pub mod written;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::actor::{Actor, Role};
use crate::anchor::Anchor;
use crate::event::{Arm, Outcome};
use crate::id::EntryId;
use crate::text::{Note as Words, Statement, Step, Tag};
use crate::time::{DAY_MS, Timestamp};

/// Agents a run may have.
pub const AGENTS_MAX: usize = 64;

/// Findings an agent may report in one run.
pub const FINDINGS_MAX: usize = 256;

/// Milliseconds after its last note when a run that nobody closed counts as abandoned.
pub const ABANDONED_AFTER_MS: u64 = DAY_MS;

/// Milliseconds for which it is remembered what a session saw: longer than any lasts.
pub const SESSION_KEPT_MS: u64 = 90 * DAY_MS;

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    pub at: Timestamp,
    pub by: Actor,
    #[serde(flatten)]
    pub note: Note,
}

/// What may happen in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// The run began.
    Opened {
        run: String,
        manner: Manner,
        witness: Witness,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<Tag>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Words>,
    },
    /// An agent takes part. Those named when the run is opened have a context the witness knows from its
    /// beginning; of others nobody knows what they saw before.
    Joined {
        agent: Actor,
        #[serde(default)]
        member: Member,
    },
    /// An agent was given entries.
    Shown {
        agent: Actor,
        entries: Vec<EntryId>,
        how: How,
    },
    /// An agent read a file that holds more entries than anybody counts.
    SawEverything { agent: Actor, how: How },
    /// Chance decided whether an agent was given entries.
    Pushed { agent: Actor, offers: Vec<Offer> },
    /// Entries fitted what an agent was about to do and there was no room for them.
    Passed { agent: Actor, entries: Vec<EntryId> },
    /// An agent concluded something from entries, and told others.
    Said {
        agent: Actor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<Words>,
        cites: Vec<EntryId>,
        /// To whom; nobody named means everybody in the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        to: Vec<Actor>,
    },
    /// An agent worked with entries it was given.
    Used { agent: Actor, entries: Vec<EntryId> },
    /// An agent wrote entries.
    Added { agent: Actor, entries: Vec<EntryId> },
    /// An agent found something.
    Observed {
        agent: Actor,
        finding: Box<Finding>,
        /// The entries that say the same, as Ken saw it then.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        says: BTreeSet<EntryId>,
    },
    /// An agent's own work ended.
    Ended { agent: Actor, outcome: Outcome },
    /// Something happened that was not written down.
    Gap,
}

impl Note {
    /// Returns whose doing it tells of.
    pub fn agent(&self) -> Option<&Actor> {
        match self {
            Self::Joined { agent, .. }
            | Self::Shown { agent, .. }
            | Self::SawEverything { agent, .. }
            | Self::Pushed { agent, .. }
            | Self::Passed { agent, .. }
            | Self::Said { agent, .. }
            | Self::Used { agent, .. }
            | Self::Added { agent, .. }
            | Self::Observed { agent, .. }
            | Self::Ended { agent, .. } => Some(agent),
            Self::Opened { .. } | Self::Gap => None,
        }
    }

    /// Returns everybody who takes part by it.
    fn names(&self) -> impl Iterator<Item = &Actor> {
        let told: &[Actor] = match self {
            Self::Said { to, .. } => to,
            Self::Opened { .. }
            | Self::Joined { .. }
            | Self::Shown { .. }
            | Self::SawEverything { .. }
            | Self::Pushed { .. }
            | Self::Passed { .. }
            | Self::Used { .. }
            | Self::Added { .. }
            | Self::Observed { .. }
            | Self::Ended { .. }
            | Self::Gap => &[],
        };
        self.agent().into_iter().chain(told)
    }
}

/// Whether somebody asked for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    Explicit,
    /// Commands outside any run belong to one that Ken makes; it confirms nothing.
    Implicit,
}

/// Who knows everything that agents were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    #[default]
    Nobody,
    /// Whoever wrote the agents' prompts.
    Orchestrator,
    /// Hooks that saw every read.
    Hooks,
}

/// How an agent came to see an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Push,
    Pull,
    Show,
    Brief,
    File,
    Told,
}

/// One entry chance decided about, for one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub entry: EntryId,
    pub arm: Arm,
    /// How probable it was, in thousandths, that it was withheld; zero of what never is.
    pub propensity_milli: u16,
}

/// What an agent found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub statement: Statement,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Anchor>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<Step>,
    /// From 0 to 10, in thousandths.
    #[serde(default)]
    pub severity_milli: u16,
    #[serde(default)]
    pub confidence_milli: u16,
    /// Whether somebody looked and found that it is nothing.
    #[serde(default)]
    pub dismissed: bool,
}

impl Finding {
    /// Makes a finding that nobody graded.
    pub fn new(statement: Statement, evidence: Vec<Anchor>, verify: Vec<Step>) -> Self {
        Self {
            statement,
            evidence,
            verify,
            severity_milli: 0,
            confidence_milli: 0,
            dismissed: false,
        }
    }
}

/// What an agent found, and the entries that say it already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub finding: Finding,
    pub says: BTreeSet<EntryId>,
}

/// An agent's part in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Member {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Tag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lens: Option<Tag>,
    /// The conversation it is in, if that began before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agents that told it what to do.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub told_by: BTreeSet<Actor>,
    /// Whether the witness knows its context from the beginning.
    pub declared: bool,
}

/// What the notes of a run add up to.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: String,
    pub by: Actor,
    pub opened: Timestamp,
    pub last: Timestamp,
    pub manner: Manner,
    pub witness: Witness,
    pub thread: Option<Tag>,
    pub task: Option<Words>,
    pub agents: BTreeMap<Actor, Agent>,
    /// Whether everything that happened was written down.
    pub is_complete: bool,
}

/// What an agent did in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    pub member: Member,
    pub shown: BTreeMap<EntryId, How>,
    pub saw_everything: bool,
    pub offers: BTreeMap<EntryId, Offer>,
    pub passed: BTreeSet<EntryId>,
    pub told: BTreeSet<EntryId>,
    /// The agents that said something to it.
    pub heard: BTreeSet<Actor>,
    pub cites: BTreeSet<EntryId>,
    pub used: BTreeSet<EntryId>,
    pub added: BTreeSet<EntryId>,
    pub findings: Vec<Found>,
    /// Who told what it found, people left out: where that is not the agent itself, it is no word of its own.
    pub voices: BTreeSet<Actor>,
    pub outcome: Option<Outcome>,
}

impl Noted {
    /// Reads a note as it was kept; what is no note, or none this build knows, is a gap.
    pub fn read(line: &[u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_else(|_| Self::gap())
    }

    /// Returns the note that stands for one that cannot be read.
    pub fn gap() -> Self {
        Self {
            at: Timestamp::default(),
            by: Actor::from_claim(Role::Agent, ""),
            note: Note::Gap,
        }
    }
}

impl Run {
    /// Adds notes up; `None` if the first one opens no run.
    pub fn of(notes: impl IntoIterator<Item = Noted>) -> Option<Self> {
        let mut notes = notes.into_iter();
        let mut run = Self::opened(notes.next()?)?;
        for noted in notes {
            run.take(noted);
        }
        Some(run)
    }

    fn take(&mut self, noted: Noted) {
        let Noted { at, by, note } = noted;
        self.last = self.last.max(at);
        let finder = match &note {
            Note::Observed { agent, .. } if !by.is_human() => Some(agent.clone()),
            Note::Opened { .. }
            | Note::Joined { .. }
            | Note::Shown { .. }
            | Note::SawEverything { .. }
            | Note::Pushed { .. }
            | Note::Passed { .. }
            | Note::Said { .. }
            | Note::Used { .. }
            | Note::Added { .. }
            | Note::Observed { .. }
            | Note::Ended { .. }
            | Note::Gap => None,
        };
        self.add(note);
        if let Some(finder) = finder.and_then(|it| self.agents.get_mut(&it)) {
            finder.voices.insert(by);
        }
    }

    fn opened(first: Noted) -> Option<Self> {
        let Note::Opened {
            run,
            manner,
            witness,
            thread,
            task,
        } = first.note
        else {
            return None;
        };
        Some(Self {
            id: run,
            by: first.by,
            opened: first.at,
            last: first.at,
            manner,
            witness,
            thread,
            task,
            agents: BTreeMap::new(),
            is_complete: true,
        })
    }

    /// Returns whether everybody a note names is one of its agents, or may still become one.
    pub fn has_room_for(&self, note: &Note) -> bool {
        let new = note.names().filter(|it| !self.agents.contains_key(it));
        let new: BTreeSet<&Actor> = new.collect();
        self.agents.len() + new.len() <= AGENTS_MAX
    }

    /// Adds one note. What somebody does for whom there is no room is lost, as if nobody had written it down.
    pub fn add(&mut self, note: Note) {
        if !self.has_room_for(&note) {
            self.is_complete = false;
            return;
        }
        match note {
            // A second opening means that two runs were written to one place.
            Note::Opened { .. } | Note::Gap => self.is_complete = false,
            Note::Joined { agent, member } => {
                let known = self.agents.contains_key(&agent);
                let joined = self.agent(agent);
                // Whoever acted before it joined saw things before the witness knew of it.
                let declared = member.declared && !known;
                joined.member = Member { declared, ..member };
            }
            Note::Shown {
                agent,
                entries,
                how,
            } => {
                let seen = entries.into_iter().map(|entry| (entry, how));
                self.agent(agent).shown.extend(seen);
            }
            Note::SawEverything { agent, .. } => self.agent(agent).saw_everything = true,
            Note::Pushed { agent, offers } => {
                let agent = self.agent(agent);
                for offer in offers {
                    if offer.arm == Arm::Shown {
                        agent.shown.insert(offer.entry, How::Push);
                    }
                    // What chance decided first is what counts.
                    agent.offers.entry(offer.entry).or_insert(offer);
                }
            }
            Note::Said {
                agent, cites, to, ..
            } => self.said(&agent, &cites, to),
            Note::Passed { agent, entries } => self.agent(agent).passed.extend(entries),
            Note::Used { agent, entries } => self.agent(agent).used.extend(entries),
            Note::Added { agent, entries } => self.agent(agent).added.extend(entries),
            Note::Observed {
                agent,
                finding,
                says,
            } => self.agent(agent).observe(*finding, says),
            Note::Ended { agent, outcome } => self.agent(agent).outcome = Some(outcome),
        }
    }

    /// Returns every entry one of its agents had to do with.
    pub fn touched(&self) -> BTreeSet<EntryId> {
        self.agents.values().flat_map(Agent::touched).collect()
    }

    /// Returns whether one of its agents worked with an entry or said something because of it.
    pub fn uses(&self, entry: EntryId) -> bool {
        let mut agents = self.agents.values();
        agents.any(|agent| agent.used.contains(&entry) || agent.cites.contains(&entry))
    }

    /// Returns whether `agent` found in it what `statement` says, in these words.
    pub fn has_found(&self, agent: &Actor, statement: &Statement) -> bool {
        let agent = self.agents.get(agent);
        let mut findings = agent.into_iter().flat_map(|it| &it.findings);
        findings.any(|it| it.finding.statement == *statement)
    }

    /// Returns the conversation `agent` is in, if it began before the run.
    pub fn session_of(&self, agent: &Actor) -> Option<&str> {
        self.agents.get(agent)?.member.session.as_deref()
    }

    fn said(&mut self, agent: &Actor, cites: &[EntryId], to: Vec<Actor>) {
        self.agent(agent.clone()).cites.extend(cites);
        let to = match to.is_empty() {
            true => self.agents.keys().cloned().collect(),
            false => to,
        };
        for other in to.into_iter().filter(|other| other != agent) {
            let other = self.agent(other);
            other.told.extend(cites);
            other.heard.insert(agent.clone());
        }
    }

    fn agent(&mut self, agent: Actor) -> &mut Agent {
        self.agents.entry(agent).or_default()
    }
}

impl Agent {
    /// Returns every entry it had to do with, those only chance decided about included.
    pub fn touched(&self) -> impl Iterator<Item = EntryId> + '_ {
        let seen = self
            .shown
            .keys()
            .chain(self.offers.keys())
            .chain(&self.passed);
        let said = self.told.iter().chain(&self.cites);
        let done = self.used.iter().chain(&self.added);
        let found = self.findings.iter().flat_map(|it| &it.says);
        seen.chain(said).chain(done).chain(found).copied()
    }

    /// Adds a finding, once.
    fn observe(&mut self, finding: Finding, says: BTreeSet<EntryId>) {
        let is_room = self.findings.len() < FINDINGS_MAX;
        let known = self.findings.iter_mut().find(|it| it.finding == finding);
        match known {
            Some(known) => known.says.extend(says),
            None if is_room => self.findings.push(Found { finding, says }),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
