//! The verbs: add, revise, cite, confirm, retract, restore, archive, link, undo.

use std::sync::Arc;

use ken_core::actor::Actor;
use ken_core::citation::Evidence;
use ken_core::content::{Changes, Scope};
use ken_core::decide::{self, Draft, Proposal, Refusal};
use ken_core::entry::Entry;
use ken_core::event::{
    ArchiveReason, Channel, Event, Feedback, Overlay, Recorded, Relation, RetractReason, Switch,
};
use ken_core::id::{EntryId, EventId};
use ken_core::status::Status;
use ken_core::store::{Filter, Store as _};
use ken_core::text::{Note, Tag};
use ken_core::time::Date;
use ken_core::tombstone::Stones;

use crate::engine::Engine;
use crate::error::Error;

/// Entries written with one fsync where many are added in one process.
pub const BATCH_MAX: usize = 100;

/// Tries at an entry id nobody has yet; two in a row taken is already beyond belief.
const ID_TRIES: usize = 8;

impl Engine {
    /// Adds one entry.
    pub fn add(&mut self, proposal: Proposal, by: &Actor) -> Result<Entry, Error> {
        let mut ids = self.add_many(vec![proposal], by)?;
        self.entry(ids.remove(0))
    }

    /// Adds entries, durably in one step for up to [`BATCH_MAX`] of them.
    ///
    /// All are checked before the first is written.
    pub fn add_many(
        &mut self,
        proposals: Vec<Proposal>,
        by: &Actor,
    ) -> Result<Vec<EntryId>, Error> {
        let stones = self.stones()?;
        let mut drafts = Vec::with_capacity(proposals.len());
        let mut ids = Vec::with_capacity(proposals.len());
        let mut ground = None;
        for mut proposal in proposals {
            self.ground(&mut proposal.content, &mut ground)?;
            stones.check(&proposal, by)?;
            let (event, entry) = self.fresh_entry_id(&proposal)?;
            drafts.push((Some(event), decide::propose(event, proposal)?));
            ids.push(entry);
        }
        self.absorb_before_writing()?;
        for batch in chunks(drafts) {
            self.record_as(batch, by)?;
        }
        self.render_due()?;
        Ok(ids)
    }

    /// Adds one entry without looking at the files of others: its own is written by the next command that writes
    /// entries. For who has no time.
    pub(crate) fn add_quickly(
        &mut self,
        mut proposal: Proposal,
        by: &Actor,
    ) -> Result<EntryId, Error> {
        let (event, entry) = self.admit_proposal(&mut proposal, by)?;
        let draft = decide::propose(event, proposal)?;
        self.record_as(vec![(Some(event), draft)], by)?;
        Ok(entry)
    }

    /// Checks what every proposal is checked for; returns the ids it gets.
    pub(crate) fn admit_proposal(
        &mut self,
        proposal: &mut Proposal,
        by: &Actor,
    ) -> Result<(EventId, EntryId), Error> {
        let stones = self.stones()?;
        self.ground(&mut proposal.content, &mut None)?;
        stones.check(proposal, by)?;
        self.fresh_entry_id(proposal)
    }

    /// Returns the claims that were taken back.
    fn stones(&mut self) -> Result<Arc<Stones>, Error> {
        if let Some(stones) = &self.stones {
            return Ok(Arc::clone(stones));
        }
        let stones = Arc::new(Stones::new(self.index.tombstones()?));
        self.stones = Some(Arc::clone(&stones));
        Ok(stones)
    }

    /// Words some fields of an entry anew.
    pub fn revise(
        &mut self,
        id: EntryId,
        mut changes: Changes,
        reason: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.ground_changes(&mut changes)?;
        self.change(id, by, |entry, by| {
            let draft = decide::revise(entry, changes, None, Channel::Command, reason)?;
            Ok(decide::worded_by(draft, entry, by))
        })
    }

    /// Adds evidence to an entry.
    pub fn cite(&mut self, id: EntryId, evidence: Evidence, by: &Actor) -> Result<Entry, Error> {
        let citation = evidence.cite(by, self.now());
        self.change(id, by, |entry, _| decide::cite(entry, citation))
    }

    /// Records that `by` agrees, as of `on`.
    pub fn confirm(&mut self, id: EntryId, on: Option<Date>, by: &Actor) -> Result<Entry, Error> {
        let on = on.unwrap_or_else(|| self.now().date());
        self.change(id, by, |entry, by| decide::confirm(entry, by, on))
    }

    /// Moves an entry on the status ladder.
    pub fn set_status(
        &mut self,
        id: EntryId,
        to: Status,
        reason: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.change(id, by, |entry, by| {
            decide::set_status(entry, to, by, reason)
        })
    }

    /// Takes a claim back.
    pub fn retract(
        &mut self,
        id: EntryId,
        reason: RetractReason,
        note: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.change(id, by, |entry, _| {
            decide::retract(entry, reason, Channel::Command, note)
        })
    }

    /// Brings an archived or retracted entry back.
    pub fn restore(
        &mut self,
        id: EntryId,
        reason: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.change(id, by, |entry, _| decide::restore(entry, reason))
    }

    /// Lays one entry aside.
    pub fn archive(&mut self, id: EntryId, by: &Actor) -> Result<Entry, Error> {
        self.change(id, by, |entry, _| {
            decide::archive(entry, ArchiveReason::Manual)
        })
    }

    /// Lays every entry aside that nobody confirmed for more than `days`; returns which.
    pub fn archive_older_than(&mut self, days: u32, by: &Actor) -> Result<Vec<EntryId>, Error> {
        let today = self.now().date();
        let is_old = |entry: &Entry| {
            let last = entry.confirmation.last;
            last.is_some_and(|last| days < today.days_since(last))
        };
        self.archive_all(is_old, ArchiveReason::Age, by)
    }

    /// Lays every entry of a thread aside that reaches no further than it; returns which.
    pub fn archive_thread(&mut self, thread: &Tag, by: &Actor) -> Result<Vec<EntryId>, Error> {
        let is_of = |entry: &Entry| {
            let created = entry.created.as_ref();
            let own = created.and_then(|it| it.thread.as_ref());
            own == Some(thread) && entry.scope.value == Scope::Thread
        };
        self.archive_all(is_of, ArchiveReason::Thread, by)
    }

    fn archive_all(
        &mut self,
        which: impl Fn(&Entry) -> bool,
        because: ArchiveReason,
        by: &Actor,
    ) -> Result<Vec<EntryId>, Error> {
        self.absorb_before_writing()?;
        let mut all = self.list(&Filter::default())?;
        all.retain(which);
        let mut drafts = Vec::new();
        for entry in &all {
            drafts.push((None, decide::archive(entry, because)?));
        }
        for batch in chunks(drafts) {
            self.record_as(batch, by)?;
        }
        self.render_due()?;
        Ok(all.iter().map(|entry| entry.id).collect())
    }

    /// Records whether an entry helped.
    pub fn feedback(&mut self, id: EntryId, verdict: Feedback, by: &Actor) -> Result<Entry, Error> {
        self.change(id, by, |entry, _| decide::feedback(entry, verdict))
    }

    /// Puts a posterior that is stuck back to the prior.
    pub fn reset_confidence(
        &mut self,
        id: EntryId,
        reason: Note,
        by: &Actor,
    ) -> Result<Entry, Error> {
        let today = self.now().date();
        let validity = self.validity_of([&self.entry(id)?])?;
        let validity = validity.get(&id).copied().unwrap_or_default();
        self.change(id, by, |entry, by| {
            let posterior = entry.posterior(validity, today);
            decide::reset_confidence(entry, posterior, by, reason)
        })
    }

    /// Links an entry to another.
    pub fn link(
        &mut self,
        from: EntryId,
        to: EntryId,
        rel: Relation,
        by: &Actor,
    ) -> Result<Entry, Error> {
        let target = self.entry(to)?;
        self.change(from, by, |entry, _| decide::link(entry, &target, rel))
    }

    /// Sets or clears an operator's mark.
    pub fn set_overlay(
        &mut self,
        id: EntryId,
        overlay: Overlay,
        state: Switch,
        note: Option<Note>,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.change(id, by, |entry, _| {
            decide::set_overlay(entry, overlay, state, note)
        })
    }

    /// Lets a quarantined entry out.
    pub fn lift_quarantine(
        &mut self,
        id: EntryId,
        reason: Note,
        by: &Actor,
    ) -> Result<Entry, Error> {
        self.may_be_lifted(&self.entry(id)?)?;
        self.change(id, by, |entry, by| {
            decide::lift_quarantine(entry, by, reason)
        })
    }

    /// Takes back the last event `by` wrote; returns that event and the entry after it.
    pub fn undo(&mut self, by: &Actor) -> Result<(Recorded, Entry), Error> {
        self.absorb_before_writing()?;
        let last = self.index.latest_by(by)?.ok_or_else(|| {
            Error::Usage(format!("{by} has written nothing that could be undone"))
        })?;
        let id = last
            .event
            .entries()
            .next()
            .ok_or(Refusal::CannotUndo { what: "event" })?;
        let entry = self.entry(id)?;
        let history: Vec<Event> = self
            .history(id)?
            .into_iter()
            .map(|recorded| recorded.event)
            .collect();
        let draft = decide::undo(&entry, &last.event, &history)?;
        self.record(vec![draft], by)?;
        self.render_due()?;
        Ok((last, self.entry(id)?))
    }

    /// Absorbs what people edited, decides on the entry as it then stands, writes and renders.
    fn change(
        &mut self,
        id: EntryId,
        by: &Actor,
        decide: impl FnOnce(&Entry, &Actor) -> Result<Draft, Refusal>,
    ) -> Result<Entry, Error> {
        self.absorb_before_writing()?;
        let draft = decide(&self.entry(id)?, by)?;
        self.record(vec![draft], by)?;
        self.render_due()?;
        self.entry(id)
    }

    /// Returns the ids a proposal would get, unless it was taken back before.
    pub(crate) fn admissible(
        &mut self,
        proposal: &Proposal,
        by: &Actor,
    ) -> Result<(EventId, EntryId), Error> {
        self.stones()?.check(proposal, by)?;
        self.fresh_entry_id(proposal)
    }

    fn fresh_entry_id(&mut self, proposal: &Proposal) -> Result<(EventId, EntryId), Error> {
        for _ in 0..ID_TRIES {
            let event = EventId::new(self.world.now(), self.world.random());
            let entry = EntryId::created_by(event, proposal.kind);
            if self.index.entry(entry)?.is_none() {
                return Ok((event, entry));
            }
        }
        Err(Error::Usage(
            "no free entry id was found; try again".to_owned(),
        ))
    }
}

/// Splits drafts into batches of [`BATCH_MAX`].
fn chunks(
    drafts: Vec<(Option<EventId>, Draft)>,
) -> impl Iterator<Item = Vec<(Option<EventId>, Draft)>> {
    let mut rest = drafts.into_iter();
    std::iter::from_fn(move || {
        let batch: Vec<_> = rest.by_ref().take(BATCH_MAX).collect();
        (!batch.is_empty()).then_some(batch)
    })
}
