//! Fast scan of ledger lines that extracts the event id and entries without parsing JSON.
//!
//! Canonical JSON puts `about` first and `id` near the end, so a few fixed positions identify the
//! event and its entries. The result is not trusted: every line is fully parsed and compared with
//! its scan before use.

use std::borrow::Cow;

use ken_core::ledger::event::{Event, LINE_BYTES_MAX, RecordedEvent};
use ken_core::ledger::state::redaction_target;
use ken_core::values::hlc::Hlc;
use ken_core::values::id::{EntryId, EventId};

use crate::rows::CopyCounts;
use crate::segment::{self, BadLine, CopyForm, LinesDigest, SegmentEventIds};

/// Length of a printed clock reading.
const HLC_CHARS: usize = 36;

/// An event as scanned from its line, with the number of copies.
#[derive(Clone, Debug)]
pub(crate) struct LineSummary<'a> {
    pub(crate) id: EventId,
    pub(crate) at: Hlc,
    pub(crate) about: TouchedEntries,
    pub(crate) line: Cow<'a, str>,
    pub(crate) copies: CopyCounts,
    /// The event is an authorized redaction of another event.
    pub(crate) is_order: bool,
}

/// The entries an event touches; nearly always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TouchedEntries {
    None,
    One(EntryId),
    Many(Box<[EntryId]>),
}

/// Scan result of a segment.
#[derive(Debug, Default)]
pub(crate) struct SegmentScan<'a> {
    pub(crate) glimpses: Vec<LineSummary<'a>>,
    pub(crate) orders: Vec<RedactionLink>,
    pub(crate) holdings: SegmentEventIds,
    /// Bytes of complete lines.
    pub(crate) bytes: usize,
    pub(crate) torn: usize,
    pub(crate) digest: LinesDigest,
}

/// The redaction event `event` redacts `target`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedactionLink {
    pub(crate) target: EventId,
    pub(crate) event: EventId,
}

impl TouchedEntries {
    pub(crate) fn new(ids: impl Iterator<Item = EntryId>) -> Self {
        let mut ids: Vec<EntryId> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        match ids[..] {
            [] => Self::None,
            [id] => Self::One(id),
            [..] => Self::Many(ids.into()),
        }
    }

    /// Returns whether these are the entries that `event` touches.
    pub(crate) fn is_of(&self, event: &Event) -> bool {
        match self {
            Self::None => event.entries().next().is_none(),
            Self::One(id) => {
                let mut entries = event.entries();
                entries.next() == Some(*id) && entries.all(|other| other == *id)
            }
            Self::Many(_) => *self == Self::new(event.entries()),
        }
    }

    pub(crate) fn entries(&self) -> &[EntryId] {
        match self {
            Self::None => &[],
            Self::One(id) => std::slice::from_ref(id),
            Self::Many(ids) => ids,
        }
    }
}

/// Scans every line of a segment.
pub(crate) fn scan_segment(text: &[u8]) -> Result<SegmentScan<'_>, BadLine> {
    let (whole, tail) = segment::split_tail(text);
    let mut scanned = SegmentScan::default();
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        scanned.take_in(line)?;
    }
    if !tail.is_empty() {
        match RecordedEvent::parse(tail) {
            // A complete event that lacks only its newline is an event, not a torn tail.
            Ok(_) => scanned.take_in(tail)?,
            Err(_) => scanned.torn = tail.len(),
        }
    }
    scanned.bytes = text.len() - scanned.torn;
    scanned.digest = segment::extend_digest(segment::EMPTY_DIGEST, &text[..scanned.bytes]);
    Ok(scanned)
}

impl<'a> SegmentScan<'a> {
    fn take_in(&mut self, line: &'a [u8]) -> Result<(), BadLine> {
        let glimpse = match str::from_utf8(line).ok().and_then(summarize_line) {
            Some(glimpse) => glimpse,
            None => self.parsed(line)?,
        };
        let form = if glimpse.copies.any_full() {
            CopyForm::Full
        } else {
            CopyForm::Blank
        };
        self.holdings.push(glimpse.id, form);
        self.glimpses.push(glimpse);
        Ok(())
    }

    /// Parses a line that the fast scan cannot classify.
    fn parsed(&mut self, line: &'a [u8]) -> Result<LineSummary<'a>, BadLine> {
        let copy = RecordedEvent::parse(line).map_err(|source| BadLine {
            line: 1 + self.glimpses.len() as u64,
            source,
        })?;
        let order = redaction_target(&copy.event).map(|target| RedactionLink {
            target,
            event: copy.event.id,
        });
        self.orders.extend(order);
        Ok(LineSummary {
            line: str::from_utf8(line)
                .map_or_else(|_| copy.line().to_owned().into(), Cow::Borrowed),
            ..LineSummary::of(&copy)
        })
    }
}

impl LineSummary<'_> {
    /// Summarizes a parsed event as one copy in one segment.
    pub(crate) fn of(copy: &RecordedEvent) -> Self {
        Self {
            id: copy.event.id,
            at: copy.event.at,
            about: TouchedEntries::new(copy.event.entries()),
            line: Cow::Owned(copy.line().to_owned()),
            copies: single_copy(CopyForm::of(copy)),
            is_order: redaction_target(&copy.event).is_some(),
        }
    }
}

fn single_copy(form: CopyForm) -> CopyCounts {
    match form {
        CopyForm::Full => CopyCounts {
            full: 1,
            ..CopyCounts::default()
        },
        CopyForm::Blank => CopyCounts {
            blank: 1,
            ..CopyCounts::default()
        },
    }
}

/// Scans a version-1 line; `None` if it has another layout or must be parsed anyway.
fn summarize_line(line: &str) -> Option<LineSummary<'_>> {
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let (about, rest) = line
        .strip_prefix(r#"{"about":["#)?
        .split_once(r#"],"at":""#)?;
    let (at, rest) = rest.split_at_checked(HLC_CHARS)?;
    let (_, data) = rest.split_once(r#","data":"#)?;
    // A JSON string contains no unescaped quote, so the last `,"id":"` belongs to the envelope or
    // to a member that only newer versions have. The fixed end checked below excludes the latter.
    let (_, tail) = data.rsplit_once(r#","id":""#)?;
    let (id, tail) = tail.split_at_checked(EventId::CHARS)?;
    let (_, tail) = tail.strip_prefix(r#"","sum":"b3:"#)?.split_at_checked(32)?;
    let type_name = tail
        .strip_prefix(r#"","type":""#)?
        .strip_suffix(r#"","v":1}"#)?;
    let plain = !type_name.contains('"') && !data.starts_with(r#"{"blanked":"#);
    // Redacted lines and redaction events need their parsed data, so they take the slow path.
    if !plain || type_name == "event.blanked" {
        return None;
    }
    Some(LineSummary {
        id: id.parse().ok()?,
        at: at.parse().ok()?,
        about: parse_about(about),
        line: Cow::Borrowed(line),
        copies: single_copy(CopyForm::Full),
        is_order: false,
    })
}

fn parse_about(list: &str) -> TouchedEntries {
    let id = |quoted: &str| quoted.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
    match id(list) {
        Some(id) => TouchedEntries::One(id),
        // Entry ids contain no commas. Anything unparseable is skipped here and fails the later
        // check.
        None => TouchedEntries::new(list.split(',').filter_map(id)),
    }
}
