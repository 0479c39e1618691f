//! Offers a hub what it is not known to hold.

use std::collections::BTreeSet;

use ken_core::id::{EntryId, EventId};
use ken_core::store::Store as _;
use ken_remote::wire::{Answered, PUSH_BYTES_MAX, PUSH_EVENTS_MAX, Pushed, Verdict};
use ken_remote::{Hub, HubError};

use super::file::Remote;
use super::known::{Known, Told, Why};
use super::{Progress, RemoteError};
use crate::engine::Engine;
use crate::error::Error;

/// Bytes of a push that are no event: the object around them.
const AROUND_BYTES: usize = 64;

/// Whether what a hub did not take before is offered once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    No,
    /// Also what it refused or set apart.
    Refused,
    /// Everything, whatever it is known to hold.
    Everything,
}

/// What became of what was offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// Events the hub did not have.
    pub admitted: usize,
    /// Events it had already.
    pub known: usize,
    /// Of those two: events that are quarantined, there as here.
    pub set_apart: usize,
    /// Events that wait beside the hub's log until a person there has looked at them.
    pub quarantined: Vec<Told>,
    pub refused: Vec<Told>,
    /// What it did not take before and was not offered now.
    pub remembered: Vec<Told>,
    /// Whether the hub is not as far as it was, so that everything was offered.
    pub restarted: bool,
}

/// Events of one request.
type Batch = Vec<Offered>;

/// An event on its way, as its line.
struct Offered {
    id: EventId,
    entry: Option<EntryId>,
    /// Whether it is quarantined here already: then it is in the log of a hub that calls it so.
    is_quarantined: bool,
    line: Box<str>,
}

impl Engine {
    /// Offers the hub every event of this work tree it is not known to hold.
    ///
    /// What it answered is remembered after each request, so that a push that was cut short goes on where it ended.
    pub fn push_events(
        &mut self,
        remote: &Remote,
        hub: &mut dyn Hub,
        again: Again,
        progress: Progress<'_>,
    ) -> Result<PushReport, Error> {
        let mut known = Known::open(&self.place, remote)?;
        // Edits of entry files are part of what is known here; blanked data that came back is not.
        self.absorb_before_writing()?;
        self.render_due()?;
        let mut report = PushReport::default();
        let failed = |why: HubError| RemoteError::Hub { done: 0, why };
        if !hub.knows(known.reached).map_err(failed)? {
            known.start_over()?;
            report.restarted = true;
        }
        let offered = self.to_offer(&known, again)?;
        let (mut done, mut batch, mut bytes) = (0, Batch::new(), AROUND_BYTES);
        progress(done, Some(offered.len()));
        for id in &offered {
            // Another process may have packed or blanked meanwhile; what is gone is not offered.
            let Some(copy) = self.index.event(*id)? else {
                continue;
            };
            let line = copy.line();
            if batch.len() == PUSH_EVENTS_MAX || PUSH_BYTES_MAX < bytes + line.len() + 1 {
                done += offer(remote, &mut known, hub, (&batch, done, &mut report))?;
                progress(done, Some(offered.len()));
                (batch, bytes) = (Batch::new(), AROUND_BYTES);
            }
            bytes += line.len() + 1;
            batch.push(Offered {
                id: *id,
                entry: copy.event.entries().next(),
                is_quarantined: copy.event.is_quarantined(),
                line: line.into(),
            });
        }
        done += offer(remote, &mut known, hub, (&batch, done, &mut report))?;
        progress(done, Some(offered.len()));
        let told = report.refused.iter().chain(&report.quarantined);
        let now: BTreeSet<EventId> = told.map(|it| it.event).collect();
        let before = |it: &Told| it.why != Why::Declined && !now.contains(&it.event);
        report.remembered = known.told().filter(before).collect();
        Ok(report)
    }

    /// Returns the events a push would offer, in canonical order.
    pub(super) fn to_offer(&self, known: &Known, again: Again) -> Result<Vec<EventId>, Error> {
        let mut offered = Vec::new();
        self.index.each_line(&mut |id, line| {
            let is_wanted = match again {
                Again::No => !known.holds(id, line) && known.told_of(id, line).is_none(),
                Again::Refused => !known.holds(id, line),
                Again::Everything => true,
            };
            if is_wanted {
                offered.push(id);
            }
        })?;
        Ok(offered)
    }
}

/// Offers one batch and remembers what was answered; returns how many events it had.
fn offer(
    remote: &Remote,
    known: &mut Known,
    hub: &mut dyn Hub,
    (batch, done, report): (&Batch, usize, &mut PushReport),
) -> Result<usize, Error> {
    if batch.is_empty() {
        return Ok(0);
    }
    let lines: Vec<&str> = batch.iter().map(|it| &*it.line).collect();
    let failed = |why: HubError| RemoteError::Hub { done, why };
    let pushed = hub.push(&lines).map_err(failed)?;
    if !answers(&pushed, batch) {
        let why = "it answered about other events than were sent";
        let hub = remote.address.origin().to_owned();
        return Err(failed(HubError::Answer { hub, why }).into());
    }
    // Before what it holds: whoever is killed in between offers these once more, and never takes them for safe.
    if let Some(cursor) = pushed.cursor {
        known.note_reached(cursor)?;
    }
    let (mut held, mut told) = (Vec::new(), Vec::new());
    for (it, answered) in batch.iter().zip(pushed.events) {
        let tell = |why| Told {
            event: it.id,
            entry: it.entry,
            why,
            reason: answered.reason.clone().unwrap_or_default(),
        };
        match answered.verdict {
            Verdict::Admitted => report.admitted += 1,
            Verdict::Quarantined if it.is_quarantined => report.admitted += 1,
            Verdict::Known => report.known += 1,
            Verdict::Quarantined => {
                report.quarantined.push(tell(Why::Quarantined));
                told.push((tell(Why::Quarantined), &*it.line));
                continue;
            }
            Verdict::Refused => {
                report.refused.push(tell(Why::Refused));
                told.push((tell(Why::Refused), &*it.line));
                continue;
            }
        }
        report.set_apart += usize::from(it.is_quarantined);
        held.push((it.id, &*it.line));
    }
    known.note_held(held.iter().copied())?;
    known.note_told(told.into_iter(), held.iter().map(|(id, _)| *id))?;
    Ok(batch.len())
}

/// Returns whether an answer speaks of the events of a batch, in their order.
fn answers(pushed: &Pushed, batch: &Batch) -> bool {
    let same = |(answered, it): (&Answered, &Offered)| answered.id.is_none_or(|id| id == it.id);
    pushed.events.len() == batch.len() && pushed.events.iter().zip(batch).all(same)
}
