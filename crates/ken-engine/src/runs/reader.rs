//! Who reads, and what they were shown.
//!
//! Whoever is given entries outside any run, or names one that is not open on this machine, gets a run that Ken
//! makes. Such a run belongs to an agent and its session, not to a process or an hour, and confirms nothing.

use ken_core::decide::Proposal;
use ken_core::entry::Entry;
use ken_core::event::SourceRun;
use ken_core::id::EntryId;
use ken_core::run::blind;
use ken_core::run::reader::{SHOWN_MAX, unwitnessed};
use ken_core::run::{How, Manner, Note, Offer, Run};
use ken_core::text::Tag;
use ken_ledger::layout::KEN_DIR;

use super::store::Store;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::id_of;

pub use ken_core::run::reader::Reader;

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
        self.note_reading(reader, reader.shown(entries, how))
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
        self.note_reading(reader, reader.saw_everything(how))
    }

    /// Returns what chance decides about giving `entries` to `reader`.
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
        Ok(blind::offers(&run, &reader.agent, policy, entries))
    }

    /// Writes down what chance decided, and which entries fitted and had no room.
    pub(crate) fn note_pushed(
        &mut self,
        reader: &Reader,
        offers: Vec<Offer>,
        passed: Vec<EntryId>,
    ) -> Result<(), Error> {
        self.note_reading(reader, reader.pushed(offers))?;
        match reader.passed(passed) {
            // Only a run that somebody opened learns from it.
            Some(note) if self.open_id(reader)?.is_some() => self.note_reading(reader, Some(note)),
            Some(_) | None => Ok(()),
        }
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
            let session = reader.session.as_deref();
            let notes = unwitnessed(&id, Manner::Implicit, &reader.agent, session).into_iter();
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
        let Some(id) = reader.named_run() else {
            return self.only_conversation_of(&reader.agent);
        };
        Ok(Store::of(&self.place)?.is_open(&id)?.then_some(id))
    }

    /// Writes a note down that somebody needs.
    fn note_reading(&mut self, reader: &Reader, note: Option<Note>) -> Result<(), Error> {
        let Some(note) = note else {
            return Ok(());
        };
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
