//! Brings the index in step with the segments: what you see is what this branch knows.
//!
//! The listing of the segment files is compared with the one of last time. What did not change is
//! not read; what only grew is read on from where it ended; the rest is taken out and in again.
//! A refresh happens as a whole or not at all.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::id::{EntryId, EventId};
use rusqlite::{Connection, TransactionBehavior};

use crate::bulk;
use crate::change::{self, Change, Made, Unmade};
use crate::database;
use crate::error::{IndexError, RefreshError};
use crate::index::Index;
use crate::recent::Recent;
use crate::rows;
use crate::segment::{self, Appended, BadLine, Digest, Holdings, Known, Lines, SegmentStat, Taken};

/// Bytes of changed segments above which filling an empty index is cheaper than changing this one.
const BULK_BYTES_MIN: u64 = 64 << 20;

/// Stands for the digest of the listing where only a part of the segments was looked at.
const PART: &[u8] = b"part";

/// What a refresh did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Set if the index was filled from nothing, with the reason.
    pub rebuilt: Option<Rebuilt>,
    pub segments_read: usize,
    pub events_added: usize,
    pub events_removed: usize,
    /// Entries folded from their events; all of them in a rebuild.
    pub entries_folded: usize,
    /// Those entries, unless everything was filled from nothing.
    pub folded: BTreeSet<EntryId>,
    /// Entries that new events were only added to.
    pub entries_absorbed: usize,
    /// Segments that end in the middle of a line, whether read this time or before.
    pub torn: Vec<Torn>,
}

/// Why an index was filled from nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuilt {
    /// There was none.
    Missing,
    /// It was written by an older or newer build.
    OtherSchema { found: i64 },
    /// SQLite or a stored value did not read back.
    Damaged,
    /// The caller asked.
    Asked,
    /// Copies of one event differ, so that what is left could not be told from the index.
    DifferingCopies,
    /// So much changed that it was quicker.
    MuchChanged,
}

/// A segment whose last bytes are no event: a write that was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    pub segment: String,
    pub bytes: u64,
}

impl Index {
    /// Brings the index in step with the segments listed.
    ///
    /// `read` returns the text of a segment, `blanked` are all ids this machine remembers as
    /// blanked. A damaged index is replaced on the way. Only for a listing that nobody else
    /// changes meanwhile; otherwise see [`refresh_from`](Self::refresh_from).
    pub fn refresh<E>(
        &mut self,
        listing: &[SegmentStat],
        blanked: &[EventId],
        read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Refreshed, RefreshError<E>> {
        self.refresh_from(|| Ok(listing.to_vec()), blanked, read)
    }

    /// Brings the index in step with the segments that `list` finds.
    ///
    /// They are listed again once no other process can change the index: an older listing would
    /// take out again what another process has just brought in.
    pub fn refresh_from<E>(
        &mut self,
        mut list: impl FnMut() -> Result<Vec<SegmentStat>, E>,
        blanked: &[EventId],
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Refreshed, RefreshError<E>> {
        if self.is_damaged() {
            self.start_over(Rebuilt::Damaged)?;
        }
        match self.refresh_once(&mut list, blanked, &mut read) {
            Err(RefreshError::Index(error)) if error.is_damage() => {
                self.start_over(Rebuilt::Damaged)?;
                self.refresh_once(&mut list, blanked, &mut read)
            }
            result => result,
        }
    }

    /// Takes in what a writer has just appended and leaves every other segment as it is known.
    ///
    /// Returns `None`, changing nothing, where only a whole refresh can tell: another process
    /// wrote meanwhile, or what stood before was not in the index.
    pub fn append(
        &mut self,
        appended: Vec<Appended>,
        blanked: &[EventId],
    ) -> Result<Option<Refreshed>, IndexError> {
        if self.is_damaged() || self.why_empty().is_some() {
            return Ok(None);
        }
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if rows::meta(&tx, rows::META_IN_STEP)?.is_none() {
            return Ok(None);
        }
        let mut change = Change::from_segments(blanked);
        let segments = appended.len();
        for part in appended {
            if !take_in_appended(&tx, part, &mut change)? {
                return Ok(None);
            }
        }
        let made = match change::make(&tx, change, &self.recent) {
            Ok(made) => made,
            Err(Unmade::StartOver) => return Ok(None),
            Err(Unmade::Index(error)) => return Err(error),
        };
        rows::write_meta(&tx, rows::META_IN_STEP, PART)?;
        let mut report = report(made, segments);
        report.torn = torn(&tx)?;
        tx.commit()?;
        self.after_commit()?;
        Ok(Some(report))
    }

    /// Throws the index away and fills a new one.
    pub fn rebuild<E>(
        &mut self,
        listing: &[SegmentStat],
        blanked: &[EventId],
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Refreshed, RefreshError<E>> {
        self.start_over(Rebuilt::Asked)?;
        self.refresh_once(&mut || Ok(listing.to_vec()), blanked, &mut read)
    }

    fn refresh_once<E>(
        &mut self,
        list: &mut impl FnMut() -> Result<Vec<SegmentStat>, E>,
        blanked: &[EventId],
        read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Refreshed, RefreshError<E>> {
        let mut list = || list().map_err(|source| RefreshError::List { source });
        let in_step = digest(&list()?, blanked);
        if rows::meta(&self.db, rows::META_IN_STEP)?.as_deref() == Some(&in_step) {
            self.scrub_log()?;
            return Ok(Refreshed {
                torn: torn(&self.db)?,
                ..Refreshed::default()
            });
        }
        let why = self.why_empty();
        let mut tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(IndexError::from)?;
        let listing = list()?;
        let in_step = digest(&listing, blanked);
        let plan = Plan::new(&tx, &listing)?;
        let outcome = match plan.rebuild_reason(why) {
            Some(reason) => Err(reason),
            None => {
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
            Err(reason) => Refreshed {
                rebuilt: Some(reason),
                ..database::unmapped(&tx, || bulk::fill(&tx, &listing, blanked, read))?
            },
        };
        rows::write_meta(&tx, rows::META_IN_STEP, &in_step)?;
        report.torn = torn(&tx)?;
        tx.commit().map_err(IndexError::from)?;
        self.after_commit()?;
        Ok(report)
    }
}

/// What to do with each segment.
struct Plan<'a> {
    gone: Vec<Known>,
    /// New, grown or changed ones, with what was known of them.
    to_read: Vec<(&'a SegmentStat, Option<Known>)>,
    /// Whether nothing was ever taken in.
    empty: bool,
    kept_bytes: u64,
}

impl<'a> Plan<'a> {
    fn new(db: &Connection, listing: &'a [SegmentStat]) -> Result<Self, IndexError> {
        let mut known: BTreeMap<String, Known> = segment::known(db)?
            .into_iter()
            .map(|known| (known.stat.name.clone(), known))
            .collect();
        let empty = rows::meta(db, rows::META_IN_STEP)?.is_none();
        let mut plan = Self {
            gone: Vec::new(),
            to_read: Vec::new(),
            empty,
            kept_bytes: 0,
        };
        for stat in listing {
            match known.remove(&stat.name) {
                Some(known) if known.stat == *stat => plan.kept_bytes += stat.len,
                known => plan.to_read.push((stat, known)),
            }
        }
        plan.gone = known.into_values().collect();
        Ok(plan)
    }

    /// Returns why everything is to be read, if so.
    fn rebuild_reason(&self, why_empty: Option<Rebuilt>) -> Option<Rebuilt> {
        if self.empty {
            return Some(why_empty.unwrap_or(Rebuilt::Missing));
        }
        let bytes: u64 = self.to_read.iter().map(|(stat, _)| stat.len).sum();
        let much =
            bytes > BULK_BYTES_MIN || (bytes > BULK_BYTES_MIN / 64 && bytes > self.kept_bytes);
        much.then_some(Rebuilt::MuchChanged)
    }

    /// Applies the difference, or returns why that cannot be done.
    fn carry_out<E>(
        self,
        db: &Connection,
        blanked: &[EventId],
        read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Result<Refreshed, Rebuilt>, RefreshError<E>> {
        let mut change = Change::from_segments(blanked);
        let segments_read = self.to_read.len();
        for known in self.gone {
            change
                .outgoing
                .extend(segment::holdings(db, known.key)?.copies());
            segment::delete(db, known.key)?;
        }
        for (stat, known) in self.to_read {
            let text = read(&stat.name).map_err(|source| RefreshError::Read {
                segment: stat.name.clone(),
                source,
            })?;
            take_in(db, stat, known, &text, &mut change)?;
        }
        match change::make(db, change, &Recent::default()) {
            Ok(made) => Ok(Ok(report(made, segments_read))),
            Err(Unmade::StartOver) => Ok(Err(Rebuilt::DifferingCopies)),
            Err(Unmade::Index(error)) => Err(error.into()),
        }
    }
}

/// Adds what is new in a segment to `change` and remembers the segment as it is now.
fn take_in<E>(
    db: &Connection,
    stat: &SegmentStat,
    known: Option<Known>,
    text: &[u8],
    change: &mut Change<'_>,
) -> Result<(), RefreshError<E>> {
    let (mut from, mut digest) = (0, segment::NO_LINES);
    if let Some(known) = known {
        match known.grown_from(text) {
            Some(end) => (from, digest) = (end, known.digest),
            None => {
                let before = segment::holdings(db, known.key)?;
                change.outgoing.extend(before.copies());
                segment::delete_holdings(db, known.key)?;
            }
        }
    }
    let lines = segment::read_lines(text, from).map_err(|bad| bad_line(&stat.name, bad))?;
    let tail = Tail {
        before: from,
        digest,
        text: &text[from..],
    };
    Ok(remember(db, stat, &tail, lines, change)?)
}

/// Adds what a writer appended to `change`; says `false` if it does not fit what is known.
fn take_in_appended(
    db: &Connection,
    part: Appended,
    change: &mut Change<'_>,
) -> Result<bool, IndexError> {
    let (taken, digest) = match segment::known_as(db, &part.stat.name)? {
        Some(known) if known.stat.inode != part.stat.inode => return Ok(false),
        Some(known) => (known.taken as u64, known.digest),
        None => (0, segment::NO_LINES),
    };
    if taken != part.before || part.before + part.text.len() as u64 != part.stat.len {
        return Ok(false);
    }
    let tail = Tail {
        before: part.before as usize,
        digest,
        text: &part.text,
    };
    let lines = Lines {
        events: part.events,
        torn: 0,
    };
    remember(db, &part.stat, &tail, lines, change)?;
    Ok(true)
}

/// What stands in a segment behind the part that is known already.
struct Tail<'a> {
    /// Bytes of the known part, and what stands for it.
    before: usize,
    digest: Digest,
    text: &'a [u8],
}

/// Adds the `lines` of `tail` to `change` and remembers their segment as it is now.
fn remember(
    db: &Connection,
    stat: &SegmentStat,
    tail: &Tail<'_>,
    lines: Lines,
    change: &mut Change<'_>,
) -> Result<(), IndexError> {
    let whole = &tail.text[..tail.text.len() - lines.torn];
    let taken = Taken {
        stat,
        bytes: tail.before + whole.len(),
        torn: lines.torn,
        digest: segment::chain(tail.digest, whole),
        holdings: &Holdings::of(&lines.events),
    };
    segment::write(db, &taken)?;
    change.incoming.extend(lines.events);
    Ok(())
}

pub(crate) fn bad_line<E>(segment: &str, bad: BadLine) -> RefreshError<E> {
    RefreshError::Line {
        segment: segment.to_owned(),
        line: bad.line,
        source: bad.source,
    }
}

fn report(made: Made, segments_read: usize) -> Refreshed {
    Refreshed {
        rebuilt: None,
        segments_read,
        events_added: made.events_added,
        events_removed: made.events_removed,
        entries_folded: made.folded.len(),
        folded: made.folded,
        entries_absorbed: made.entries_absorbed,
        torn: Vec::new(),
    }
}

fn torn(db: &Connection) -> Result<Vec<Torn>, IndexError> {
    let mut statement =
        db.prepare_cached("SELECT name, torn FROM segments WHERE torn > 0 ORDER BY name")?;
    let torn = statement.query_map([], |row| {
        Ok(Torn {
            segment: row.get(0)?,
            bytes: row.get::<_, i64>(1)?.cast_unsigned(),
        })
    })?;
    Ok(torn.collect::<Result<_, _>>()?)
}

/// One hash over everything a refresh compares, so that an unchanged ledger costs one lookup.
fn digest(listing: &[SegmentStat], blanked: &[EventId]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for stat in listing {
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
