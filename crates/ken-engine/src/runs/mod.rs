//! Runs: opened, noted, closed. What an agent is shown is written down before it is shown.
//!
//! While a run is open its notes lie on this machine (`store`). Reading commands add to them (`reader`), a
//! finding is compared with what is known (`matching`), and closing decides what becomes of the entries the
//! run touched (`closing`) and writes that to the ledger, where everybody learns of it.

mod closing;
mod conversation;
mod matching;
mod policy;
mod reader;
mod recording;
pub(crate) mod store;

use std::collections::BTreeSet;

use ken_core::actor::Actor;
use ken_core::event::RunClosed;
use ken_core::id::EntryId;
use ken_core::run::accumulate::SCALE_MILLI;
use ken_core::run::close::Ending;
use ken_core::run::exposure::Sight;
use ken_core::run::name::IMPLICIT;
use ken_core::run::{
    ABANDONED_AFTER_MS, AGENTS_MAX, Finding, Manner, Member, Note, Noted, Run, Witness,
};
use ken_core::text::{Note as Words, Tag};
use ken_ledger::Place;
use ken_ledger::disk::LockGuard;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::{Error, Kind};
use closing::Seen;
use store::Store;

pub use ken_core::run::known::Recorded;
pub use ken_core::run::written::{Closed, PastRun};
pub use reader::Reader;

/// A run to be opened.
#[derive(Clone, Debug, Default)]
pub struct NewRun {
    /// Its name; made up where nobody gives one.
    pub id: Option<String>,
    pub agents: Vec<(Actor, Member)>,
    pub witness: Witness,
    pub thread: Option<Tag>,
    pub task: Option<Words>,
}

impl Engine {
    /// Opens a run. Runs that nobody closed are closed first, as abandoned.
    ///
    /// Work begins here: the health report is brought up, and what maintenance may do unasked is done.
    pub fn open_run(&mut self, wish: NewRun, by: &Actor) -> Result<Run, Error> {
        self.sweep_runs(by)?;
        let run = self.begin_run(wish, by)?;
        self.keep_house(by);
        self.note_health();
        Ok(run)
    }

    pub(super) fn begin_run(&mut self, wish: NewRun, by: &Actor) -> Result<Run, Error> {
        if AGENTS_MAX < wish.agents.len() {
            let told = format!("a run has at most {AGENTS_MAX} agents");
            return Err(Error::Usage(told));
        }
        let id = match wish.id {
            Some(id) => id,
            None => format!("R-{:010x}", self.world.random() >> 88),
        };
        if id.starts_with(IMPLICIT) {
            let told = format!("`{IMPLICIT}` begins the names of runs that Ken makes itself");
            return Err(Error::Usage(told));
        }
        // It becomes the name of a file, so it cannot be written in another way.
        self.guard.admit_text(&Value::from(id.clone()), by)?;
        let opened = Note::Opened {
            run: id.clone(),
            manner: Manner::Explicit,
            witness: wish.witness,
            thread: wish.thread,
            task: wish.task,
        };
        let joined = wish.agents.into_iter().map(|(agent, member)| Note::Joined {
            agent,
            member: Member {
                declared: true,
                ..member
            },
        });
        let notes = [opened].into_iter().chain(joined);
        let notes = notes
            .map(|note| self.admitted(note, by))
            .collect::<Result<Vec<Noted>, Error>>()?;
        Store::of(&self.place)?.create(&id, &notes)?;
        self.run(&id)
    }

    /// Writes down what happened in an open run.
    pub fn note_run(&mut self, id: &str, note: Note, by: &Actor) -> Result<(), Error> {
        let noted = self.admitted(note, by)?;
        Store::of(&self.place)?.append(id, &noted)
    }

    /// Writes down what an agent found, and which entries say so already.
    pub fn observe(&mut self, reader: &Reader, mut finding: Finding) -> Result<Run, Error> {
        let _in = tracing::info_span!("observe").entered();
        let beyond = |milli: u16| SCALE_MILLI < milli;
        if beyond(finding.severity_milli) || beyond(finding.confidence_milli) {
            let told = "severity and confidence go from 0 to 10".to_owned();
            return Err(Error::Usage(told));
        }
        self.ground_anchors(&mut finding.evidence)?;
        let says: BTreeSet<EntryId> = self.entries_saying(&finding.statement)?;
        let id = self.run_of_finder(reader)?;
        let note = Note::Observed {
            agent: reader.agent.clone(),
            finding: Box::new(finding),
            says,
        };
        self.note_run(&id, note, &reader.agent)?;
        self.run(&id)
    }

    /// Returns an open run.
    pub fn run(&self, id: &str) -> Result<Run, Error> {
        let notes = Store::of(&self.place)?.notes(id)?;
        Run::of(notes).ok_or_else(|| Error::Usage(format!("the notes of run `{id}` are damaged")))
    }

    /// Returns every open run, the oldest first.
    pub fn open_runs(&self) -> Result<Vec<Run>, Error> {
        self.open_runs_named(|_| true)
    }

    /// Returns the open runs that Ken made.
    fn implicit_runs(&self) -> Result<Vec<Run>, Error> {
        self.open_runs_named(|id| id.starts_with(IMPLICIT))
    }

    fn open_runs_named(&self, wanted: fn(&str) -> bool) -> Result<Vec<Run>, Error> {
        let store = Store::of(&self.place)?;
        let mut runs = Vec::new();
        for id in store.open()?.iter().filter(|id| wanted(id)) {
            runs.extend(Run::of(store.notes(id)?));
        }
        runs.sort_by(|a, b| (a.opened, &a.id).cmp(&(b.opened, &b.id)));
        Ok(runs)
    }

    /// Returns the runs that ended, in the order they did.
    pub fn past_runs(&self) -> Result<Vec<PastRun>, Error> {
        let ended = self.index.of_type::<RunClosed>()?;
        Ok(ended.iter().filter_map(PastRun::of).collect())
    }

    /// Returns how the last runs ended that are among the last `among` events, the latest first.
    pub(crate) fn last_runs(&self, among: u32) -> Result<Vec<PastRun>, Error> {
        let found = self.index.latest_of_type::<RunClosed>(among)?;
        Ok(found.iter().filter_map(PastRun::of).collect())
    }

    /// Returns what an agent saw in its conversation before a run, and whether anybody watched it then.
    pub(crate) fn session_before(&self, session: &str) -> Result<Option<Sight>, Error> {
        let store = Store::of(&self.place)?;
        match store.remembers(session)? {
            true => Ok(Some(store.session(session)?)),
            false => Ok(None),
        }
    }

    /// Closes runs nobody has written to for long; returns which.
    pub fn sweep_runs(&mut self, by: &Actor) -> Result<Vec<String>, Error> {
        let now = self.now();
        let mut swept = Vec::new();
        for run in self.open_runs()? {
            if run.last.plus_millis(ABANDONED_AFTER_MS) < now {
                self.give_up(&run, by)?;
                swept.push(run.id);
            }
        }
        Store::of(&self.place)?.forget_old(now)?;
        Ok(swept)
    }

    /// Ends a run that nobody ended. One that cannot be closed as it is, whatever is wrong with it, is forgotten: it must not
    /// be in the way of everybody who opens another.
    fn give_up(&mut self, run: &Run, by: &Actor) -> Result<(), Error> {
        // Nobody saw its end, so nobody knows what else was shown.
        let ended = self.end_run_seen(&run.id, Seen::InPart, &Ending::abandoned(), by);
        match ended {
            Err(error) if matches!(error.kind(), Kind::User | Kind::Refused) => {
                let store = Store::of(&self.place)?;
                if !store.is_open(&run.id)? {
                    // Somebody else ended it.
                    return Ok(());
                }
                tracing::warn!(%error, "a run that nobody ended cannot be closed and is forgotten");
                store.close(run)
            }
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }

    /// Returns a note as the guard lets it in: notes are files too.
    fn admitted(&self, note: Note, by: &Actor) -> Result<Noted, Error> {
        let (at, by) = (self.now(), by.clone());
        Ok(self.guard.admit_note(Noted { at, by, note })?)
    }
}

/// Waits until nobody else closes a run or does what may follow from one.
pub(crate) fn closing_lock(place: &Place) -> Result<Option<LockGuard>, Error> {
    Store::of(place)?.lock()
}
