//! Takes from a hub what this clone lacks, and brings back what a force-push or reset took away.
//!
//! An event stands in this work tree, or elsewhere in the repository (on another branch, in a stash, in another worktree),
//! or nowhere. What stands elsewhere stays there: knowledge of a branch comes with its merge. What stands nowhere is
//! written here, whether this clone never saw it or lost it.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::actor::Actor;
use ken_core::event::{ApprovalGranted, EventBlanked, Recorded, Retracted};
use ken_core::id::{EntryId, EventId};
use ken_core::state::blanks;
use ken_core::store::Store as _;
use ken_guard::Written;
use ken_remote::wire::{Cursor, PULL_EVENTS_MAX, Pulled};
use ken_remote::{Hub, HubError};

use super::file::Remote;
use super::known::{Known, Told, Why};
use super::{Progress, RemoteError};
use crate::engine::Engine;
use crate::error::Error;

/// What a pull brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullReport {
    /// Events this clone never saw.
    pub new: usize,
    /// Events this clone had and lost, and has again.
    pub healed: Vec<EventId>,
    /// Events it lost that the hub does not have any more either.
    pub gone: Vec<EventId>,
    /// Events in another form than this clone had them.
    pub better: usize,
    /// Events that stand on another branch, in a stash or in another worktree, and stay there.
    pub elsewhere: usize,
    /// Events this clone does not let in: what its guard refuses or would let wait, and forged copies.
    pub declined: Vec<Told>,
    /// Entries that came quarantined, and why: agents are not shown them until a person lets them out.
    pub quarantined: BTreeMap<EntryId, String>,
    /// What people decided that came with this pull, by who it is said to be from. A hub is believed as a git remote is.
    pub decisions: BTreeMap<Actor, Decisions>,
    /// Lines that are no event as this build reads them.
    pub unreadable: usize,
    /// Whether the hub is not as far as it was, so that everything was read again.
    pub restarted: bool,
}

/// Decisions only people take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    pub approvals: usize,
    pub retractions: usize,
    /// Orders to remove the data of an event.
    pub blankings: usize,
}

/// Events to be written.
type Batch = BTreeMap<EventId, Recorded>;

/// Events that stay out, each with the line the hub sent.
type Declined = Vec<(Told, Box<str>)>;

/// One pull under way.
struct Pass {
    known: Known,
    /// Ids that must not be written in full.
    blanked: BTreeSet<EventId>,
    /// Events the hub is known to hold that stand nowhere here, until a page has them.
    lost: BTreeSet<EventId>,
    /// Events the hub was known to hold, until a page has them, where its whole log is read.
    unseen: BTreeSet<EventId>,
    /// Entries of quarantined events that were taken.
    set_apart: BTreeSet<EntryId>,
    /// Events that stand elsewhere in the repository, once somebody asked.
    elsewhere: Option<BTreeSet<EventId>>,
    report: PullReport,
    done: usize,
}

impl Pass {
    /// Forgets what the hub was known to hold, because it is not as far as it was: what it lacks is offered with the next push.
    fn start_over(&mut self) -> Result<(), Error> {
        self.report.restarted = true;
        self.known.start_over()
    }
}

impl Engine {
    /// Takes every event this clone lacks.
    ///
    /// How far it came is remembered after each page; what was written stays written if the hub fails then.
    pub fn pull_events(
        &mut self,
        remote: &Remote,
        hub: &mut dyn Hub,
        progress: Progress<'_>,
    ) -> Result<PullReport, Error> {
        let known = Known::open(&self.place, remote)?;
        self.absorb_before_writing()?;
        let mut blanked = self.ledger.blanked_ids()?;
        blanked.extend(self.index.ordered_blank()?);
        let mut pass = Pass {
            known,
            blanked,
            lost: BTreeSet::new(),
            unseen: BTreeSet::new(),
            set_apart: BTreeSet::new(),
            elsewhere: None,
            report: PullReport::default(),
            done: 0,
        };
        self.find_lost(&mut pass)?;
        let result = self.take_pages(remote, hub, &mut pass, progress);
        // Orders to blank that came are obeyed as after a merge, also where the hub failed behind them.
        self.scrub_returned()?;
        self.render_due()?;
        result?;
        for id in &pass.set_apart {
            // What lets an entry out may have come with it.
            let held = self.held_entry(*id)?;
            let held = held.map(|it| (it.entry.id, it.why));
            pass.report.quarantined.extend(held);
        }
        Ok(pass.report)
    }

    /// Finds events that the hub holds and that stand nowhere in this repository.
    fn find_lost(&self, pass: &mut Pass) -> Result<(), Error> {
        let mut lost: BTreeSet<EventId> = pass.known.held().collect();
        self.index.each_line(&mut |id, _| {
            lost.remove(&id);
        })?;
        lost.retain(|id| !pass.known.declined(*id));
        if !lost.is_empty() {
            let elsewhere = self.elsewhere(pass)?;
            lost.retain(|id| !elsewhere.contains(id));
        }
        pass.lost = lost;
        Ok(())
    }

    /// Returns the events that stand elsewhere in this repository, asking git once a pull.
    fn elsewhere<'p>(&self, pass: &'p mut Pass) -> Result<&'p BTreeSet<EventId>, Error> {
        if pass.elsewhere.is_none() {
            pass.elsewhere = Some(self.ledger.elsewhere()?);
        }
        Ok(pass.elsewhere.get_or_insert_default())
    }

    /// Reads the hub's log page by page: from where the last pull ended, or from its beginning if something was lost.
    fn take_pages(
        &mut self,
        remote: &Remote,
        hub: &mut dyn Hub,
        pass: &mut Pass,
        progress: Progress<'_>,
    ) -> Result<(), Error> {
        let failed = |done| move |why: HubError| RemoteError::Hub { done, why };
        let from_start = !pass.lost.is_empty() || pass.known.may_read_more();
        let mut cursor = match from_start {
            true => Cursor::default(),
            false => pass.known.cursor,
        };
        // A hub that lost the end of its log may well know the place where this pull begins: ask for the furthest one.
        let reached = pass.known.reached;
        if cursor != reached && !hub.knows(reached).map_err(failed(0))? {
            pass.start_over()?;
            cursor = Cursor::default();
        }
        if from_start {
            pass.unseen = pass.known.held().collect();
        }
        loop {
            let page = match hub.pull(cursor, PULL_EVENTS_MAX) {
                Err(HubError::CursorUnknown { .. }) if !pass.report.restarted => {
                    pass.start_over()?;
                    cursor = Cursor::default();
                    continue;
                }
                other => other.map_err(failed(pass.done))?,
            };
            let goes_on = cursor.seq < page.cursor.seq && !page.events.is_empty();
            if page.more && !goes_on || (PULL_EVENTS_MAX as usize) < page.events.len() {
                let hub = remote.address.origin().to_owned();
                let why = "its pages do not go on, or are too long";
                return Err(failed(pass.done)(HubError::Answer { hub, why }).into());
            }
            self.take_page(&page, pass)?;
            cursor = page.cursor;
            // While lost events are sought, an earlier place than the one that was reached before is no news.
            if pass.known.cursor.seq <= cursor.seq {
                pass.known.move_to(cursor)?;
            }
            pass.done += page.events.len();
            progress(pass.done, None);
            if !page.more {
                break;
            }
        }
        pass.known.forget_held(&pass.unseen)?;
        pass.report.gone = pass.lost.iter().copied().collect();
        if from_start || 0 < pass.report.unreadable {
            pass.known.note_unread(0 < pass.report.unreadable)?;
        }
        Ok(())
    }

    /// Writes what this clone lacks of one page, then remembers that the hub holds all of it.
    fn take_page(&mut self, page: &Pulled, pass: &mut Pass) -> Result<(), Error> {
        let lines = page.events.iter().map(|raw| raw.get().as_bytes());
        let mut copies = Vec::with_capacity(page.events.len());
        for parsed in lines.map(Recorded::parse) {
            match parsed {
                Ok(copy) => copies.push(copy),
                Err(_) => pass.report.unreadable += 1,
            }
        }
        // An order beside its target holds before the target is written.
        let orders = copies.iter().filter_map(|copy| blanks(&copy.event));
        pass.blanked.extend(orders);
        let mut batch = Batch::new();
        let mut declined = Declined::new();
        for copy in &copies {
            self.take(copy, pass, (&mut batch, &mut declined))?;
        }
        let batch: Vec<Recorded> = batch.into_values().collect();
        self.append(&batch)?;
        let held = || copies.iter().map(|copy| (copy.event.id, copy.line()));
        pass.known.note_held(held())?;
        for (id, _) in held() {
            pass.unseen.remove(&id);
        }
        let told = declined.iter().map(|(told, line)| (told.clone(), &**line));
        pass.known.note_told(told, held().map(|(id, _)| id))?;
        pass.report
            .declined
            .extend(declined.into_iter().map(|(told, _)| told));
        Ok(())
    }

    /// Decides about one event of a page.
    fn take(
        &self,
        copy: &Recorded,
        pass: &mut Pass,
        (batch, declined): (&mut Batch, &mut Declined),
    ) -> Result<(), Error> {
        let id = copy.event.id;
        let is_blank = pass.blanked.contains(&id) && blanks(&copy.event).is_none();
        let wanted = if is_blank {
            copy.blanked()
        } else {
            copy.clone()
        };
        let there = match batch.get(&id) {
            Some(there) => Some(there.clone()),
            None => self.index.event(id)?,
        };
        let decline = |reason: String| {
            let told = Told {
                event: id,
                entry: copy.event.entries().next(),
                why: Why::Declined,
                reason,
            };
            (told, copy.line().into())
        };
        if let Some(there) = &there {
            pass.lost.remove(&id);
            let better = there.clone().better_copy(wanted.clone());
            if better.line() == there.line() || (is_blank && there.is_blanked()) {
                return Ok(());
            }
            if !is_copy_of(there, &wanted) {
                let reason = "another event stands here under its id".to_owned();
                declined.push(decline(reason));
                return Ok(());
            }
        }
        match self.guard.receive(&wanted) {
            Written::Taken => {}
            Written::Held(why) => {
                pass.lost.remove(&id);
                declined.push(decline(format!("it would wait for a person here: {why}")));
                return Ok(());
            }
            Written::Turned(turned) => {
                pass.lost.remove(&id);
                declined.push(decline(turned.to_string()));
                return Ok(());
            }
        }
        if there.is_some() {
            pass.report.better += 1;
        } else if pass.lost.remove(&id) {
            pass.report.healed.push(id);
        } else if self.elsewhere(pass)?.contains(&id) {
            pass.report.elsewhere += 1;
            return Ok(());
        } else {
            pass.report.new += 1;
        }
        note_decision(&wanted, &mut pass.report.decisions);
        if wanted.event.is_quarantined() {
            pass.set_apart.extend(wanted.event.entries());
        }
        batch.insert(id, wanted);
        Ok(())
    }
}

/// Returns whether two lines may be copies of one event: the same author wrote the same kind of thing about the same.
///
/// Who forges a copy to take an event's place writes in a name of their own, which the hub holds them to.
fn is_copy_of(there: &Recorded, copy: &Recorded) -> bool {
    let (there, copy) = (&there.event, &copy.event);
    let same_type = there.body.type_name() == copy.body.type_name();
    same_type && there.by == copy.by && there.about == copy.about
}

/// Counts a decision that only people take.
fn note_decision(copy: &Recorded, decisions: &mut BTreeMap<Actor, Decisions>) {
    let event = &copy.event;
    let of = |decisions: &mut BTreeMap<Actor, Decisions>, count: fn(&mut Decisions)| {
        count(decisions.entry(event.by.clone()).or_default());
    };
    if event.get::<ApprovalGranted>().is_some() {
        of(decisions, |it| it.approvals += 1);
    } else if event.get::<Retracted>().is_some() {
        of(decisions, |it| it.retractions += 1);
    } else if event.get::<EventBlanked>().is_some() {
        of(decisions, |it| it.blankings += 1);
    }
}
