//! Who reads, and what they were shown.
//!
//! Whoever is given entries outside any run, or names one that is not open on this machine, gets a run that Ken
//! makes. Such a run belongs to an agent and its session, not to a process or an hour, and confirms nothing.

use ken_core::actor::{Actor, Role};
use ken_core::decide::Proposal;
use ken_core::entry::Entry;
use ken_core::event::SourceRun;
use ken_core::id::EntryId;
use ken_core::review::ReviewPolicy;
use ken_core::run::blind::{may_be_withheld, offer};
use ken_core::run::name;
use ken_core::run::{How, Manner, Member, Note, Offer, Run, Witness};
use ken_core::text::Tag;
use ken_ledger::layout::KEN_DIR;

use super::store::Store;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::id_of;

/// Entries a note names; who was shown more saw everything.
const SHOWN_MAX: usize = 500;

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
    fn is_watched(&self) -> bool {
        match self.agent.role() {
            Role::Human => false,
            Role::Agent | Role::Ci | Role::Import | Role::Peer => true,
        }
    }

    /// Returns the name of the run Ken makes for it.
    pub(super) fn implicit_run(&self) -> String {
        name::implicit(&self.agent, self.session.as_deref())
    }
}

impl Engine {
    /// Writes down that `reader` is about to be shown `entries`.
    ///
    /// In a run somebody opened, nothing is shown that cannot be written down.
    pub fn note_shown(
        &mut self,
        reader: &Reader,
        entries: &[EntryId],
        how: How,
    ) -> Result<(), Error> {
        if !reader.is_watched() || entries.is_empty() {
            return Ok(());
        }
        if SHOWN_MAX < entries.len() {
            return self.note_saw_everything(reader, how);
        }
        let (agent, entries) = (reader.agent.clone(), entries.to_vec());
        let note = Note::Shown {
            agent,
            entries,
            how,
        };
        self.note_reading(reader, note)
    }

    /// Writes down that `reader` read a file; one that is not Ken's tells of no entry.
    pub fn note_read(&mut self, reader: &Reader, path: &str) -> Result<(), Error> {
        let Some(below) = path
            .strip_prefix(KEN_DIR)
            .map(|it| it.trim_start_matches('/'))
        else {
            return Ok(());
        };
        let name = below.rsplit('/').next().unwrap_or_default();
        match id_of(name) {
            Some(id) => self.note_shown(reader, &[id], How::File),
            None => self.note_saw_everything(reader, How::File),
        }
    }

    /// Writes down that `reader` saw more entries than anybody counts.
    pub fn note_saw_everything(&mut self, reader: &Reader, how: How) -> Result<(), Error> {
        if !reader.is_watched() {
            return Ok(());
        }
        let agent = reader.agent.clone();
        self.note_reading(reader, Note::SawEverything { agent, how })
    }

    /// Returns what chance decides about giving `entries` to `reader`.
    ///
    /// Nothing outside a run that somebody opened: nobody would learn anything from it.
    pub(crate) fn offers<'e>(
        &self,
        reader: &Reader,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> Result<Vec<Offer>, Error> {
        let run = self.open_run_of(reader)?.filter(|_| reader.is_watched());
        let Some(run) = run else {
            return Ok(Vec::new());
        };
        let policy = self.review_policy()?;
        let mut all: Vec<Actor> = run.agents.into_keys().collect();
        all.retain(|it| !it.is_human());
        let offers = entries.map(|entry| {
            let share = share_milli(entry, policy);
            offer(entry.id, &run.id, &reader.agent, &all, share)
        });
        Ok(offers.collect())
    }

    /// Writes down what chance decided, and which entries fitted and had no room.
    pub(crate) fn note_pushed(
        &mut self,
        reader: &Reader,
        offers: Vec<Offer>,
        passed: Vec<EntryId>,
    ) -> Result<(), Error> {
        let agent = reader.agent.clone();
        if !offers.is_empty() {
            let agent = agent.clone();
            self.note_reading(reader, Note::Pushed { agent, offers })?;
        }
        if passed.is_empty() || self.open_id(reader)?.is_none() {
            return Ok(());
        }
        let entries = passed;
        self.note_reading(reader, Note::Passed { agent, entries })
    }

    /// Adds entries that `reader` wrote, as part of the run it works in.
    pub fn add_for(
        &mut self,
        reader: &Reader,
        mut proposals: Vec<Proposal>,
    ) -> Result<Vec<EntryId>, Error> {
        let run = self.open_run_of(reader)?;
        for (proposal, run) in proposals.iter_mut().zip(run.iter().cycle()) {
            proposal.thread = proposal.thread.take().or_else(|| run.thread.clone());
            proposal.run = Some(SourceRun {
                id: run.id.clone(),
                outcome: None,
            });
        }
        let entries = self.add_many(proposals, &reader.agent)?;
        if let Some(run) = run {
            let agent = reader.agent.clone();
            for part in entries.chunks(SHOWN_MAX) {
                let (agent, entries) = (agent.clone(), part.to_vec());
                self.note_run(&run.id, Note::Added { agent, entries }, &reader.agent)?;
            }
        }
        Ok(entries)
    }

    /// Returns the run that what `reader` does belongs to; makes one where there is none.
    pub fn run_of(&mut self, reader: &Reader) -> Result<String, Error> {
        match self.open_id(reader)? {
            Some(id) => Ok(id),
            None => self.implicit_run_of(reader),
        }
    }

    /// Returns the run that what `reader` found belongs to: one it names, or that of the conversation it names. Whoever names
    /// neither may be anybody, and confirms nothing.
    pub(super) fn run_of_finder(&mut self, reader: &Reader) -> Result<String, Error> {
        match reader.run.is_some() || reader.session.is_some() {
            true => self.run_of(reader),
            false => self.implicit_run_of(reader),
        }
    }

    fn implicit_run_of(&mut self, reader: &Reader) -> Result<String, Error> {
        let store = Store::of(&self.place)?;
        let id = reader.implicit_run();
        if !store.is_open(&id)? {
            let opened = Note::Opened {
                run: id.clone(),
                manner: Manner::Implicit,
                witness: Witness::Nobody,
                thread: None,
                task: None,
            };
            let joined = Note::Joined {
                agent: reader.agent.clone(),
                member: Member {
                    session: reader.session.clone(),
                    ..Member::default()
                },
            };
            let notes = [opened, joined].into_iter();
            let notes = notes
                .map(|note| self.admitted(note, &reader.agent))
                .collect::<Result<Vec<_>, _>>()?;
            store.create_or_join(&id, &notes)?;
        }
        Ok(id)
    }

    /// Returns the thread of work `reader` is in.
    pub fn thread_of(&self, reader: &Reader) -> Result<Option<Tag>, Error> {
        Ok(self.open_run_of(reader)?.and_then(|run| run.thread))
    }

    /// Returns the run `reader` names, if it is open here; of who names none, that of its conversation.
    pub fn open_run_of(&self, reader: &Reader) -> Result<Option<Run>, Error> {
        let open = self.open_id(reader)?;
        open.map(|id| self.run(&id)).transpose()
    }

    /// Returns the name of the run `reader` works in, if that is open here.
    fn open_id(&self, reader: &Reader) -> Result<Option<String>, Error> {
        let Some(id) = &reader.run else {
            return self.conversation_of(&reader.agent, reader.session.as_deref());
        };
        let is_open = Store::of(&self.place)?.is_open(id)?;
        Ok(is_open.then(|| id.clone()))
    }

    fn note_reading(&mut self, reader: &Reader, note: Note) -> Result<(), Error> {
        let is_open = self.open_id(reader)?.is_some();
        let written = self
            .run_of(reader)
            .and_then(|id| self.note_run(&id, note, &reader.agent));
        match written {
            // Such a run confirms nothing anyway, and a tree nobody may write to is still read.
            Err(_) if !is_open => Ok(()),
            other => other,
        }
    }
}

/// Returns the share of agents an entry is kept from.
fn share_milli(entry: &Entry, policy: ReviewPolicy) -> u16 {
    match may_be_withheld(entry) {
        true => policy.share_milli(entry.since_confirmation(), entry.tallies.worth()),
        false => 0,
    }
}
