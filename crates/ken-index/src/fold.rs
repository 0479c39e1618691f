//! Parses, checks and folds entries on several threads while the caller writes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ken_core::event::Event;
use ken_core::fold::fold_entry;
use ken_core::workspace::concerns_workspace;

use crate::bulk::Group;
use crate::error::IndexError;
use crate::gather::threads_for;
use crate::rows::EntryRow;
use crate::scan::{About, Glimpse};

/// Entries, or events without one, that a thread takes at a time.
const BATCH: usize = 64;

/// Batches that may wait to be written.
const WAITING_MAX: usize = 64;

/// Events of several entries that are kept at a time; beyond that they are parsed again.
const KEPT_MAX: usize = 1 << 16;

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
    let items = work.groups.len() + work.alone.len();
    let threads = threads_for(items.div_ceil(BATCH));
    let next = AtomicUsize::new(0);
    let sound = AtomicBool::new(true);
    let kept = Kept::default();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, sound, kept) = (&next, &sound, &kept);
            scope.spawn(move || {
                if work.fold_batches(next, kept, &sender).is_err() {
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
    fn fold_batches(
        &self,
        next: &AtomicUsize,
        kept: &Kept,
        sender: &SyncSender<Folded>,
    ) -> Result<(), Unsound> {
        let total = self.groups.len() + self.alone.len();
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            if total <= from {
                return Ok(());
            }
            let mut folded = Folded::default();
            for item in from..total.min(from + BATCH) {
                match item.checked_sub(self.groups.len()) {
                    None => self.fold_group(item, kept, &mut folded)?,
                    Some(alone) => {
                        let place = self.alone[alone];
                        folded.share(place, &self.parse(place)?);
                    }
                }
            }
            if sender.send(folded).is_err() {
                return Ok(());
            }
        }
    }

    fn fold_group(&self, number: usize, kept: &Kept, folded: &mut Folded) -> Result<(), Unsound> {
        let group = &self.groups[number];
        let places = &self.places[group.places.clone()];
        let mut own = Vec::with_capacity(places.len());
        let mut shared = Vec::new();
        for place in places {
            match &self.events[*place as usize].about {
                About::None | About::One(_) => own.push(self.parse(*place)?),
                About::Many(entries) => {
                    let parse = || self.parse(*place);
                    shared.push(kept.take(*place, entries.len(), parse)?);
                }
            }
        }
        let events = || own.iter().chain(shared.iter().map(|event| &**event));
        let entry = fold_entry(group.entry, events()).ok_or(Unsound)?;
        folded.rows.push((number, EntryRow::new(&entry)));
        for event in events().filter(|event| concerns_workspace(event)) {
            let found = self.events.binary_search_by_key(&event.id, |seen| seen.id);
            let place = found.map_err(|_| Unsound)?;
            folded.share(place as u32, event);
        }
        Ok(())
    }

    /// Parses a line and checks that it is what it looked like.
    fn parse(&self, place: u32) -> Result<Event, Unsound> {
        let glimpse = &self.events[place as usize];
        let event = Event::parse(&glimpse.line).map_err(|_| Unsound)?;
        let order = (glimpse.at, glimpse.id);
        let as_seen = event.order() == order && glimpse.about.is_of(&event);
        as_seen.then_some(event).ok_or(Unsound)
    }
}

/// Events of several entries, kept from the first entry to the last so as to be parsed once.
#[derive(Default)]
struct Kept(Mutex<HashMap<u32, (Arc<Event>, usize)>>);

impl Kept {
    /// Returns the event at `place`, which is asked for `uses` times in all.
    fn take(
        &self,
        place: u32,
        uses: usize,
        parse: impl FnOnce() -> Result<Event, Unsound>,
    ) -> Result<Arc<Event>, Unsound> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut held) = lock().entry(place) {
            held.get_mut().1 -= 1;
            return Ok(match held.get().1 {
                0 => held.remove().0,
                _ => Arc::clone(&held.get().0),
            });
        }
        let event = Arc::new(parse()?);
        let mut kept = lock();
        if kept.len() < KEPT_MAX {
            // Another thread may have parsed it at the same time; then it is parsed once more.
            kept.entry(place)
                .or_insert_with(|| (Arc::clone(&event), uses - 1));
        }
        Ok(event)
    }
}

impl Folded {
    fn share(&mut self, place: u32, event: &Event) {
        if concerns_workspace(event) {
            self.shared.push((place, event.clone()));
        }
    }
}
