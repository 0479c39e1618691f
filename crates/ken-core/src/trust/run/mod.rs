//! Runs: units of agent work with participants, exposures, findings and an outcome.
//!
//! A run is stored as a list of notes; [`Run`] is their fold. [`exposure`] derives the provenance
//! of a finding, `holdout` selects the withheld entries, `closing` decides the effects on the
//! touched entries and `accumulation` turns new findings into entries. The decisions are recorded
//! as events ([`decide::closing_events`](crate::decide::closing_events)), so that replay recomputes
//! nothing. `existing_claim` handles claims that are already known, [`name`] the names of runs,
//! [`opening`] their first notes, [`reader`] the notes of exposures, and [`exposure_log`] the list
//! of them.

pub mod accumulation;
pub mod closed;
pub mod closing;
pub mod existing_claim;
pub mod exposure;
pub mod exposure_log;
pub mod holdout;
pub mod name;
pub mod opening;
pub mod reader;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ledger::event::{Arm, Feedback, Outcome, RunAssignment};
use crate::trust::outcome::{RunFacts, assignments};
use crate::values::actor::{Actor, ActorRole};
use crate::values::anchor::Anchor;
use crate::values::id::EntryId;
use crate::values::text::{Note as Words, Statement, Step, Tag};
use crate::values::time::{DAY_MS, Timestamp};

/// Maximum number of agents per run.
pub const AGENTS_MAX: usize = 64;

/// Maximum number of findings per agent and run.
pub const FINDINGS_MAX: usize = 256;

/// Maximum number of conclusions that a briefing hands on; the latest are kept.
pub const CONCLUSIONS_MAX: usize = 8;

/// Milliseconds after its last note at which an open run counts as abandoned.
pub const ABANDONED_AFTER_MS: u64 = DAY_MS;

/// Milliseconds for which the exposures of a session are kept; longer than any session lasts.
pub const SESSION_KEPT_MS: u64 = 90 * DAY_MS;

/// A note with its time and author.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub at: Timestamp,
    pub by: Actor,
    #[serde(flatten)]
    pub note: RunNote,
}

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum RunNote {
    /// The run was opened.
    Opened {
        run: String,
        manner: RunMode,
        witness: RunWitness,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<Tag>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Words>,
    },
    /// An agent joined. The witness knows the whole context of agents declared when the run was
    /// opened; the earlier exposures of other agents are unknown.
    Joined {
        agent: Actor,
        #[serde(default)]
        member: RunMember,
    },
    /// An agent was shown entries.
    Shown {
        agent: Actor,
        entries: Vec<EntryId>,
        how: ExposureChannel,
    },
    /// An agent read a file with too many entries to list.
    SawEverything { agent: Actor, how: ExposureChannel },
    /// Entries were assigned to the arms of the holdout for an agent.
    Pushed {
        agent: Actor,
        offers: Vec<HoldoutAssignment>,
    },
    /// Relevant entries were omitted because there was no room for them.
    Passed { agent: Actor, entries: Vec<EntryId> },
    /// An agent drew a conclusion from entries and sent it to others.
    Said {
        agent: Actor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<Words>,
        cites: Vec<EntryId>,
        /// The recipients; empty means every agent of the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        to: Vec<Actor>,
    },
    /// An agent used entries it was shown.
    Used { agent: Actor, entries: Vec<EntryId> },
    /// An agent added entries.
    Added { agent: Actor, entries: Vec<EntryId> },
    /// An agent reported a finding.
    Observed {
        agent: Actor,
        finding: Box<RunFinding>,
        /// The entries that made the same claim when the finding was reported.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        says: BTreeSet<EntryId>,
    },
    /// An agent said whether an entry it was shown helped.
    Feedback {
        agent: Actor,
        entry: EntryId,
        verdict: Feedback,
    },
    /// The work of one agent ended.
    Ended { agent: Actor, outcome: Outcome },
    /// Hooks saw what came of the run.
    Facts { facts: RunFacts },
    /// A note was lost or cannot be read.
    Gap,
}

impl RunNote {
    /// Returns the agent that the note is about.
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
            | Self::Feedback { agent, .. }
            | Self::Ended { agent, .. } => Some(agent),
            Self::Opened { .. } | Self::Facts { .. } | Self::Gap => None,
        }
    }

    /// Returns all agents that the note names.
    fn named_agents(&self) -> impl Iterator<Item = &Actor> {
        let recipients: &[Actor] = match self {
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
            | Self::Feedback { .. }
            | Self::Ended { .. }
            | Self::Facts { .. }
            | Self::Gap => &[],
        };
        self.agent().into_iter().chain(recipients)
    }
}

/// The way a run was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// Opened by a person, an orchestrator or a hook.
    Explicit,
    /// Created by Ken for commands outside any run; confirms nothing.
    Implicit,
}

/// The observer that knows every exposure of the agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunWitness {
    /// Exposures are not fully known.
    #[default]
    Nobody,
    /// The author of the agents' prompts.
    Orchestrator,
    /// Hooks that observe every read.
    Hooks,
}

/// The channel through which an agent was shown an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExposureChannel {
    Push,
    Pull,
    Show,
    Brief,
    File,
    Told,
}

/// The holdout assignment of one entry for one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldoutAssignment {
    pub entry: EntryId,
    pub arm: Arm,
    /// Probability of withholding, in thousandths; zero for entries exempt from the holdout.
    pub propensity_milli: u16,
}

/// A claim that an agent reports in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFinding {
    pub statement: Statement,
    #[serde(rename = "evidence", default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<Step>,
    /// From 0 to 10, in thousandths.
    #[serde(default)]
    pub severity_milli: u16,
    /// From 0 to 10, in thousandths.
    #[serde(default)]
    pub confidence_milli: u16,
    /// Set if a review dismissed the finding as harmless.
    #[serde(default)]
    pub dismissed: bool,
}

impl RunFinding {
    /// Creates a finding without severity and confidence.
    pub fn new(statement: Statement, anchors: Vec<Anchor>, verify: Vec<Step>) -> Self {
        Self {
            statement,
            anchors,
            verify,
            severity_milli: 0,
            confidence_milli: 0,
            dismissed: false,
        }
    }
}

/// A finding and the entries that make the same claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedFinding {
    pub finding: RunFinding,
    pub says: BTreeSet<EntryId>,
}

/// The declared part of an agent in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunMember {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Tag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lens: Option<Tag>,
    /// The session of the agent, if it started before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agents that instructed it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub told_by: BTreeSet<Actor>,
    /// Set if the witness knows the agent's context from the beginning.
    pub declared: bool,
}

/// The state of a run: the fold of its notes.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub id: String,
    pub by: Actor,
    pub opened: Timestamp,
    pub last: Timestamp,
    pub manner: RunMode,
    pub witness: RunWitness,
    pub thread: Option<Tag>,
    pub task: Option<Words>,
    pub agents: BTreeMap<Actor, AgentActivity>,
    /// Conclusions with their words, in the order they were sent.
    pub conclusions: Vec<SentConclusion>,
    /// What hooks saw of it; the latest note counts.
    pub facts: Option<RunFacts>,
    /// Set while no note was lost.
    pub is_complete: bool,
}

/// A conclusion that one agent sent to others, with the entries it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentConclusion {
    pub from: Actor,
    /// The recipients; empty means every agent of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<Actor>,
    pub words: Words,
    pub cites: Vec<EntryId>,
}

/// The activity of one agent in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentActivity {
    pub member: RunMember,
    pub shown: BTreeMap<EntryId, ExposureChannel>,
    pub saw_everything: bool,
    pub offers: BTreeMap<EntryId, HoldoutAssignment>,
    pub passed: BTreeSet<EntryId>,
    pub told: BTreeSet<EntryId>,
    /// The agents that sent it a conclusion.
    pub heard: BTreeSet<Actor>,
    pub cites: BTreeSet<EntryId>,
    pub used: BTreeSet<EntryId>,
    pub added: BTreeSet<EntryId>,
    pub findings: Vec<MatchedFinding>,
    /// The non-human actors that reported its findings. A report by another actor is not evidence
    /// of the agent itself.
    pub voices: BTreeSet<Actor>,
    /// Its latest feedback on each entry.
    pub feedback: BTreeMap<EntryId, Feedback>,
    pub outcome: Option<Outcome>,
}

impl SentConclusion {
    /// Returns the entries that conclusions rest on.
    pub fn cited_entries(sent: &[&Self]) -> Vec<EntryId> {
        let cites: BTreeSet<EntryId> = sent.iter().flat_map(|it| &it.cites).copied().collect();
        cites.into_iter().collect()
    }
}

impl RunRecord {
    /// Parses a stored note; an invalid or unknown one becomes a gap.
    pub fn parse(line: &[u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_else(|_| Self::gap())
    }

    /// Returns the note that replaces an unreadable one.
    pub fn gap() -> Self {
        Self {
            at: Timestamp::default(),
            // The author is unknown; an empty name belongs to no real agent.
            by: Actor::from_claim(ActorRole::Agent, ""),
            note: RunNote::Gap,
        }
    }
}

impl Run {
    /// Folds notes; `None` if the first one does not open a run.
    pub fn from_records(notes: impl IntoIterator<Item = RunRecord>) -> Option<Self> {
        let mut notes = notes.into_iter();
        let mut run = Self::from_opening(notes.next()?)?;
        for noted in notes {
            run.apply_record(noted);
        }
        Some(run)
    }

    fn apply_record(&mut self, noted: RunRecord) {
        let RunRecord { at, by, note } = noted;
        self.last = self.last.max(at);
        // A person may report for an agent. If another agent does, it may be the actual source.
        let finder = match &note {
            RunNote::Observed { agent, .. } if !by.is_human() => Some(agent.clone()),
            RunNote::Opened { .. }
            | RunNote::Joined { .. }
            | RunNote::Shown { .. }
            | RunNote::SawEverything { .. }
            | RunNote::Pushed { .. }
            | RunNote::Passed { .. }
            | RunNote::Said { .. }
            | RunNote::Used { .. }
            | RunNote::Added { .. }
            | RunNote::Observed { .. }
            | RunNote::Feedback { .. }
            | RunNote::Ended { .. }
            | RunNote::Facts { .. }
            | RunNote::Gap => None,
        };
        self.apply(note);
        // After `add`, which creates the agent. It is still missing if the run had no room for it.
        if let Some(finder) = finder.and_then(|it| self.agents.get_mut(&it)) {
            finder.voices.insert(by);
        }
    }

    fn from_opening(first: RunRecord) -> Option<Self> {
        let RunNote::Opened {
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
            conclusions: Vec::new(),
            facts: None,
            is_complete: true,
        })
    }

    /// Returns whether all agents of a note take part already or fit within [`AGENTS_MAX`].
    pub fn has_room_for(&self, note: &RunNote) -> bool {
        let new = note
            .named_agents()
            .filter(|it| !self.agents.contains_key(it));
        let new: BTreeSet<&Actor> = new.collect();
        self.agents.len() + new.len() <= AGENTS_MAX
    }

    /// Applies one note. A note that exceeds [`AGENTS_MAX`] is lost and makes the run incomplete.
    pub fn apply(&mut self, note: RunNote) {
        if !self.has_room_for(&note) {
            self.is_complete = false;
            return;
        }
        match note {
            // A second opening means that two runs share one file, so neither record is reliable.
            RunNote::Opened { .. } | RunNote::Gap => self.is_complete = false,
            RunNote::Joined { agent, member } => {
                let known = self.agents.contains_key(&agent);
                let joined = self.agent_mut(agent);
                // An agent that acted before it joined may have unrecorded exposures.
                let declared = member.declared && !known;
                joined.member = RunMember { declared, ..member };
            }
            RunNote::Shown {
                agent,
                entries,
                how,
            } => {
                let seen = entries.into_iter().map(|entry| (entry, how));
                self.agent_mut(agent).shown.extend(seen);
            }
            RunNote::SawEverything { agent, .. } => self.agent_mut(agent).saw_everything = true,
            RunNote::Pushed { agent, offers } => {
                let agent = self.agent_mut(agent);
                for offer in offers {
                    if offer.arm == Arm::Shown {
                        agent.shown.insert(offer.entry, ExposureChannel::Push);
                    }
                    // The first assignment counts: a trial arm must not change while work goes on.
                    agent.offers.entry(offer.entry).or_insert(offer);
                }
            }
            RunNote::Said {
                agent,
                words,
                cites,
                to,
            } => {
                self.conclusions.extend(words.map(|words| SentConclusion {
                    from: agent.clone(),
                    to: to.clone(),
                    words,
                    cites: cites.clone(),
                }));
                self.apply_said(&agent, &cites, to);
            }
            RunNote::Passed { agent, entries } => self.agent_mut(agent).passed.extend(entries),
            RunNote::Used { agent, entries } => self.agent_mut(agent).used.extend(entries),
            RunNote::Added { agent, entries } => self.agent_mut(agent).added.extend(entries),
            RunNote::Observed {
                agent,
                finding,
                says,
            } => self.agent_mut(agent).observe(*finding, says),
            RunNote::Feedback {
                agent,
                entry,
                verdict,
            } => {
                self.agent_mut(agent).feedback.insert(entry, verdict);
            }
            RunNote::Ended { agent, outcome } => self.agent_mut(agent).outcome = Some(outcome),
            RunNote::Facts { facts } => self.facts = Some(facts),
        }
    }

    /// Returns every entry that one of its agents touched.
    pub fn touched_entries(&self) -> BTreeSet<EntryId> {
        self.agents
            .values()
            .flat_map(AgentActivity::touched_entries)
            .collect()
    }

    /// Returns whether one of its agents used or cited an entry.
    pub fn uses(&self, entry: EntryId) -> bool {
        let mut agents = self.agents.values();
        agents.any(|agent| agent.used.contains(&entry) || agent.cites.contains(&entry))
    }

    /// Returns whether the run has a result that others need: a finding, an added or used entry,
    /// feedback, an outcome, or work that hooks saw. A run without one is read-only work, and its
    /// end says nothing.
    pub fn has_results(&self) -> bool {
        let shows_work = self.facts.as_ref().is_some_and(RunFacts::shows_work);
        shows_work
            || self.agents.values().any(|agent| {
                let has_outcome =
                    matches!(agent.outcome, Some(Outcome::Succeeded | Outcome::Failed));
                let is_silent = agent.findings.is_empty()
                    && agent.added.is_empty()
                    && agent.used.is_empty()
                    && agent.cites.is_empty()
                    && agent.feedback.is_empty();
                has_outcome || !is_silent
            })
    }

    /// Returns the entries that chance showed to the main agent or withheld from it. Its subagents
    /// report to it, so what they were shown follows from its own work.
    pub fn drawn_entries(&self) -> Vec<RunAssignment> {
        let main = self.agents.get(&self.by);
        assignments(main.into_iter().flat_map(|it| it.offers.values().copied()))
    }

    /// Returns whether `agent` reported exactly this statement.
    pub fn has_found(&self, agent: &Actor, statement: &Statement) -> bool {
        let agent = self.agents.get(agent);
        let mut findings = agent.into_iter().flat_map(|it| &it.findings);
        findings.any(|it| it.finding.statement == *statement)
    }

    /// Returns the session of `agent`, if it started before the run.
    pub fn session_of(&self, agent: &Actor) -> Option<&str> {
        self.agents.get(agent)?.member.session.as_deref()
    }

    /// Returns the latest conclusions that other agents sent to `agent`, in order. One without
    /// recipients also reaches an agent that joins later.
    pub fn conclusions_for(&self, agent: &Actor) -> Vec<&SentConclusion> {
        let is_addressed = |it: &&SentConclusion| it.to.is_empty() || it.to.contains(agent);
        let sent = self.conclusions.iter().filter(|it| it.from != *agent);
        let sent: Vec<&SentConclusion> = sent.filter(is_addressed).collect();
        sent[sent.len().saturating_sub(CONCLUSIONS_MAX)..].to_vec()
    }

    fn apply_said(&mut self, agent: &Actor, cites: &[EntryId], to: Vec<Actor>) {
        self.agent_mut(agent.clone()).cites.extend(cites);
        // An unaddressed message reaches every agent that has joined so far.
        let recipients = if to.is_empty() {
            self.agents.keys().cloned().collect()
        } else {
            to
        };
        for other in recipients.into_iter().filter(|other| other != agent) {
            let other = self.agent_mut(other);
            other.told.extend(cites);
            other.heard.insert(agent.clone());
        }
    }

    fn agent_mut(&mut self, agent: Actor) -> &mut AgentActivity {
        self.agents.entry(agent).or_default()
    }
}

impl AgentActivity {
    /// Returns every entry it touched, including withheld and omitted ones.
    pub fn touched_entries(&self) -> impl Iterator<Item = EntryId> + '_ {
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

    /// Adds a finding; a repeated one only adds matching entries.
    fn observe(&mut self, finding: RunFinding, says: BTreeSet<EntryId>) {
        // Bounds memory and close time: an agent in a loop must not report without limit.
        let is_room = self.findings.len() < FINDINGS_MAX;
        let known = self.findings.iter_mut().find(|it| it.finding == finding);
        match known {
            Some(known) => known.says.extend(says),
            None if is_room => self.findings.push(MatchedFinding { finding, says }),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
