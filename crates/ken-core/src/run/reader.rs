//! Who is given entries, and which notes say so.
//!
//! What an agent is shown is written down before it is shown; of people nobody writes anything down. Looking a run up
//! and keeping its notes is left to whoever has them: files on a machine, rows at a hub.

use super::{How, Manner, Member, Note, Offer, Witness, name};
use crate::actor::{Actor, Role};
use crate::id::EntryId;

/// Entries a note names; who was shown more saw everything.
pub const SHOWN_MAX: usize = 500;

/// Who is given entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    pub agent: Actor,
    /// The run it says it works in.
    pub run: Option<String>,
    /// The conversation it is in.
    pub session: Option<String>,
}

impl Reader {
    /// Returns whether anybody needs to know what it saw: people confirm by their word, whatever they read.
    pub fn is_watched(&self) -> bool {
        match self.agent.role() {
            Role::Human => false,
            Role::Agent | Role::Ci | Role::Import | Role::Peer => true,
        }
    }

    /// Returns the run it names: the one it says it works in, or else that of its conversation.
    pub fn named_run(&self) -> Option<String> {
        let session = self.session.as_deref();
        let conversation = || session.map(|it| name::conversation(&self.agent, it));
        self.run.clone().or_else(conversation)
    }

    /// Returns the name of the run that Ken makes for what it reads outside any other.
    pub fn implicit_run(&self) -> String {
        name::implicit(&self.agent, self.session.as_deref())
    }

    /// Returns the note that it was shown `entries`, if anybody needs one.
    pub fn shown(&self, entries: &[EntryId], how: How) -> Option<Note> {
        if entries.is_empty() {
            return None;
        }
        if SHOWN_MAX < entries.len() {
            return self.saw_everything(how);
        }
        self.is_watched().then(|| Note::Shown {
            agent: self.agent.clone(),
            entries: entries.to_vec(),
            how,
        })
    }

    /// Returns the note that it saw more entries than anybody counts, if anybody needs one.
    pub fn saw_everything(&self, how: How) -> Option<Note> {
        self.is_watched().then(|| Note::SawEverything {
            agent: self.agent.clone(),
            how,
        })
    }

    /// Returns the note of what chance decided about it, if it decided anything.
    pub fn pushed(&self, offers: Vec<Offer>) -> Option<Note> {
        let is_told = self.is_watched() && !offers.is_empty();
        is_told.then(|| Note::Pushed {
            agent: self.agent.clone(),
            offers,
        })
    }

    /// Returns the note of what fitted and had no room, if there was any.
    pub fn passed(&self, entries: Vec<EntryId>) -> Option<Note> {
        let is_told = self.is_watched() && !entries.is_empty();
        is_told.then(|| Note::Passed {
            agent: self.agent.clone(),
            entries,
        })
    }
}

/// Returns the notes that begin a run which nobody watches: it opens, and its one agent joins.
pub fn unwitnessed(id: &str, manner: Manner, agent: &Actor, session: Option<&str>) -> [Note; 2] {
    let opened = Note::Opened {
        run: id.to_owned(),
        manner,
        witness: Witness::Nobody,
        thread: None,
        task: None,
    };
    let joined = Note::Joined {
        agent: agent.clone(),
        member: Member {
            session: session.map(ToOwned::to_owned),
            ..Member::default()
        },
    };
    [opened, joined]
}

#[cfg(test)]
mod tests {
    use super::super::{Noted, Run};
    use super::*;
    use crate::event::Arm;
    use crate::time::Timestamp;

    fn entries(count: u32) -> Vec<EntryId> {
        let id = |n: u32| format!("L-{n:08}").parse().unwrap();
        (0..count).map(id).collect()
    }

    fn reader(agent: &str) -> Reader {
        Reader {
            agent: agent.parse().unwrap(),
            run: None,
            session: Some("s".to_owned()),
        }
    }

    #[test]
    fn of_people_nothing_is_noted_and_nothing_is_noted_of_nothing() {
        let offer = Offer {
            entry: entries(1)[0],
            arm: Arm::Shown,
            propensity_milli: 0,
        };
        let told = |reader: &Reader, count: u32| {
            let offers = vec![offer; count as usize];
            [
                reader.shown(&entries(count), How::Pull),
                reader.pushed(offers),
                reader.passed(entries(count)),
            ]
        };
        assert_eq!(told(&reader("human:ada"), 1), [None, None, None]);
        assert_eq!(reader("human:ada").saw_everything(How::File), None);
        for agent in ["agent:a", "ci:a", "import:a", "peer:a"] {
            assert!(told(&reader(agent), 1).iter().all(Option::is_some));
            assert_eq!(told(&reader(agent), 0), [None, None, None]);
        }
    }

    #[test]
    fn whoever_was_shown_more_than_a_note_names_saw_everything() {
        let (reader, max) = (reader("agent:a"), u32::try_from(SHOWN_MAX).unwrap());
        let shown = |count: u32| reader.shown(&entries(count), How::Pull).unwrap();
        assert!(matches!(shown(max), Note::Shown { entries, .. } if entries.len() == SHOWN_MAX));
        let how = How::Pull;
        assert!(matches!(shown(max + 1), Note::SawEverything { how: it, .. } if it == how));
    }

    #[test]
    fn a_run_goes_before_the_conversation_and_without_both_none_is_named() {
        let mut it = reader("agent:a");
        let conversation = name::conversation(&it.agent, "s");
        assert_eq!(it.named_run(), Some(conversation));
        assert_eq!(it.implicit_run(), name::implicit(&it.agent, Some("s")));
        it.run = Some("R-1".to_owned());
        assert_eq!(it.named_run().as_deref(), Some("R-1"));
        (it.run, it.session) = (None, None);
        assert_eq!(it.named_run(), None);
    }

    #[test]
    fn an_unwitnessed_run_has_one_agent_that_nobody_vouches_for() {
        let agent: Actor = "agent:a".parse().unwrap();
        let notes = unwitnessed("C-1", Manner::Explicit, &agent, Some("s"));
        let noted = notes.map(|note| Noted {
            at: Timestamp::default(),
            by: agent.clone(),
            note,
        });
        let run = Run::of(noted).unwrap();
        assert_eq!((run.id.as_str(), run.manner), ("C-1", Manner::Explicit));
        assert_eq!(run.agents[&agent].member.session.as_deref(), Some("s"));
        assert!(!run.is_witnessed(&agent));
    }
}
