//! Event lines: canonical JSON with a checksum that survives redaction.
//!
//! `sum` covers the envelope and the *digest* of `data`, not `data` itself. Replacing `data` with
//! `{"blanked":"<digest>"}` therefore keeps `sum` valid; any other change invalidates it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Admission, Event, EventBody, EventOrder, EventSubject};
use crate::ledger::canonical::{self, CanonicalError};
use crate::ledger::state::redaction_target;
use crate::values::actor::Actor;
use crate::values::hlc::Hlc;
use crate::values::id::{EventId, Salt};

/// Maximum length of a line in bytes, without its newline.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// The envelope version that this build writes.
const VERSION: u32 = 1;
/// Number of members in a version-1 envelope.
const MEMBERS: usize = 8;
/// Domain separation: a checksum of a line never equals another use of the hash.
const SUM_CONTEXT: &[u8] = b"ken.event.v1\n";

/// An event and its exact line, which is the form that is stored and transferred.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    pub event: Event,
    line: Box<str>,
}

/// The reason a line is not a valid event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("the line has {bytes} bytes; at most {LINE_BYTES_MAX} are allowed")]
    TooLong { bytes: usize },
    #[error("the line is not UTF-8")]
    NotUtf8,
    #[error(transparent)]
    NotCanonical(#[from] CanonicalError),
    #[error("the line is not an event: {0}")]
    NotAnEvent(String),
    #[error("the checksum does not match")]
    ChecksumMismatch,
}

/// An event that exceeds the maximum line length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event has {bytes} bytes; at most {LINE_BYTES_MAX} are allowed")]
pub struct LineTooLong {
    pub bytes: usize,
}

/// A line whose data was replaced by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedLine(pub Box<str>);

/// A line to be written, before its checksum is known.
#[derive(Serialize)]
struct UnsummedLine<'a> {
    about: &'a [EventSubject],
    at: Hlc,
    by: &'a Actor,
    data: UnsummedData<'a>,
    id: EventId,
    sum: &'a str,
    #[serde(rename = "type")]
    type_name: &'a str,
    v: u32,
}

#[derive(Serialize)]
struct UnsummedData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    admission: Option<&'a Admission>,
    body: &'a serde_json::Value,
    salt: Salt,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
}

#[derive(Deserialize)]
struct LineEnvelope<'a> {
    about: Vec<EventSubject>,
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
struct EnvelopeData<'a> {
    admission: Option<Admission>,
    #[serde(borrow)]
    body: &'a RawValue,
    salt: Salt,
    signature: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RedactedData<'a> {
    blanked: &'a str,
}

/// Identity and order of a checked line, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineHeader {
    pub id: EventId,
    /// Sort key in the canonical order.
    pub order: EventOrder,
    pub is_redacted: bool,
}

impl RecordedEvent {
    /// Encodes `event` as a line.
    ///
    /// # Panics
    /// If the event is redacted or unknown: such events exist only as lines that were read.
    pub fn new(event: Event) -> Self {
        let body = event.body.to_json().expect("only typed events are written");
        let salt = event.salt.expect("a written event has a salt");
        let open = canonical::to_string(&UnsummedLine {
            about: &event.about,
            at: event.at,
            by: &event.by,
            data: UnsummedData {
                admission: event.admission.as_ref(),
                body: &body,
                salt,
                signature: event.signature.as_deref(),
            },
            id: event.id,
            sum: "",
            type_name: event.body.type_name(),
            v: VERSION,
        });
        // Parsing the line just written gives the byte ranges of `data` and `sum` without a second
        // encoder.
        let envelope: LineEnvelope<'_> = serde_json::from_str(&open).expect("just written");
        let spans = LineSpans::locate(&open, &envelope);
        let sum = checksum(&open, &spans, digest(envelope.data.get()).as_str());
        let (before, after) = (&open[..spans.sum.start], &open[spans.sum.end..]);
        let line = [before, sum.as_str(), after].concat();
        Self {
            event,
            line: line.into(),
        }
    }

    /// Encodes `event` as a line, parses that line and returns the parsed event, which is the event
    /// that every reader sees.
    ///
    /// # Panics
    /// As [`Self::new`], and if the line does not represent the event. A panic is better than
    /// storing it.
    pub fn new_verified(event: Event) -> Result<Self, LineTooLong> {
        let Self { event, line } = Self::new(event);
        let bytes = line.len();
        if bytes > LINE_BYTES_MAX {
            return Err(LineTooLong { bytes });
        }
        // A number may be spelled differently on the line (`1` for `1.0`), so the parsed event is
        // the one to keep.
        let read = Self::parse(line.as_bytes()).expect("a written line reads back");
        assert_eq!(read.event.id, event.id, "and as the same event");
        assert_eq!(read.event.unknown_fields, 0, "with nothing lost");
        Ok(read)
    }

    /// Parses one line, without its newline, and checks its form and checksum.
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        let text = check_text(line)?;
        Ok(Self {
            event: Event::parse(text)?,
            line: text.into(),
        })
    }

    /// Checks a line's form and checksum like [`Self::parse`], without decoding its data.
    pub fn check(line: &[u8]) -> Result<LineHeader, LineError> {
        let whole = CheckedLine::parse(check_text(line)?)?;
        Ok(LineHeader {
            id: whole.envelope.id,
            order: (whole.envelope.at, whole.envelope.id),
            is_redacted: whole.is_redacted,
        })
    }

    /// Returns the line without a newline.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns the checksum of the line, which redaction keeps.
    pub fn sum(&self) -> &str {
        let envelope: LineEnvelope<'_> =
            serde_json::from_str(&self.line).expect("a recorded line parses");
        envelope.sum
    }

    /// Returns whether the data was redacted.
    pub fn is_redacted(&self) -> bool {
        matches!(self.event.body, EventBody::Blanked { .. })
    }

    /// Returns the event with its data redacted.
    pub fn redacted(&self) -> Self {
        if self.is_redacted() {
            return self.clone();
        }
        let RedactedLine(line) = redact_line(&self.line).expect("a recorded line parses");
        let event = Event {
            salt: None,
            admission: None,
            body: EventBody::Blanked {
                type_name: self.event.body.type_name().to_owned(),
            },
            signature: None,
            unknown_fields: 0,
            ..self.event.clone()
        };
        Self { event, line }
    }

    /// Returns the copy of one event to keep; the order of the arguments does not matter.
    ///
    /// Copies that differ in more than redaction (two clones synced the same hand edit, or one copy
    /// is forged) are ranked by their redacted form, which redacting one of them does not change.
    /// Replicas therefore agree even if one of them forwards a redacted copy. For equal redacted
    /// forms, a full copy wins over a redacted one, because this function cannot know whether the
    /// redaction was authorized. An event that orders a redaction wins over every other copy;
    /// otherwise a forged copy could restore the secret.
    pub fn preferred_copy(self, other: Self) -> Self {
        if self.line == other.line {
            return self;
        }
        // Smaller wins. `false` sorts before `true`, so redaction orders come first and full copies
        // win ties.
        let rank = |copy: &Self| {
            let order = redaction_target(&copy.event).is_none();
            (order, copy.redacted().line, copy.is_redacted())
        };
        if rank(&other) < rank(&self) {
            other
        } else {
            self
        }
    }
}

impl Event {
    /// Parses and checks one line.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let CheckedLine {
            envelope,
            is_redacted: is_blanked,
            data_members,
        } = CheckedLine::parse(text)?;
        Ok(envelope.into_event(is_blanked, data_members))
    }
}

/// A line with valid form and checksum; its data is not decoded yet.
struct CheckedLine<'a> {
    envelope: LineEnvelope<'a>,
    is_redacted: bool,
    data_members: usize,
}

impl<'a> CheckedLine<'a> {
    fn parse(text: &'a str) -> Result<Self, LineError> {
        let members = canonical::check(text)?;
        let envelope: LineEnvelope<'_> =
            serde_json::from_str(text).map_err(|e| LineError::NotAnEvent(e.to_string()))?;
        let spans = LineSpans::locate(text, &envelope);
        let blanked = redacted_digest(envelope.data.get());
        // Redacted data contains the digest of the original data, so the same checksum verifies
        // both forms.
        let sum = match blanked {
            Some(digest) => checksum(text, &spans, digest),
            None => checksum(text, &spans, digest(envelope.data.get()).as_str()),
        };
        if sum.as_str() != envelope.sum {
            return Err(LineError::ChecksumMismatch);
        }
        // The schema forbids extra members. A newer version may have them, so only version 1 is
        // strict.
        if envelope.v == VERSION && members.outer != MEMBERS {
            return Err(LineError::NotAnEvent(
                "an envelope of version 1 has eight members".into(),
            ));
        }
        // Outside `data`, a version-1 envelope contains no object.
        let data_members = members.all.saturating_sub(MEMBERS);
        Ok(Self {
            is_redacted: blanked.is_some(),
            envelope,
            data_members,
        })
    }
}

impl LineEnvelope<'_> {
    fn into_event(self, blanked: bool, data_members: usize) -> Event {
        let type_name = || self.type_name.to_owned();
        let read = |body| DecodedData {
            salt: None,
            admission: None,
            body,
            signature: None,
            unknown_fields: 0,
        };
        let data = if blanked {
            read(EventBody::Blanked {
                type_name: type_name(),
            })
        } else if self.v != VERSION {
            read(EventBody::Unknown {
                type_name: type_name(),
            })
        } else {
            self.read_data(data_members).unwrap_or_else(|| {
                read(EventBody::Unknown {
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
            salt: data.salt,
            admission: data.admission,
            body: data.body,
            signature: data.signature,
            unknown_fields: data.unknown_fields,
        }
    }

    /// Decodes the data, which has `members` members at all depths. Returns `None` for an unknown
    /// type or value.
    fn read_data(&self, members: usize) -> Option<DecodedData> {
        let data: EnvelopeData<'_> = serde_json::from_str(self.data.get()).ok()?;
        let body = EventBody::read(self.type_name, data.body.get())?.ok()?;
        // A field this build does not know is dropped by serde, so the counts differ by the number
        // of unknown members.
        let signature = usize::from(data.signature.is_some());
        let known = known_members(&body, data.admission.as_ref()) + signature;
        Some(DecodedData {
            salt: Some(data.salt),
            admission: data.admission,
            body,
            signature: data.signature,
            unknown_fields: u32::try_from(members.abs_diff(known)).unwrap_or(u32::MAX),
        })
    }
}

/// The data of a line, decoded.
struct DecodedData {
    salt: Option<Salt>,
    admission: Option<Admission>,
    body: EventBody,
    signature: Option<String>,
    unknown_fields: u32,
}

/// Returns the number of members that encoding the data again would write, without a signature.
fn known_members(body: &EventBody, admission: Option<&Admission>) -> usize {
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

/// Byte ranges of `data` and `sum` in a line.
struct LineSpans {
    data: Range<usize>,
    sum: Range<usize>,
}

impl LineSpans {
    fn locate(text: &str, envelope: &LineEnvelope<'_>) -> Self {
        Self {
            data: span_in(text, envelope.data.get()),
            sum: span_in(text, envelope.sum),
        }
    }
}

/// Returns the byte range of `part`, which must be a slice of `text`.
fn span_in(text: &str, part: &str) -> Range<usize> {
    // Pointer arithmetic instead of a search: the same bytes may occur earlier in the line.
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

fn check_text(line: &[u8]) -> Result<&str, LineError> {
    // Checked before anything else, so a huge line costs no parsing.
    if line.len() > LINE_BYTES_MAX {
        return Err(LineError::TooLong { bytes: line.len() });
    }
    std::str::from_utf8(line).map_err(|_| LineError::NotUtf8)
}

fn redacted_digest(data: &str) -> Option<&str> {
    let data: RedactedData<'_> = data
        // The prefix test avoids a parse of every ordinary event's data.
        .starts_with(r#"{"blanked":"#)
        .then(|| serde_json::from_str(data).ok())??;
    Some(data.blanked)
}

fn digest(data: &str) -> ShortHash {
    ShortHash::from_hash(blake3::hash(data.as_bytes()))
}

fn checksum(text: &str, spans: &LineSpans, data_digest: &str) -> ShortHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(SUM_CONTEXT);
    let text = text.as_bytes();
    hasher.update(&text[..spans.data.start]);
    hasher.update(data_digest.as_bytes());
    // The value of `sum` itself is excluded; keys are sorted, so `data` precedes `sum`.
    hasher.update(&text[spans.data.end..spans.sum.start]);
    hasher.update(&text[spans.sum.end..]);
    ShortHash::from_hash(hasher.finalize())
}

/// 128 bits of a BLAKE3 hash, as `b3:` and 32 hexadecimal digits. A fixed array, so hashing a line
/// allocates nothing.
struct ShortHash([u8; 35]);

impl ShortHash {
    fn from_hash(hash: blake3::Hash) -> Self {
        let mut text = [0; 35];
        text[..3].copy_from_slice(b"b3:");
        text[3..].copy_from_slice(&hash.to_hex().as_bytes()[..32]);
        Self(text)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal digits are ASCII")
    }
}

/// Returns `line` with its data replaced by the digest, which keeps the checksum valid.
pub fn redact_line(line: &str) -> Result<RedactedLine, LineError> {
    let envelope: LineEnvelope<'_> =
        serde_json::from_str(line).map_err(|e| LineError::NotAnEvent(e.to_string()))?;
    let spans = LineSpans::locate(line, &envelope);
    let data = envelope.data.get();
    let hashed = digest(data);
    // Idempotent: a redacted line keeps its digest.
    let digest = redacted_digest(data).unwrap_or(hashed.as_str());
    let (before, after) = (&line[..spans.data.start], &line[spans.data.end..]);
    Ok(RedactedLine(
        format!(r#"{before}{{"blanked":"{digest}"}}{after}"#).into(),
    ))
}
