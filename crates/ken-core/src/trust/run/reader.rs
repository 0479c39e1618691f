//! Readers of entries, and the notes that record their exposures.
//!
//! An exposure is recorded before the entries are shown; people are never recorded. Loading and
//! storing runs is up to the caller: files on a machine, rows on a hub.

use super::{ExposureChannel, HoldoutAssignment, RunMember, RunMode, RunNote, RunWitness, name};
use crate::values::actor::{Actor, ActorRole};
use crate::values::id::EntryId;

/// Maximum number of entries per note; a larger exposure counts as everything.
pub const SHOWN_MAX: usize = 500;

/// An actor that receives entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryReader {
    pub agent: Actor,
    /// The run it claims to work in.
    pub run: Option<String>,
    /// The session of the agent.
    pub session: Option<String>,
}

impl EntryReader {
    /// Returns whether exposures are recorded. People can confirm whatever they have read.
    pub fn is_recorded(&self) -> bool {
        match self.agent.role() {
            ActorRole::Human => false,
            ActorRole::Agent | ActorRole::Ci | ActorRole::Import | ActorRole::Peer => true,
        }
    }

    /// Returns the run it names, or else the run of its session.
    pub fn named_run(&self) -> Option<String> {
        let session = self.session.as_deref();
        let conversation = || session.map(|it| name::session_run_name(&self.agent, it));
        // An explicit run wins: one session may work in several runs.
        self.run.clone().or_else(conversation)
    }

    /// Returns the name of its implicit run.
    pub fn implicit_run(&self) -> String {
        name::implicit_run_name(&self.agent, self.session.as_deref())
    }

    /// Returns the note that it was shown `entries`, if exposures are recorded.
    pub fn shown_note(&self, entries: &[EntryId], how: ExposureChannel) -> Option<RunNote> {
        if entries.is_empty() {
            return None;
        }
        // Overstating an exposure is safe; truncating the list would let a seen entry pass as
        // unseen.
        if entries.len() > SHOWN_MAX {
            return self.saw_everything_note(how);
        }
        self.is_recorded().then(|| RunNote::Shown {
            agent: self.agent.clone(),
            entries: entries.to_vec(),
            how,
        })
    }

    /// Returns the note that it may have seen any entry, if exposures are recorded.
    pub fn saw_everything_note(&self, how: ExposureChannel) -> Option<RunNote> {
        self.is_recorded().then(|| RunNote::SawEverything {
            agent: self.agent.clone(),
            how,
        })
    }

    /// Returns the note of its holdout assignments, if there are any to record.
    pub fn holdout_note(&self, offers: Vec<HoldoutAssignment>) -> Option<RunNote> {
        let is_recorded = self.is_recorded() && !offers.is_empty();
        is_recorded.then(|| RunNote::Pushed {
            agent: self.agent.clone(),
            offers,
        })
    }

    /// Returns the note of relevant entries that were omitted, if there are any to record.
    pub fn omitted_note(&self, entries: Vec<EntryId>) -> Option<RunNote> {
        let is_recorded = self.is_recorded() && !entries.is_empty();
        is_recorded.then(|| RunNote::Passed {
            agent: self.agent.clone(),
            entries,
        })
    }
}

/// Returns the notes that open a run without a witness and with one agent.
pub fn unwitnessed_run_notes(
    id: &str,
    manner: RunMode,
    agent: &Actor,
    session: Option<&str>,
) -> [RunNote; 2] {
    let opened = RunNote::Opened {
        run: id.to_owned(),
        manner,
        witness: RunWitness::Nobody,
        thread: None,
        task: None,
    };
    let joined = RunNote::Joined {
        agent: agent.clone(),
        member: RunMember {
            session: session.map(ToOwned::to_owned),
            ..RunMember::default()
        },
    };
    [opened, joined]
}

#[cfg(test)]
mod tests {
    use super::super::{Run, RunRecord};
    use super::*;
    use crate::ledger::event::Arm;
    use crate::values::time::Timestamp;

    fn entries(count: u32) -> Vec<EntryId> {
        let id = |n: u32| format!("L-{n:08}").parse().unwrap();
        (0..count).map(id).collect()
    }

    fn reader(agent: &str) -> EntryReader {
        EntryReader {
            agent: agent.parse().unwrap(),
            run: None,
            session: Some("s".to_owned()),
        }
    }

    #[test]
    fn of_people_nothing_is_noted_and_nothing_is_noted_of_nothing() {
        let offer = HoldoutAssignment {
            entry: entries(1)[0],
            arm: Arm::Shown,
            propensity_milli: 0,
        };
        let told = |reader: &EntryReader, count: u32| {
            let offers = vec![offer; count as usize];
            [
                reader.shown_note(&entries(count), ExposureChannel::Pull),
                reader.holdout_note(offers),
                reader.omitted_note(entries(count)),
            ]
        };
        assert_eq!(told(&reader("human:ada"), 1), [None, None, None]);
        assert_eq!(
            reader("human:ada").saw_everything_note(ExposureChannel::File),
            None
        );
        for agent in ["agent:a", "ci:a", "import:a", "peer:a"] {
            assert!(told(&reader(agent), 1).iter().all(Option::is_some));
            assert_eq!(told(&reader(agent), 0), [None, None, None]);
        }
    }

    #[test]
    fn whoever_was_shown_more_than_a_note_names_saw_everything() {
        let (reader, max) = (reader("agent:a"), u32::try_from(SHOWN_MAX).unwrap());
        let shown = |count: u32| {
            reader
                .shown_note(&entries(count), ExposureChannel::Pull)
                .unwrap()
        };
        assert!(matches!(shown(max), RunNote::Shown { entries, .. } if entries.len() == SHOWN_MAX));
        let how = ExposureChannel::Pull;
        assert!(matches!(shown(max + 1), RunNote::SawEverything { how: it, .. } if it == how));
    }

    #[test]
    fn a_run_goes_before_the_conversation_and_without_both_none_is_named() {
        let mut it = reader("agent:a");
        let conversation = name::session_run_name(&it.agent, "s");
        assert_eq!(it.named_run(), Some(conversation));
        assert_eq!(
            it.implicit_run(),
            name::implicit_run_name(&it.agent, Some("s"))
        );
        it.run = Some("R-1".to_owned());
        assert_eq!(it.named_run().as_deref(), Some("R-1"));
        (it.run, it.session) = (None, None);
        assert_eq!(it.named_run(), None);
    }

    #[test]
    fn an_unwitnessed_run_has_one_agent_that_nobody_vouches_for() {
        let agent: Actor = "agent:a".parse().unwrap();
        let notes = unwitnessed_run_notes("C-1", RunMode::Explicit, &agent, Some("s"));
        let noted = notes.map(|note| RunRecord {
            at: Timestamp::default(),
            by: agent.clone(),
            note,
        });
        let run = Run::from_records(noted).unwrap();
        assert_eq!((run.id.as_str(), run.manner), ("C-1", RunMode::Explicit));
        assert_eq!(run.agents[&agent].member.session.as_deref(), Some("s"));
        assert!(!run.is_witnessed(&agent));
    }
}
