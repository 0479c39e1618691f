//! Parses, checks and folds entries on several threads while the caller writes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::thread;

use ken_core::event::Event;
use ken_core::fold::fold_entry;
use ken_core::workspace::concerns_workspace;

use crate::bulk::Group;
use crate::error::IndexError;
use crate::rows::EntryRow;
use crate::scan::{About, Glimpse};

/// Entries, or events without one, that a thread takes at a time.
const BATCH: usize = 64;

/// Batches that may wait to be written.
const WAITING_MAX: usize = 64;

/// Threads that fold; more would only wait for the one that writes.
const THREADS_MAX: usize = 4;

/// What is to be folded.
pub(crate) struct Work<'a> {
    pub(crate) events: &'a [Glimpse<'a>],
    pub(crate) groups: &'a [Group],
    pub(crate) places: &'a [u32],
    pub(crate) alone: &'a [u32],
}

/// A folded batch.
#[derive(Default)]
pub(crate) struct Folded {
    /// Entries, by the place of their group.
    pub(crate) rows: Vec<(usize, EntryRow)>,
    /// Events that concern the workspace, by their place.
    pub(crate) shared: Vec<(u32, Event)>,
}

/// A line is no event, or another one than it looked like.
struct Unsound;

/// Folds everything and hands each batch to `write`; `None` says that none is ready.
///
/// `write` answers whether it found something to do. Returns `false` if a line is no event.
pub(crate) fn run(
    work: &Work<'_>,
    write: impl FnMut(Option<Folded>) -> Result<bool, IndexError>,
) -> Result<bool, IndexError> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(THREADS_MAX));
    let next = AtomicUsize::new(0);
    let sound = AtomicBool::new(true);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, sound) = (&next, &sound);
            scope.spawn(move || {
                if work.fold_batches(next, &sender).is_err() {
                    // Others find nothing left to take.
                    next.store(usize::MAX / 2, Ordering::Relaxed);
                    sound.store(false, Ordering::Relaxed);
                }
            });
        }
        drop(sender);
        drain(&receiver, write)
    })?;
    Ok(sound.into_inner())
}

/// Writes what comes until no thread is left to send.
///
/// An error drops the receiver with its caller's scope, which ends the threads.
fn drain(
    receiver: &Receiver<Folded>,
    mut write: impl FnMut(Option<Folded>) -> Result<bool, IndexError>,
) -> Result<(), IndexError> {
    loop {
        let folded = match receiver.try_recv() {
            Ok(folded) => folded,
            Err(TryRecvError::Disconnected) => return Ok(()),
            Err(TryRecvError::Empty) => {
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

impl Work<'_> {
    fn fold_batches(&self, next: &AtomicUsize, sender: &SyncSender<Folded>) -> Result<(), Unsound> {
        let total = self.groups.len() + self.alone.len();
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            if total <= from {
                return Ok(());
            }
            let mut folded = Folded::default();
            for item in from..total.min(from + BATCH) {
                match item.checked_sub(self.groups.len()) {
                    None => self.fold_group(item, &mut folded)?,
                    Some(alone) => {
                        let place = self.alone[alone];
                        folded.share(place, self.parse(place)?);
                    }
                }
            }
            if sender.send(folded).is_err() {
                return Ok(());
            }
        }
    }

    fn fold_group(&self, number: usize, folded: &mut Folded) -> Result<(), Unsound> {
        let group = &self.groups[number];
        let places = &self.places[group.places.clone()];
        let mut events = Vec::with_capacity(places.len());
        for place in places {
            events.push(self.parse(*place)?);
        }
        let entry = fold_entry(group.entry, &events).ok_or(Unsound)?;
        folded.rows.push((number, EntryRow::new(&entry)));
        for (place, event) in places.iter().zip(events) {
            folded.share(*place, event);
        }
        Ok(())
    }

    /// Parses a line and checks that it is what it looked like.
    fn parse(&self, place: u32) -> Result<Event, Unsound> {
        let glimpse = &self.events[place as usize];
        let event = Event::parse(&glimpse.line).map_err(|_| Unsound)?;
        let order = (glimpse.at, glimpse.id);
        let as_seen = event.order() == order && About::new(event.entries()) == glimpse.about;
        as_seen.then_some(event).ok_or(Unsound)
    }
}

impl Folded {
    fn share(&mut self, place: u32, event: Event) {
        if concerns_workspace(&event) {
            self.shared.push((place, event));
        }
    }
}
