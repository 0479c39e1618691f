//! Parallel fold: worker threads parse, check and fold entries while the caller writes rows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ken_core::ledger::event::Event;
use ken_core::ledger::fold::fold_entry;
use ken_core::ledger::workspace::concerns_workspace;

use crate::bulk::EntryEventGroup;
use crate::error::IndexError;
use crate::gather::thread_count;
use crate::rows::IndexEntryRow;
use crate::scan::{LineSummary, TouchedEntries};

/// Entries, or events without an entry, that a thread claims at a time.
const BATCH_SIZE: usize = 64;

/// Folded batches that may wait to be written; bounds memory when writing is the bottleneck.
const QUEUED_BATCHES_MAX: usize = 64;

/// Cached events that touch several entries; beyond this limit they are parsed again.
const CACHED_EVENTS_MAX: usize = 1 << 16;

/// Input of a parallel fold.
pub(crate) struct FoldJob<'a> {
    pub(crate) events: &'a [LineSummary<'a>],
    pub(crate) groups: &'a [EntryEventGroup],
    pub(crate) places: &'a [u32],
    pub(crate) alone: &'a [u32],
}

/// Result of folding one batch.
#[derive(Default)]
pub(crate) struct FoldedBatch {
    /// Rows of folded entries by the number of their group.
    pub(crate) rows: Vec<(usize, IndexEntryRow)>,
    /// Events that concern the workspace, by position.
    pub(crate) shared: Vec<(u32, Event)>,
}

/// A line is not a valid event, or differs from its scan.
struct MalformedLine;

/// Folds all entries and passes each batch to `write`, or `None` when no batch is ready.
///
/// `write` returns whether it had work to do. Returns `false` if a line is not a valid event.
pub(crate) fn fold_all(
    work: &FoldJob<'_>,
    write: impl FnMut(Option<FoldedBatch>) -> Result<bool, IndexError>,
) -> Result<bool, IndexError> {
    let items = work.groups.len() + work.alone.len();
    let threads = thread_count(items.div_ceil(BATCH_SIZE));
    let next = AtomicUsize::new(0);
    let sound = AtomicBool::new(true);
    let kept = SharedEventCache::default();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(QUEUED_BATCHES_MAX);
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, sound, kept) = (&next, &sound, &kept);
            scope.spawn(move || {
                if work.fold_batches(next, kept, &sender).is_err() {
                    // Moves the cursor past the end, so the other threads stop. Half of the range
                    // leaves room for their `fetch_add` without an overflow to 0.
                    next.store(usize::MAX / 2, Ordering::Relaxed);
                    sound.store(false, Ordering::Relaxed);
                }
            });
        }
        // The channel disconnects, and `drain` returns, once the last worker drops its own sender.
        drop(sender);
        drain(&receiver, write)
    })?;
    Ok(sound.into_inner())
}

/// Writes batches until every worker has finished.
///
/// An error drops the receiver, which makes the workers' sends fail and ends them.
fn drain(
    receiver: &Receiver<FoldedBatch>,
    mut write: impl FnMut(Option<FoldedBatch>) -> Result<bool, IndexError>,
) -> Result<(), IndexError> {
    loop {
        let folded = match receiver.try_recv() {
            Ok(folded) => folded,
            Err(TryRecvError::Disconnected) => return Ok(()),
            Err(TryRecvError::Empty) => {
                // Idle time is used for rows that need no folding.
                if write(None)? {
                    continue;
                }
                match receiver.recv() {
                    Ok(folded) => folded,
                    Err(_) => return Ok(()),
                }
            }
        };
        write(Some(folded))?;
    }
}

impl FoldJob<'_> {
    fn fold_batches(
        &self,
        next: &AtomicUsize,
        kept: &SharedEventCache,
        sender: &SyncSender<FoldedBatch>,
    ) -> Result<(), MalformedLine> {
        let total = self.groups.len() + self.alone.len();
        loop {
            // Relaxed suffices: the counter only hands out ranges, and results travel through the
            // channel.
            let from = next.fetch_add(BATCH_SIZE, Ordering::Relaxed);
            if from >= total {
                return Ok(());
            }
            let mut folded = FoldedBatch::default();
            for item in from..total.min(from + BATCH_SIZE) {
                // Numbers below the group count are entries, the rest are events without an entry.
                match item.checked_sub(self.groups.len()) {
                    None => self.fold_group(item, kept, &mut folded)?,
                    Some(alone) => {
                        let position = self.alone[alone];
                        folded.share(position, &self.parse(position)?);
                    }
                }
            }
            if sender.send(folded).is_err() {
                return Ok(());
            }
        }
    }

    fn fold_group(
        &self,
        number: usize,
        kept: &SharedEventCache,
        folded: &mut FoldedBatch,
    ) -> Result<(), MalformedLine> {
        let group = &self.groups[number];
        let places = &self.places[group.places.clone()];
        let mut own = Vec::with_capacity(places.len());
        let mut shared = Vec::new();
        for position in places {
            match &self.events[*position as usize].about {
                TouchedEntries::None | TouchedEntries::One(_) => own.push(self.parse(*position)?),
                TouchedEntries::Many(entries) => {
                    let parse = || self.parse(*position);
                    shared.push(kept.take(*position, entries.len(), parse)?);
                }
            }
        }
        let events = || own.iter().chain(shared.iter().map(|event| &**event));
        let entry = fold_entry(group.entry, events()).ok_or(MalformedLine)?;
        folded.rows.push((number, IndexEntryRow::new(&entry)));
        for event in events().filter(|event| concerns_workspace(event)) {
            // `events` is sorted by id.
            let found = self.events.binary_search_by_key(&event.id, |seen| seen.id);
            let position = found.map_err(|_| MalformedLine)?;
            folded.share(position as u32, event);
        }
        Ok(())
    }

    /// Parses a line and checks that it matches its scan.
    fn parse(&self, position: u32) -> Result<Event, MalformedLine> {
        let glimpse = &self.events[position as usize];
        let event = Event::parse(&glimpse.line).map_err(|_| MalformedLine)?;
        let order = (glimpse.at, glimpse.id);
        let as_seen = event.order() == order && glimpse.about.is_of(&event);
        as_seen.then_some(event).ok_or(MalformedLine)
    }
}

/// Cache of events that touch several entries, from first to last use, so that each is parsed once.
#[derive(Default)]
struct SharedEventCache(Mutex<HashMap<u32, (Arc<Event>, usize)>>);

impl SharedEventCache {
    /// Returns the event at `position`, which is requested `uses` times in total.
    fn take(
        &self,
        position: u32,
        uses: usize,
        parse: impl FnOnce() -> Result<Event, MalformedLine>,
    ) -> Result<Arc<Event>, MalformedLine> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut held) = lock().entry(position) {
            held.get_mut().1 -= 1;
            return Ok(match held.get().1 {
                0 => held.remove().0,
                _ => Arc::clone(&held.get().0),
            });
        }
        let event = Arc::new(parse()?);
        let mut kept = lock();
        if kept.len() < CACHED_EVENTS_MAX {
            // The lock is not held while parsing, so two threads may parse the same event. Then one
            // use is not counted, and the event stays cached until the fold ends.
            kept.entry(position)
                .or_insert_with(|| (Arc::clone(&event), uses - 1));
        }
        Ok(event)
    }
}

impl FoldedBatch {
    fn share(&mut self, position: u32, event: &Event) {
        if concerns_workspace(event) {
            self.shared.push((position, event.clone()));
        }
    }
}
