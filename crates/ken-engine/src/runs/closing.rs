//! Closing a run: what it touched is gathered, the core decides, the ledger keeps it.

use std::collections::BTreeMap;

use ken_core::actor::Actor;
use ken_core::decide;
use ken_core::facts::Validity;
use ken_core::id::EntryId;
use ken_core::run::accumulate::{Gain, gains};
use ken_core::run::close::{Closing, Ending, Touched, close, touched};
use ken_core::run::exposure::Sight;
use ken_core::run::written::{Closed, Stamped, Taken, drafts, ending_id, proposal};
use ken_core::run::{Note, Run};
use ken_core::store::Store as _;
use tracing::field::Empty;

use super::store::Store;
use crate::engine::Engine;
use crate::error::Error;

/// How much of a run somebody saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Whole,
    /// Nobody knows how it ended.
    InPart,
}

impl Engine {
    /// Closes a run and writes down everything that follows from it.
    ///
    /// Decides on what the ledger says: edits of entry files are absorbed by the next command that writes
    /// entries, which also brings the files of those up that this one touched.
    pub fn close_run(&mut self, id: &str, ending: &Ending, by: &Actor) -> Result<Closed, Error> {
        let span = tracing::info_span!("close_run", touched = Empty, gained = Empty);
        let _in = span.enter();
        let closed = self.end_run(id, ending, by)?;
        span.record("touched", closed.closing.effects.len());
        span.record("gained", closed.gained.len());
        self.keep_house(by);
        Ok(closed)
    }

    /// Closes a run and does nothing beside.
    pub(super) fn end_run(
        &mut self,
        id: &str,
        ending: &Ending,
        by: &Actor,
    ) -> Result<Closed, Error> {
        self.end_run_seen(id, Seen::Whole, ending, by)
    }

    /// Like [`Self::end_run`], of a run whose end nobody may have seen.
    pub(super) fn end_run_seen(
        &mut self,
        id: &str,
        seen: Seen,
        ending: &Ending,
        by: &Actor,
    ) -> Result<Closed, Error> {
        let store = Store::of(&self.place)?;
        // Two that close at once would count everything twice.
        let _lock = store.lock()?;
        let mut run = self.run(id)?;
        match seen {
            Seen::Whole => {}
            Seen::InPart => run.add(Note::Gap),
        }
        let last = ending_id(&run);
        // It stands where a process was stopped between writing it and removing the notes.
        let is_written = self.index.event(last)?.is_some();
        let Taken { gained, refused } = match is_written {
            true => Taken::default(),
            false => self.accumulate(&mut run, ending, by)?,
        };
        let touched = self.touched(&run)?;
        let mut closing = self.decide_closing(&run, ending, &touched)?;
        closing.closed.extracted += u32::try_from(gained.len()).unwrap_or(u32::MAX);
        if !is_written {
            let missed = self.missed_drafts()?;
            let drafts = drafts(&run, &closing, &touched, missed, self.now().date())?;
            let drafts = self.unwritten(drafts)?;
            self.record_as(drafts, by)?;
        }
        store.close(&run)?;
        Ok(Closed {
            run,
            closing,
            gained,
            refused,
        })
    }

    /// Returns the drafts that an interrupted closing did not write.
    fn unwritten(&self, drafts: Vec<Stamped>) -> Result<Vec<Stamped>, Error> {
        let mut new = Vec::with_capacity(drafts.len());
        for (id, draft) in drafts {
            let written = id.map(|id| self.index.event(id)).transpose()?.flatten();
            new.extend(written.is_none().then_some((id, draft)));
        }
        Ok(new)
    }

    fn decide_closing(
        &self,
        run: &Run,
        ending: &Ending,
        touched: &[Touched],
    ) -> Result<Closing, Error> {
        let outside = self.implicit_runs()?;
        let mut before = BTreeMap::new();
        for agent in run.agents.keys() {
            before.insert(agent, self.seen_before(run, agent, &outside)?);
        }
        let before = |agent: &Actor| before.get(agent).cloned().unwrap_or_default();
        let policy = self.review_policy()?;
        Ok(close(run, ending, touched, &before, policy, self.now()))
    }

    /// Returns every entry a run showed, withheld, used, wrote or found again.
    fn touched(&mut self, run: &Run) -> Result<Vec<Touched>, Error> {
        let ids = run.touched();
        let mut entries = Vec::with_capacity(ids.len());
        for id in ids {
            entries.extend(self.index.entry(id)?);
        }
        // What the code says matters for what was used, where it decides how evidence ages.
        let validity = self.validity_of(entries.iter().filter(|it| run.uses(it.id)))?;
        let validity = |id| validity.get(&id).copied();
        let validity = |id| validity(id).unwrap_or(Validity::Unverifiable);
        Ok(touched(run, entries, validity))
    }

    /// Returns what an agent saw before a run: in its session, and outside any run somebody opened.
    fn seen_before(&self, run: &Run, agent: &Actor, outside: &[Run]) -> Result<Sight, Error> {
        let in_session = match run.session_of(agent) {
            Some(session) => Store::of(&self.place)?.session(session)?,
            None => Sight::default(),
        };
        Ok(run.seen_before(agent, in_session, outside))
    }

    /// Makes entries of findings that nobody has said before; notes which entries say the others.
    fn accumulate(&mut self, run: &mut Run, ending: &Ending, by: &Actor) -> Result<Taken, Error> {
        for found in run.unsaid() {
            // Somebody else may have written it down since.
            found.says = self.entries_saying(&found.finding.statement)?;
        }
        let mut taken = Taken::default();
        for gained in gains(run, ending.outcome) {
            match self.take_up(&gained, run, ending, by) {
                Ok(id) => taken.gained.push(id),
                Err(
                    why @ (Error::Refused(_)
                    | Error::Ungrounded { .. }
                    | Error::Guarded(_)
                    | Error::Worthless { .. }
                    | Error::TooLarge(_)
                    | Error::Usage(_)),
                ) => {
                    taken.refused.push((gained.finding, why.to_string()));
                }
                Err(other) => return Err(other),
            }
        }
        Ok(taken)
    }

    /// Adds an entry, through the same door as every other.
    fn take_up(
        &mut self,
        gained: &Gain,
        run: &Run,
        ending: &Ending,
        by: &Actor,
    ) -> Result<EntryId, Error> {
        let now = self.now();
        let proposal = proposal(gained, run, ending, now);
        let proposal = proposal.map_err(|error| Error::Usage(format!("{error}")))?;
        // Whoever found it says so, not whoever closes the run.
        let finder = gained.found_by.first().unwrap_or(by);
        let id = self.add_many(vec![proposal], finder)?.remove(0);
        let entry = self.entry(id)?;
        let drafts = decide::after_gain(&entry, gained, run, ending.outcome, now.date())?;
        self.record(drafts, by)?;
        Ok(id)
    }
}
