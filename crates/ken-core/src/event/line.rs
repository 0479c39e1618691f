//! One event as one line of canonical JSON, with a checksum that survives blanking.
//!
//! `sum` covers the envelope and the *digest* of `data`, not `data` itself. Replacing `data` by
//! `{"blanked":"<digest>"}` therefore leaves `sum` valid, and nothing else does.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Admission, Body, Event, Order, Subject};
use crate::actor::Actor;
use crate::canonical::{self, Flaw};
use crate::hlc::Hlc;
use crate::id::{EventId, Salt};
use crate::state::blanks;

/// Bytes a line may have, its newline not counted.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// The envelope version this build writes.
const VERSION: u32 = 1;
/// Members a version-1 envelope has.
const MEMBERS: usize = 8;
/// Keeps sums of ledger lines apart from any other use of the hash.
const SUM_CONTEXT: &[u8] = b"ken.event.v1\n";

/// An event and the line it stands on, which is what is stored and passed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    pub event: Event,
    line: Box<str>,
}

/// Why a line is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("the line has {bytes} bytes; at most {LINE_BYTES_MAX} are allowed")]
    TooLong { bytes: usize },
    #[error("the line is not UTF-8")]
    NotUtf8,
    #[error(transparent)]
    NotCanonical(#[from] Flaw),
    #[error("the line is not an event: {0}")]
    NotAnEvent(String),
    #[error("the checksum does not match")]
    Sum,
}

/// An event that no line is long enough for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event has {bytes} bytes; at most {LINE_BYTES_MAX} are allowed")]
pub struct TooLong {
    pub bytes: usize,
}

/// A line whose data was replaced by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlankForm(pub Box<str>);

/// A line to be written whose sum is not known yet.
#[derive(Serialize)]
struct OpenLine<'a> {
    about: &'a [Subject],
    at: Hlc,
    by: &'a Actor,
    data: OpenData<'a>,
    id: EventId,
    sum: &'a str,
    #[serde(rename = "type")]
    type_name: &'a str,
    v: u32,
}

#[derive(Serialize)]
struct OpenData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    admission: Option<&'a Admission>,
    body: &'a serde_json::Value,
    salt: Salt,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    about: Vec<Subject>,
    at: Hlc,
    by: Actor,
    #[serde(borrow)]
    data: &'a RawValue,
    id: EventId,
    sum: &'a str,
    #[serde(rename = "type")]
    type_name: &'a str,
    v: u32,
}

#[derive(Deserialize)]
struct Data<'a> {
    admission: Option<Admission>,
    #[serde(borrow)]
    body: &'a RawValue,
    salt: Salt,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlankedData<'a> {
    blanked: &'a str,
}

/// What a whole line is, without what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub id: EventId,
    /// Its place in the canonical order.
    pub order: Order,
    pub is_blanked: bool,
}

impl Recorded {
    /// Writes `event` as a line.
    ///
    /// # Panics
    /// If the event is blanked or unknown: such events exist only as lines that were read.
    pub fn new(event: Event) -> Self {
        let body = event.body.to_json().expect("only typed events are written");
        let salt = event.salt.expect("a written event has a salt");
        let open = canonical::to_string(&OpenLine {
            about: &event.about,
            at: event.at,
            by: &event.by,
            data: OpenData {
                admission: event.admission.as_ref(),
                body: &body,
                salt,
            },
            id: event.id,
            sum: "",
            type_name: event.body.type_name(),
            v: VERSION,
        });
        let envelope: Envelope<'_> = serde_json::from_str(&open).expect("just written");
        let spans = Spans::of(&open, &envelope);
        let sum = sum(&open, &spans, digest(envelope.data.get()).as_str());
        let (before, after) = (&open[..spans.sum.start], &open[spans.sum.end..]);
        let line = [before, sum.as_str(), after].concat();
        Self {
            event,
            line: line.into(),
        }
    }

    /// Writes `event` as a line and reads it back as a reader would: what is kept is what that one sees.
    ///
    /// # Panics
    /// As [`Self::new`] does, and if the line says anything else than the event: better than to keep it.
    pub fn written(event: Event) -> Result<Self, TooLong> {
        let Self { event, line } = Self::new(event);
        let bytes = line.len();
        if LINE_BYTES_MAX < bytes {
            return Err(TooLong { bytes });
        }
        // Numbers may be spelled another way on the line, `1` for `1.0`: what is read is what counts.
        let read = Self::parse(line.as_bytes()).expect("a written line reads back");
        assert_eq!(read.event.id, event.id, "and as the same event");
        assert_eq!(read.event.unknown_fields, 0, "with nothing lost");
        Ok(read)
    }

    /// Reads one line, without its newline, and checks everything about it.
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        let text = checked_text(line)?;
        Ok(Self {
            event: Event::parse(text)?,
            line: text.into(),
        })
    }

    /// Checks a line's form and sum, as [`Self::parse`] does, without reading what it says.
    pub fn check(line: &[u8]) -> Result<Head, LineError> {
        let whole = Whole::read(checked_text(line)?)?;
        Ok(Head {
            id: whole.envelope.id,
            order: (whole.envelope.at, whole.envelope.id),
            is_blanked: whole.is_blanked,
        })
    }

    /// Returns the line, without a newline.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns whether the data was replaced by its digest.
    pub fn is_blanked(&self) -> bool {
        matches!(self.event.body, Body::Blanked { .. })
    }

    /// Returns the same event with its data blanked.
    pub fn blanked(&self) -> Self {
        if self.is_blanked() {
            return self.clone();
        }
        let BlankForm(line) = blank_form(&self.line).expect("a recorded line parses");
        let event = Event {
            salt: None,
            admission: None,
            body: Body::Blanked {
                type_name: self.event.body.type_name().to_owned(),
            },
            unknown_fields: 0,
            ..self.event.clone()
        };
        Self { event, line }
    }

    /// Returns which of two copies of one event to keep; the order of the arguments is no matter.
    ///
    /// Copies that differ in more than blanking (two clones absorbed one hand edit, or somebody
    /// forged one) are ranked by their blank form, which blanking one of them does not change: so
    /// replicas agree even if one passes on a blanked copy. Of the same form a full copy beats a
    /// blanked one, because whether blanking was authorised is not known here. An order to blank
    /// beats every other copy: else a forged one would bring the secret back.
    pub fn better_copy(self, other: Self) -> Self {
        if self.line == other.line {
            return self;
        }
        let rank = |copy: &Self| {
            let order = blanks(&copy.event).is_none();
            (order, copy.blanked().line, copy.is_blanked())
        };
        if rank(&other) < rank(&self) {
            other
        } else {
            self
        }
    }
}

impl Event {
    /// Reads and checks one line.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let Whole {
            envelope,
            is_blanked,
            data_members,
        } = Whole::read(text)?;
        Ok(envelope.typed(is_blanked, data_members))
    }
}

/// A line whose form and sum are right; what its data says was not looked at.
struct Whole<'a> {
    envelope: Envelope<'a>,
    is_blanked: bool,
    data_members: usize,
}

impl<'a> Whole<'a> {
    fn read(text: &'a str) -> Result<Self, LineError> {
        let members = canonical::check(text)?;
        let envelope: Envelope<'_> =
            serde_json::from_str(text).map_err(|e| LineError::NotAnEvent(e.to_string()))?;
        let spans = Spans::of(text, &envelope);
        let blanked = blanked_digest(envelope.data.get());
        let sum = match blanked {
            Some(digest) => sum(text, &spans, digest),
            None => sum(text, &spans, digest(envelope.data.get()).as_str()),
        };
        if sum.as_str() != envelope.sum {
            return Err(LineError::Sum);
        }
        if envelope.v == VERSION && members.outer != MEMBERS {
            return Err(LineError::NotAnEvent(
                "an envelope of version 1 has eight members".into(),
            ));
        }
        // Beside its data a version-1 envelope holds no object.
        let data_members = members.all.saturating_sub(MEMBERS);
        Ok(Self {
            is_blanked: blanked.is_some(),
            envelope,
            data_members,
        })
    }
}

impl Envelope<'_> {
    fn typed(self, blanked: bool, data_members: usize) -> Event {
        let type_name = || self.type_name.to_owned();
        let read = |body| (None, None, body, 0);
        let (salt, admission, body, unknown_fields) = if blanked {
            read(Body::Blanked {
                type_name: type_name(),
            })
        } else if self.v != VERSION {
            read(Body::Unknown {
                type_name: type_name(),
            })
        } else {
            self.read_data(data_members).unwrap_or_else(|| {
                read(Body::Unknown {
                    type_name: type_name(),
                })
            })
        };
        let Self {
            id, at, by, about, ..
        } = self;
        Event {
            id,
            at,
            by,
            about,
            salt,
            admission,
            body,
            unknown_fields,
        }
    }

    /// Reads the data, which has `members` members at all depths.
    fn read_data(&self, members: usize) -> Option<(Option<Salt>, Option<Admission>, Body, u32)> {
        let data: Data<'_> = serde_json::from_str(self.data.get()).ok()?;
        let body = Body::read(self.type_name, data.body.get())?.ok()?;
        let unknown = members.abs_diff(known_members(&body, data.admission.as_ref()));
        let unknown = u32::try_from(unknown).unwrap_or(u32::MAX);
        Some((Some(data.salt), data.admission, body, unknown))
    }
}

/// Returns how many members writing the data back gives.
fn known_members(body: &Body, admission: Option<&Admission>) -> usize {
    let salt = 1;
    let parts = [
        body.count_members(),
        admission.map(canonical::count_members),
    ];
    salt + parts
        .iter()
        .flatten()
        .map(|members| 1 + members)
        .sum::<usize>()
}

/// Where `data` and `sum` stand in a line.
struct Spans {
    data: Range<usize>,
    sum: Range<usize>,
}

impl Spans {
    fn of(text: &str, envelope: &Envelope<'_>) -> Self {
        Self {
            data: span_in(text, envelope.data.get()),
            sum: span_in(text, envelope.sum),
        }
    }
}

/// Returns where `part`, borrowed from `text`, stands in it.
fn span_in(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

fn checked_text(line: &[u8]) -> Result<&str, LineError> {
    if LINE_BYTES_MAX < line.len() {
        return Err(LineError::TooLong { bytes: line.len() });
    }
    std::str::from_utf8(line).map_err(|_| LineError::NotUtf8)
}

fn blanked_digest(data: &str) -> Option<&str> {
    let data: BlankedData<'_> = data
        .starts_with(r#"{"blanked":"#)
        .then(|| serde_json::from_str(data).ok())??;
    Some(data.blanked)
}

fn digest(data: &str) -> ShortHash {
    ShortHash::of(blake3::hash(data.as_bytes()))
}

fn sum(text: &str, spans: &Spans, data_digest: &str) -> ShortHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(SUM_CONTEXT);
    let text = text.as_bytes();
    hasher.update(&text[..spans.data.start]);
    hasher.update(data_digest.as_bytes());
    hasher.update(&text[spans.data.end..spans.sum.start]);
    hasher.update(&text[spans.sum.end..]);
    ShortHash::of(hasher.finalize())
}

/// 128 bits of a BLAKE3 hash, as `b3:` and 32 hexadecimal digits.
struct ShortHash([u8; 35]);

impl ShortHash {
    fn of(hash: blake3::Hash) -> Self {
        let mut text = [0; 35];
        text[..3].copy_from_slice(b"b3:");
        text[3..].copy_from_slice(&hash.to_hex().as_bytes()[..32]);
        Self(text)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal digits are ASCII")
    }
}

/// Returns `line` with its data replaced by the digest that keeps its checksum valid.
pub fn blank_form(line: &str) -> Result<BlankForm, LineError> {
    let envelope: Envelope<'_> =
        serde_json::from_str(line).map_err(|e| LineError::NotAnEvent(e.to_string()))?;
    let spans = Spans::of(line, &envelope);
    let data = envelope.data.get();
    let hashed = digest(data);
    let digest = blanked_digest(data).unwrap_or(hashed.as_str());
    let (before, after) = (&line[..spans.data.start], &line[spans.data.end..]);
    Ok(BlankForm(
        format!(r#"{before}{{"blanked":"{digest}"}}{after}"#).into(),
    ))
}
