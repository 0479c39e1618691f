//! Ids of events, entries and nodes, each with its own type.
//!
//! Ids are never generated here: an [`IdSource`] supplies the randomness, so the same source
//! produces the same ledger.

use std::fmt;
use std::str::FromStr;

use crate::values::base32;
use crate::values::kind::{EntryKind, IdPrefix};
use crate::values::text_form::text_form;
use crate::values::time::Timestamp;

/// A UUIDv7 in Crockford base 32, 26 characters: `01JCPQ3W6M7Y2K8T4D5F6G7H8J`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(u128);

/// The short, stable id of an entry: a prefix for its kind and eight characters, `L-7k2f5qm3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    prefix: IdPrefix,
    tail: u64,
}

/// Six characters that identify one clone on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// A random value in an event's data that prevents guessing redacted data from its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Salt(u128);

/// The reason a text is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct IdError {
    text: String,
    wanted: &'static str,
}

/// A source of random bits for ids and salts, supplied by the caller.
pub trait IdSource {
    /// Returns 128 random bits.
    fn random(&mut self) -> u128;
}

impl EventId {
    /// Length of the printed form in characters.
    pub const CHARS: usize = 26;

    /// Creates a version-7 id from 48 bits of time and random bits.
    pub fn new(at: Timestamp, random: u128) -> Self {
        // Layout of RFC 9562: 48 bits of time, version, 12 random bits, variant, 62 random bits.
        const VERSION: u128 = 0x7 << 76;
        const VARIANT: u128 = 0b10 << 62;
        let rand_a = random >> 64 & 0xfff;
        let rand_b = random & ((1 << 62) - 1);
        Self(u128::from(at.millis()) << 80 | VERSION | rand_a << 64 | VARIANT | rand_b)
    }

    /// Returns whether the id is a UUIDv7, as every id that Ken creates.
    pub fn is_version_7(self) -> bool {
        (self.0 >> 76) & 0xf == 0x7 && (self.0 >> 62) & 0b11 == 0b10
    }

    /// Returns the creation time.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_millis((self.0 >> 80) as u64)
    }

    /// Returns the id as 16 big-endian bytes, which sort like the id.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Creates an id from the bytes of [`Self::to_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl EntryId {
    /// Number of characters after the prefix and dash.
    pub const TAIL_CHARS: usize = 8;

    /// Returns the id of the entry that `event` creates: the last eight characters of the event id.
    pub fn created_by(event: EventId, kind: EntryKind) -> Self {
        Self {
            prefix: kind.prefix(),
            // Eight base 32 characters are 40 bits, all of them random in a UUIDv7.
            tail: Self::tail_of(event),
        }
    }

    fn tail_of(event: EventId) -> u64 {
        (event.0 & ((1 << 40) - 1)) as u64
    }

    /// Returns whether `event` may have created this entry; the kind decides, too.
    pub fn may_be_created_by(self, event: EventId) -> bool {
        self.tail == Self::tail_of(event)
    }

    /// Returns the prefix, which determines the memory of the entry.
    pub fn prefix(self) -> IdPrefix {
        self.prefix
    }
}

impl NodeId {
    /// Creates a node id from the low 30 bits of `random`.
    pub fn new(random: u128) -> Self {
        Self((random & ((1 << 30) - 1)) as u32)
    }
}

impl Salt {
    /// Creates a salt from 128 random bits.
    pub fn new(random: u128) -> Self {
        Self(random)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = base32::encode::<{ Self::CHARS }>(self.0);
        // Uppercase distinguishes event ids from the lowercase ids of entries and nodes.
        text.make_ascii_uppercase();
        write_ascii(f, &text)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-", self.prefix)?;
        write_ascii(
            f,
            &base32::encode::<{ Self::TAIL_CHARS }>(u128::from(self.tail)),
        )
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ascii(f, &base32::encode::<6>(u128::from(self.0)))
    }
}

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ascii(f, &base32::encode::<26>(self.0))
    }
}

fn write_ascii(f: &mut fmt::Formatter<'_>, text: &[u8]) -> fmt::Result {
    f.write_str(std::str::from_utf8(text).expect("base 32 is ASCII"))
}

impl FromStr for EventId {
    type Err = IdError;

    /// Parses the printed form. Lowercase is rejected because a ledger line has one spelling.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = || IdError {
            text: text.to_owned(),
            wanted: "an event id",
        };
        if text.len() != Self::CHARS || text.bytes().any(|b| b.is_ascii_lowercase()) {
            return Err(error());
        }
        base32::decode(text).map(Self).ok_or_else(error)
    }
}

impl FromStr for EntryId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        parse_entry_id(text).ok_or_else(|| IdError {
            text: text.to_owned(),
            wanted: "an entry id such as L-7k2f5qm3",
        })
    }
}

impl FromStr for NodeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        decode_lowercase(text, 6)
            .map(|value| Self(value as u32))
            .ok_or_else(|| IdError {
                text: text.to_owned(),
                wanted: "a node id",
            })
    }
}

impl FromStr for Salt {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        decode_lowercase(text, 26).map(Self).ok_or_else(|| IdError {
            // The salt protects redacted data, so it must not appear in error messages or logs.
            text: "(hidden)".to_owned(),
            wanted: "a salt",
        })
    }
}

fn parse_entry_id(text: &str) -> Option<EntryId> {
    let (prefix, tail) = text.split_once('-')?;
    let prefix = prefix.parse().ok()?;
    let tail = decode_lowercase(tail, EntryId::TAIL_CHARS)?;
    Some(EntryId {
        prefix,
        tail: tail as u64,
    })
}

// The length limits the value to `5 * chars` bits, so callers may cast it to a smaller integer.
fn decode_lowercase(text: &str, chars: usize) -> Option<u128> {
    let fits = text.len() == chars && text.bytes().all(base32::is_lower_digit);
    fits.then(|| base32::decode(text)).flatten()
}

text_form!(EventId, "EventId", "^[0-7][0-9A-HJKMNP-TV-Z]{25}$");
text_form!(EntryId, "EntryId", "^[LSERNF]-[0-9a-hjkmnp-tv-z]{8}$");
text_form!(NodeId, "NodeId", "^[0-9a-hjkmnp-tv-z]{6}$");
text_form!(Salt, "Salt", "^[0-7][0-9a-hjkmnp-tv-z]{25}$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_is_a_uuid_of_version_seven() {
        let at = Timestamp::from_millis(1_700_000_000_123);
        let id = EventId::new(at, u128::MAX);
        let bytes = id.to_bytes();
        assert_eq!(bytes[6] >> 4, 7);
        assert_eq!(bytes[8] >> 6, 0b10);
        assert_eq!(id.timestamp(), at);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(EventId::from_bytes(bytes), id);
    }

    #[test]
    fn an_entry_takes_its_tail_from_the_creating_event() {
        let id = EventId::new(Timestamp::from_millis(1), 0x1234_5678_9abc_def0);
        let entry = EntryId::created_by(id, EntryKind::Learning);
        let tail = id.to_string()[18..].to_ascii_lowercase();
        assert_eq!(entry.to_string(), format!("L-{tail}"));
        assert_eq!(entry.to_string().parse(), Ok(entry));
    }

    #[test]
    fn ids_in_another_spelling_are_refused() {
        for bad in [
            "L-7K2F5QM3",
            "L-7k2f5qm",
            "L-7k2f5qm33",
            "X-7k2f5qm3",
            "L7k2f5qm3",
            "L-7k2f5qmi",
        ] {
            assert!(bad.parse::<EntryId>().is_err(), "{bad}");
        }
        assert!("01jcpq3w6m7y2k8t4d5f6g7h8j".parse::<EventId>().is_err());
    }
}
