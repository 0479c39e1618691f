//! A quick look at ledger lines, good enough to sort them by event and entry.
//!
//! Canonical JSON puts `about` first and `id` near the end, so a few fixed places tell where a
//! line belongs without parsing it. Nothing is believed on that account: whoever uses a line
//! parses it whole and compares.

use std::borrow::Cow;

use ken_core::event::{Event, LINE_BYTES_MAX, Recorded};
use ken_core::hlc::Hlc;
use ken_core::id::{EntryId, EventId};
use ken_core::state::blanks;

use crate::rows::Copies;
use crate::segment::{self, BadLine, Digest, Form, Holdings};

/// Characters of a printed clock reading.
const HLC_CHARS: usize = 36;

/// One event as its line shows it, with how many copies were seen.
#[derive(Clone, Debug)]
pub(crate) struct Glimpse<'a> {
    pub(crate) id: EventId,
    pub(crate) at: Hlc,
    pub(crate) about: About,
    pub(crate) line: Cow<'a, str>,
    pub(crate) copies: Copies,
    /// The event says that another one is blanked, and may.
    pub(crate) is_order: bool,
}

/// The entries a line names; nearly always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    None,
    One(EntryId),
    Many(Box<[EntryId]>),
}

/// A segment's lines.
#[derive(Debug, Default)]
pub(crate) struct Scanned<'a> {
    pub(crate) glimpses: Vec<Glimpse<'a>>,
    pub(crate) orders: Vec<Order>,
    pub(crate) holdings: Holdings,
    /// Bytes of whole lines.
    pub(crate) bytes: usize,
    pub(crate) torn: usize,
    pub(crate) digest: Digest,
}

/// `event` says that `target` is blanked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) target: EventId,
    pub(crate) event: EventId,
}

impl About {
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

    /// Returns whether these are the entries `event` touches.
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

/// Looks at every line of a segment.
pub(crate) fn scan(text: &[u8]) -> Result<Scanned<'_>, BadLine> {
    let (whole, tail) = segment::split_tail(text);
    let mut scanned = Scanned::default();
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        scanned.take_in(line)?;
    }
    if !tail.is_empty() {
        match Recorded::parse(tail) {
            Ok(_) => scanned.take_in(tail)?,
            Err(_) => scanned.torn = tail.len(),
        }
    }
    scanned.bytes = text.len() - scanned.torn;
    scanned.digest = segment::chain(segment::NO_LINES, &text[..scanned.bytes]);
    Ok(scanned)
}

impl<'a> Scanned<'a> {
    fn take_in(&mut self, line: &'a [u8]) -> Result<(), BadLine> {
        let glimpse = match str::from_utf8(line).ok().and_then(glimpse) {
            Some(glimpse) => glimpse,
            None => self.parsed(line)?,
        };
        let form = if glimpse.copies.any_full() {
            Form::Full
        } else {
            Form::Blank
        };
        self.holdings.push(glimpse.id, form);
        self.glimpses.push(glimpse);
        Ok(())
    }

    /// Takes the long way for a line whose looks do not tell.
    fn parsed(&mut self, line: &'a [u8]) -> Result<Glimpse<'a>, BadLine> {
        let copy = Recorded::parse(line).map_err(|source| BadLine {
            line: 1 + self.glimpses.len() as u64,
            source,
        })?;
        let order = blanks(&copy.event).map(|target| Order {
            target,
            event: copy.event.id,
        });
        self.orders.extend(order);
        Ok(Glimpse {
            line: str::from_utf8(line)
                .map_or_else(|_| copy.line().to_owned().into(), Cow::Borrowed),
            ..Glimpse::of(&copy)
        })
    }
}

impl Glimpse<'_> {
    /// Describes an event that was parsed, as held by one segment.
    pub(crate) fn of(copy: &Recorded) -> Self {
        Self {
            id: copy.event.id,
            at: copy.event.at,
            about: About::new(copy.event.entries()),
            line: Cow::Owned(copy.line().to_owned()),
            copies: one_copy(Form::of(copy)),
            is_order: blanks(&copy.event).is_some(),
        }
    }
}

fn one_copy(form: Form) -> Copies {
    match form {
        Form::Full => Copies {
            full: 1,
            ..Copies::default()
        },
        Form::Blank => Copies {
            blank: 1,
            ..Copies::default()
        },
    }
}

/// Reads the places a version-1 line has; `None` if it looks otherwise or must be parsed anyway.
fn glimpse(line: &str) -> Option<Glimpse<'_>> {
    if LINE_BYTES_MAX < line.len() {
        return None;
    }
    let (about, rest) = line
        .strip_prefix(r#"{"about":["#)?
        .split_once(r#"],"at":""#)?;
    let (at, rest) = rest.split_at_checked(HLC_CHARS)?;
    let (_, data) = rest.split_once(r#","data":"#)?;
    // An unescaped quote cannot stand inside a string, so the last `,"id":"` is the envelope's
    // or lies in a member only newer versions have; the fixed end below rules that out.
    let (_, tail) = data.rsplit_once(r#","id":""#)?;
    let (id, tail) = tail.split_at_checked(EventId::CHARS)?;
    let (_, tail) = tail.strip_prefix(r#"","sum":"b3:"#)?.split_at_checked(32)?;
    let type_name = tail
        .strip_prefix(r#"","type":""#)?
        .strip_suffix(r#"","v":1}"#)?;
    let plain = !type_name.contains('"') && !data.starts_with(r#"{"blanked":"#);
    if !plain || type_name == "event.blanked" {
        return None;
    }
    Some(Glimpse {
        id: id.parse().ok()?,
        at: at.parse().ok()?,
        about: glimpse_about(about),
        line: Cow::Borrowed(line),
        copies: one_copy(Form::Full),
        is_order: false,
    })
}

fn glimpse_about(list: &str) -> About {
    let id = |quoted: &str| quoted.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
    match id(list) {
        Some(id) => About::One(id),
        None => About::new(list.split(',').filter_map(id)),
    }
}
