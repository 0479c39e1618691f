//! Reads all segments on the calling thread and scans their lines on worker threads.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use crate::error::RefreshError;
use crate::scan::{self, SegmentScan};
use crate::segment::ListedSegment;

/// Maximum number of worker threads; more would only wait for the one that reads or writes.
const THREADS_MAX: usize = 4;

/// Buffers for the text of each segment; scan results borrow from them.
#[derive(Debug)]
pub(crate) struct SegmentBuffers(Vec<OnceLock<Vec<u8>>>);

/// Returns the number of threads worth starting for `pieces` units of work.
pub(crate) fn thread_count(pieces: usize) -> usize {
    // `available_parallelism` reads cgroup files, and the result does not change.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (*CORES.get_or_init(cores)).min(THREADS_MAX).min(pieces)
}

/// Reads and scans every segment; `None` marks a segment with an invalid line.
pub(crate) fn read_and_scan<'t, E>(
    texts: &'t SegmentBuffers,
    listing: &[ListedSegment],
    read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<Vec<Option<SegmentScan<'t>>>, RefreshError<E>> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let mut scans: Vec<_> = listing.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let scanners: Vec<_> = (0..thread_count(listing.len()))
            .map(|_| scope.spawn(|| texts.scan(&receiver)))
            .collect();
        let all_read = texts.fill(listing, read, &sender);
        // Ends the scanners' receive loops, even if reading failed.
        drop(sender);
        for scanner in scanners {
            for (position, scan) in scanner.join().expect("scanning does not panic") {
                scans[position] = scan;
            }
        }
        all_read
    })?;
    Ok(scans)
}

impl SegmentBuffers {
    pub(crate) fn new(segments: usize) -> Self {
        Self((0..segments).map(|_| OnceLock::new()).collect())
    }

    /// Returns the texts in listing order; a text that was not read is empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0
            .iter()
            .map(|text| text.get().map_or(&[][..], Vec::as_slice))
    }

    /// Reads the texts in order and sends the position of each to the scanners.
    fn fill<E>(
        &self,
        listing: &[ListedSegment],
        read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
        done: &Sender<usize>,
    ) -> Result<(), RefreshError<E>> {
        for (position, stat) in listing.iter().enumerate() {
            let text = read(&stat.name).map_err(|source| RefreshError::Read {
                segment: stat.name.clone(),
                source,
            })?;
            self.0[position].get_or_init(|| text);
            // Sending fails only if no scanner was started, which happens for an empty listing.
            let _ = done.send(position);
        }
        Ok(())
    }

    /// Scans texts as their positions arrive, until the channel closes.
    fn scan(&self, read: &Mutex<Receiver<usize>>) -> Vec<(usize, Option<SegmentScan<'_>>)> {
        let mut scans = Vec::new();
        loop {
            // The lock is released before scanning, so the other threads can receive meanwhile.
            let next = read.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(position) = next else {
                return scans;
            };
            let text = self.0[position].get().map_or(&[][..], Vec::as_slice);
            scans.push((position, scan::scan_segment(text).ok()));
        }
    }
}
