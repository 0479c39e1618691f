//! Refreshes the index from the segments of the current branch.
//!
//! A refresh compares the listing of segment files with the previous one. Unchanged segments are
//! not read, appended ones are read from their old end, and all others are removed and indexed
//! again. A refresh is atomic.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::values::id::{EntryId, EventId};
use rusqlite::{Connection, TransactionBehavior};

use crate::bulk;
use crate::change::{self, ApplyError, ApplyOutcome, IndexChange};
use crate::cut::{self, ShortSegment};
use crate::database;
use crate::error::{IndexError, RefreshError};
use crate::index::Index;
use crate::recent::EntryCache;
use crate::rows;
use crate::segment::{
    self, BadLine, IndexedSegment, LinesDigest, ListedSegment, ParsedLines, SegmentAppend,
    SegmentEventIds, SegmentRow,
};

/// Bytes of changed segments above which a rebuild is cheaper than an update.
const BULK_BYTES_MIN: u64 = 64 << 20;

/// Stored instead of the listing digest after an append, which looks at some segments only. It
/// equals no digest, so the next refresh compares all segments.
const PARTIAL_LISTING: &[u8] = b"part";

/// Result of a refresh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefreshReport {
    /// The reason, if the index was rebuilt.
    pub rebuilt: Option<RebuildReason>,
    pub segments_read: usize,
    pub events_added: usize,
    pub events_removed: usize,
    /// Number of entries folded from scratch; all entries in a rebuild.
    pub entries_folded: usize,
    /// Ids of those entries; empty after a rebuild.
    pub folded: BTreeSet<EntryId>,
    /// Number of entries that absorbed new events without a fold.
    pub entries_absorbed: usize,
    /// Segments with a torn tail, including those not read this time.
    pub torn: Vec<TornSegment>,
    /// Segments that are shorter than when they were indexed, also by an earlier refresh.
    pub short: Vec<ShortSegment>,
}

/// Reason for a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuildReason {
    /// There was no index.
    Missing,
    /// An older or newer build wrote it.
    OtherSchema { found: i64 },
    /// SQLite reported corruption, or a stored value did not read back.
    Damaged,
    /// The caller requested it.
    Asked,
    /// Copies of one event differ, so the index does not determine which one remains.
    DifferingCopies,
    /// So much changed that a rebuild is faster.
    LargeChange,
}

/// A segment whose last bytes are not a valid event, because a write was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornSegment {
    pub segment: String,
    pub bytes: u64,
}

impl Index {
    /// Refreshes the index from a fixed listing of segments.
    ///
    /// `read` returns the text of a segment; `blanked` contains every id this machine records as
    /// redacted. A damaged index is replaced. Use this only if no other process changes the
    /// listing; otherwise use [`refresh_from`](Self::refresh_from).
    pub fn refresh<E>(
        &mut self,
        listing: &[ListedSegment],
        blanked: &[EventId],
        read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<RefreshReport, RefreshError<E>> {
        self.refresh_from(|| Ok(listing.to_vec()), blanked, read)
    }

    /// Refreshes the index from the segments that `list` returns.
    ///
    /// The segments are listed again under the write lock: an older listing would remove segments
    /// that another process has just indexed.
    pub fn refresh_from<E>(
        &mut self,
        mut list: impl FnMut() -> Result<Vec<ListedSegment>, E>,
        blanked: &[EventId],
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<RefreshReport, RefreshError<E>> {
        if self.is_damaged() {
            self.start_over(RebuildReason::Damaged)?;
        }
        match self.refresh_once(&mut list, blanked, &mut read) {
            Err(RefreshError::Index(error)) if error.is_damage() => {
                self.start_over(RebuildReason::Damaged)?;
                self.refresh_once(&mut list, blanked, &mut read)
            }
            result => result,
        }
    }

    /// Indexes lines that a writer has just appended, without looking at other segments.
    ///
    /// Returns `None` without changes if a full refresh is required: another process wrote
    /// meanwhile, or the index did not contain the text before the append.
    pub fn append(
        &mut self,
        appended: Vec<SegmentAppend>,
        blanked: &[EventId],
    ) -> Result<Option<RefreshReport>, IndexError> {
        // Only a full refresh can fill or replace the database.
        if self.is_damaged() || self.why_empty().is_some() {
            return Ok(None);
        }
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // A database that was never refreshed lacks all earlier segments.
        if rows::read_meta(&tx, rows::META_LISTING_DIGEST)?.is_none() {
            return Ok(None);
        }
        let mut change = IndexChange::from_segments(blanked);
        let segments = appended.len();
        for part in appended {
            if !index_append(&tx, part, &mut change)? {
                return Ok(None);
            }
        }
        let made = match change::apply_change(&tx, change, &self.recent) {
            Ok(made) => made,
            Err(ApplyError::RebuildRequired) => return Ok(None),
            Err(ApplyError::Index(error)) => return Err(error),
        };
        rows::write_meta(&tx, rows::META_LISTING_DIGEST, PARTIAL_LISTING)?;
        let mut report = build_report(made, segments);
        report.torn = load_torn_segments(&tx)?;
        tx.commit()?;
        self.after_commit()?;
        Ok(Some(report))
    }

    /// Deletes the index and builds a new one.
    pub fn rebuild<E>(
        &mut self,
        listing: &[ListedSegment],
        blanked: &[EventId],
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<RefreshReport, RefreshError<E>> {
        self.start_over(RebuildReason::Asked)?;
        self.refresh_once(&mut || Ok(listing.to_vec()), blanked, &mut read)
    }

    fn refresh_once<E>(
        &mut self,
        list: &mut impl FnMut() -> Result<Vec<ListedSegment>, E>,
        blanked: &[EventId],
        read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<RefreshReport, RefreshError<E>> {
        let mut list = || list().map_err(|source| RefreshError::List { source });
        let in_step = listing_digest(&list()?, blanked);
        // The common case: an unchanged ledger costs one listing and one lookup, without a write
        // lock.
        if rows::read_meta(&self.db, rows::META_LISTING_DIGEST)?.as_deref() == Some(&in_step) {
            self.scrub_wal()?;
            return Ok(RefreshReport {
                torn: load_torn_segments(&self.db)?,
                short: cut::load(&self.db)?,
                ..RefreshReport::default()
            });
        }
        let why = self.why_empty();
        let mut tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(IndexError::from)?;
        let listing = list()?;
        let in_step = listing_digest(&listing, blanked);
        let plan = RefreshPlan::new(&tx, &listing)?;
        let mut short = cut::load(&tx)?;
        short.extend(plan.shortened());
        cut::retain_short(&mut short, &listing);
        let outcome = match plan.rebuild_reason(why) {
            Some(reason) => Err(reason),
            None => {
                // A savepoint, because an update that turns out to be impossible falls back to a
                // rebuild in the same transaction.
                let attempt = tx.savepoint().map_err(IndexError::from)?;
                let outcome = plan.carry_out(&attempt, blanked, read)?;
                if outcome.is_ok() {
                    attempt.commit().map_err(IndexError::from)?;
                }
                outcome
            }
        };
        let mut report = match outcome {
            Ok(report) => report,
            Err(reason) => RefreshReport {
                rebuilt: Some(reason),
                ..database::without_mmap(&tx, || bulk::fill(&tx, &listing, blanked, read))?
            },
        };
        rows::write_meta(&tx, rows::META_LISTING_DIGEST, &in_step)?;
        cut::store(&tx, &short)?;
        report.torn = load_torn_segments(&tx)?;
        report.short = short;
        tx.commit().map_err(IndexError::from)?;
        self.after_commit()?;
        Ok(report)
    }
}

/// Planned action per segment.
struct RefreshPlan<'a> {
    gone: Vec<IndexedSegment>,
    /// New, appended or changed segments, with their indexed state.
    to_read: Vec<(&'a ListedSegment, Option<IndexedSegment>)>,
    /// Set if nothing has been indexed yet.
    empty: bool,
    unchanged_bytes: u64,
}

impl<'a> RefreshPlan<'a> {
    fn new(db: &Connection, listing: &'a [ListedSegment]) -> Result<Self, IndexError> {
        let mut known: BTreeMap<String, IndexedSegment> = segment::load_segments(db)?
            .into_iter()
            .map(|known| (known.stat.name.clone(), known))
            .collect();
        let empty = rows::read_meta(db, rows::META_LISTING_DIGEST)?.is_none();
        let mut plan = Self {
            gone: Vec::new(),
            to_read: Vec::new(),
            empty,
            unchanged_bytes: 0,
        };
        for stat in listing {
            match known.remove(&stat.name) {
                Some(known) if known.stat == *stat => plan.unchanged_bytes += stat.len,
                known => plan.to_read.push((stat, known)),
            }
        }
        plan.gone = known.into_values().collect();
        Ok(plan)
    }

    /// Returns the segments that are shorter than when they were indexed.
    fn shortened(&self) -> Vec<ShortSegment> {
        let changed = self.to_read.iter();
        let known = changed.filter_map(|(stat, known)| Some((*stat, known.as_ref()?)));
        known
            .filter_map(|(stat, known)| cut::shortened(stat, known))
            .collect()
    }

    /// Returns the reason for a rebuild, if one is required.
    fn rebuild_reason(&self, why_empty: Option<RebuildReason>) -> Option<RebuildReason> {
        if self.empty {
            return Some(why_empty.unwrap_or(RebuildReason::Missing));
        }
        let bytes: u64 = self.to_read.iter().map(|(stat, _)| stat.len).sum();
        // A rebuild also pays off for smaller changes that are larger than the unchanged part.
        let much =
            bytes > BULK_BYTES_MIN || (bytes > BULK_BYTES_MIN / 64 && bytes > self.unchanged_bytes);
        much.then_some(RebuildReason::LargeChange)
    }

    /// Applies the difference, or returns the reason for a rebuild.
    fn carry_out<E>(
        self,
        db: &Connection,
        blanked: &[EventId],
        read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Result<RefreshReport, RebuildReason>, RefreshError<E>> {
        let mut change = IndexChange::from_segments(blanked);
        let segments_read = self.to_read.len();
        for known in self.gone {
            change
                .outgoing
                .extend(segment::load_event_ids(db, known.key)?.copies());
            segment::delete_segment(db, known.key)?;
        }
        for (stat, known) in self.to_read {
            let text = read(&stat.name).map_err(|source| RefreshError::Read {
                segment: stat.name.clone(),
                source,
            })?;
            index_segment(db, stat, known, &text, &mut change)?;
        }
        // A refresh reads few entries beforehand, so the cache would not help.
        match change::apply_change(db, change, &EntryCache::default()) {
            Ok(made) => Ok(Ok(build_report(made, segments_read))),
            Err(ApplyError::RebuildRequired) => Ok(Err(RebuildReason::DifferingCopies)),
            Err(ApplyError::Index(error)) => Err(error.into()),
        }
    }
}

/// Adds the new lines of a segment to `change` and stores its current metadata.
fn index_segment<E>(
    db: &Connection,
    stat: &ListedSegment,
    known: Option<IndexedSegment>,
    text: &[u8],
    change: &mut IndexChange<'_>,
) -> Result<(), RefreshError<E>> {
    let (mut from, mut digest) = (0, segment::EMPTY_DIGEST);
    if let Some(known) = known {
        match known.append_offset(text) {
            Some(end) => (from, digest) = (end, known.digest),
            None => {
                let before = segment::load_event_ids(db, known.key)?;
                change.outgoing.extend(before.copies());
                segment::delete_event_ids(db, known.key)?;
            }
        }
    }
    let lines = segment::read_lines(text, from).map_err(|bad| line_error(&stat.name, bad))?;
    let tail = SegmentTail {
        before: from,
        digest,
        text: &text[from..],
    };
    Ok(record_segment(db, stat, &tail, lines, change)?)
}

/// Adds appended lines to `change`; returns `false` if they do not fit the indexed segment.
fn index_append(
    db: &Connection,
    part: SegmentAppend,
    change: &mut IndexChange<'_>,
) -> Result<bool, IndexError> {
    let (taken, digest) = match segment::load_segment(db, &part.stat.name)? {
        Some(known) if known.stat.inode != part.stat.inode => return Ok(false),
        Some(known) => (known.taken as u64, known.digest),
        None => (0, segment::EMPTY_DIGEST),
    };
    // Both checks together exclude lines of another writer before or after these.
    if taken != part.before || part.before + part.text.len() as u64 != part.stat.len {
        return Ok(false);
    }
    let tail = SegmentTail {
        before: part.before as usize,
        digest,
        text: &part.text,
    };
    let lines = ParsedLines {
        events: part.events,
        torn: 0,
    };
    record_segment(db, &part.stat, &tail, lines, change)?;
    Ok(true)
}

/// The part of a segment after its indexed part.
struct SegmentTail<'a> {
    /// Length and digest of the indexed part.
    before: usize,
    digest: LinesDigest,
    text: &'a [u8],
}

/// Adds the `lines` of `tail` to `change` and stores the segment's current metadata.
fn record_segment(
    db: &Connection,
    stat: &ListedSegment,
    tail: &SegmentTail<'_>,
    lines: ParsedLines,
    change: &mut IndexChange<'_>,
) -> Result<(), IndexError> {
    let whole = &tail.text[..tail.text.len() - lines.torn];
    let taken = SegmentRow {
        stat,
        bytes: tail.before + whole.len(),
        torn: lines.torn,
        digest: segment::extend_digest(tail.digest, whole),
        holdings: &SegmentEventIds::of(&lines.events),
    };
    segment::write_segment(db, &taken)?;
    change.incoming.extend(lines.events);
    Ok(())
}

pub(crate) fn line_error<E>(segment: &str, bad: BadLine) -> RefreshError<E> {
    RefreshError::Line {
        segment: segment.to_owned(),
        line: bad.line,
        source: bad.source,
    }
}

fn build_report(made: ApplyOutcome, segments_read: usize) -> RefreshReport {
    RefreshReport {
        rebuilt: None,
        segments_read,
        events_added: made.events_added,
        events_removed: made.events_removed,
        entries_folded: made.folded.len(),
        folded: made.folded,
        entries_absorbed: made.entries_absorbed,
        torn: Vec::new(),
        short: Vec::new(),
    }
}

fn load_torn_segments(db: &Connection) -> Result<Vec<TornSegment>, IndexError> {
    let mut statement =
        db.prepare_cached("SELECT name, torn FROM segments WHERE torn > 0 ORDER BY name")?;
    let torn = statement.query_map([], |row| {
        Ok(TornSegment {
            segment: row.get(0)?,
            bytes: row.get::<_, i64>(1)?.cast_unsigned(),
        })
    })?;
    Ok(torn.collect::<Result<_, _>>()?)
}

/// Returns one hash over everything a refresh compares, so that an unchanged ledger costs one
/// lookup.
fn listing_digest(listing: &[ListedSegment], blanked: &[EventId]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for stat in listing {
        // The length prefix keeps two listings from hashing to the same byte sequence.
        hasher.update(&(stat.name.len() as u64).to_be_bytes());
        hasher.update(stat.name.as_bytes());
        for number in [stat.len, stat.modified_ns, stat.inode] {
            hasher.update(&number.to_be_bytes());
        }
    }
    hasher.update(b"blanked");
    for id in blanked {
        hasher.update(&id.to_bytes());
    }
    *hasher.finalize().as_bytes()
}
