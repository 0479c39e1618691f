//! Conversions between values and columns.

use ken_core::values::id::EventId;
use ken_core::values::time::Timestamp;
use uuid::Uuid;

/// Converts a timestamp to its column value.
pub(crate) fn millis(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

/// Converts a column value to a timestamp.
pub(crate) fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// Replaces NUL characters, which PostgreSQL does not accept in text values.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Converts an event id to its column value.
pub(crate) fn event_uuid(id: EventId) -> Uuid {
    Uuid::from_bytes(id.to_bytes())
}

/// Converts a column value to an event id.
pub(crate) fn event_id(id: Uuid) -> EventId {
    EventId::from_bytes(id.into_bytes())
}
