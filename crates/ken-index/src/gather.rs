//! Reads every segment and looks at its lines on other threads meanwhile.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use crate::error::RefreshError;
use crate::scan::{self, Scanned};
use crate::segment::SegmentStat;

/// Threads that work beside the one that reads or writes; more would only wait for it.
const THREADS_MAX: usize = 4;

/// Room for the text of each segment; what was seen in it borrows from here.
#[derive(Debug)]
pub(crate) struct Texts(Vec<OnceLock<Vec<u8>>>);

/// Returns how many threads are worth starting for `pieces` of work.
pub(crate) fn threads_for(pieces: usize) -> usize {
    // Asking reads files; the answer does not change while a process runs.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (*CORES.get_or_init(cores)).min(THREADS_MAX).min(pieces)
}

/// Reads and scans every segment; `None` stands for one with a line that is no event.
pub(crate) fn gather<'t, E>(
    texts: &'t Texts,
    listing: &[SegmentStat],
    read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<Vec<Option<Scanned<'t>>>, RefreshError<E>> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let mut scans: Vec<_> = listing.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let scanners: Vec<_> = (0..threads_for(listing.len()))
            .map(|_| scope.spawn(|| texts.scan(&receiver)))
            .collect();
        let all_read = texts.fill(listing, read, &sender);
        drop(sender);
        for scanner in scanners {
            for (place, scan) in scanner.join().expect("scanning does not panic") {
                scans[place] = scan;
            }
        }
        all_read
    })?;
    Ok(scans)
}

impl Texts {
    pub(crate) fn new(segments: usize) -> Self {
        Self((0..segments).map(|_| OnceLock::new()).collect())
    }

    /// Returns the texts in the order of the listing; one that was not read is empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0
            .iter()
            .map(|text| text.get().map_or(&[][..], Vec::as_slice))
    }

    /// Reads one text after the other and says so each time.
    fn fill<E>(
        &self,
        listing: &[SegmentStat],
        read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
        done: &Sender<usize>,
    ) -> Result<(), RefreshError<E>> {
        for (place, stat) in listing.iter().enumerate() {
            let text = read(&stat.name).map_err(|source| RefreshError::Read {
                segment: stat.name.clone(),
                source,
            })?;
            self.0[place].get_or_init(|| text);
            // Nobody listens if no thread was worth starting, and then there is nothing to read.
            let _ = done.send(place);
        }
        Ok(())
    }

    /// Scans texts as they are read, until no more come.
    fn scan(&self, read: &Mutex<Receiver<usize>>) -> Vec<(usize, Option<Scanned<'_>>)> {
        let mut scans = Vec::new();
        loop {
            let next = read.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(place) = next else {
                return scans;
            };
            let text = self.0[place].get().map_or(&[][..], Vec::as_slice);
            scans.push((place, scan::scan(text).ok()));
        }
    }
}
