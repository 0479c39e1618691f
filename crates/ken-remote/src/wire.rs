//! Messages of the synchronization protocol. Events travel as raw lines, byte for byte.
//!
//! Reserializing an event would change its bytes and invalidate its checksum.

use std::fmt;
use std::str::FromStr;

use ken_core::values::actor::Actor;
use ken_core::values::id::EventId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Problem kinds a repository distinguishes: the last segment of a problem's `type`.
pub mod problem {
    /// The hub was restored from an older backup, or the cursor belongs to another workspace.
    pub const CURSOR_UNKNOWN: &str = "cursor-unknown";
    /// The organization or workspace has reached its quota.
    pub const QUOTA: &str = "quota";
    /// The workspace has another name now.
    pub const RENAMED: &str = "renamed";
}

/// Maximum events per push.
pub const PUSH_EVENTS_MAX: usize = 1_000;

/// Maximum bytes of a push, uncompressed.
pub const PUSH_BYTES_MAX: usize = 8 << 20;

/// Maximum events per page of a pull.
pub const PULL_EVENTS_MAX: u32 = 1_000;

/// The request of a push.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PushRequest {
    /// The events, each as its line in the ledger.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub events: Vec<Box<RawValue>>,
}

impl PushRequest {
    /// Creates a push of raw lines; fails if a line is not JSON.
    pub fn of<'l>(lines: impl IntoIterator<Item = &'l str>) -> serde_json::Result<Self> {
        // `RawValue` keeps the bytes of the line, where `Value` would reorder members.
        let raw = |line: &str| RawValue::from_string(line.to_owned());
        let events = lines.into_iter().map(raw).collect::<Result<_, _>>()?;
        Ok(Self { events })
    }
}

/// The response to a push: one verdict per event, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PushResponse {
    pub events: Vec<EventVerdict>,
    /// The end of the log after these events. A later pull from it shows if the hub still has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub cursor: Option<LogCursor>,
}

/// The verdict on one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EventVerdict {
    /// The id of the event; absent if the event could not be parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub id: Option<EventId>,
    pub verdict: PushVerdict,
    /// The reason for a quarantine or refusal, without the offending text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The person who has to push or sign a refused event: it decides in their name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub awaits: Option<Actor>,
}

/// A hub's decision on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PushVerdict {
    Admitted,
    /// The hub already had the event.
    Known,
    /// The event awaits a person's decision: outside the log, or in it if it arrived quarantined.
    Quarantined,
    Refused,
}

/// A page of events, in the order the hub received them.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PullResponse {
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub events: Vec<Box<RawValue>>,
    /// The start of the next page.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub cursor: LogCursor,
    /// True if there is a next page now.
    pub more: bool,
}

/// A position in a workspace's log: the number of events before it and the id of the last one.
///
/// The id detects a hub that was restored from an older backup: its log has another event at the
/// same position. The text form is `0` or `17.01JCPQ3W6M7Y2K8T4D5F6G7H8J`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCursor {
    pub seq: u64,
    pub last: Option<EventId>,
}

/// Error: a text that is not a valid cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid cursor such as 17.01JCPQ3W6M7Y2K8T4D5F6G7H8J")]
pub struct LogCursorError(String);

impl fmt::Display for LogCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) => write!(f, "{}.{last}", self.seq),
            None => f.write_str("0"),
        }
    }
}

impl FromStr for LogCursor {
    type Err = LogCursorError;

    fn from_str(text: &str) -> Result<Self, LogCursorError> {
        let wrong = || LogCursorError(text.to_owned());
        if text == "0" {
            return Ok(Self::default());
        }
        let (seq, last) = text.split_once('.').ok_or_else(wrong)?;
        // PostgreSQL integers are signed, and the position 0 has no last event.
        let seq = seq.parse::<i64>().ok().filter(|it| *it > 0);
        Ok(Self {
            seq: seq.ok_or_else(wrong)?.unsigned_abs(),
            last: Some(last.parse().map_err(|_| wrong())?),
        })
    }
}

impl Serialize for LogCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LogCursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_round_trip_and_nothing_else_is_one() {
        let id = "01JCPQ3W6M7Y2K8T4D5F6G7H8J";
        for text in ["0".to_owned(), format!("17.{id}")] {
            let cursor: LogCursor = text.parse().expect("a cursor");
            assert_eq!(cursor.to_string(), text);
        }
        let fixed = ["", "17", "0.x", "-1.x", "17.", "17.x"].map(str::to_owned);
        let wrong = fixed.into_iter().chain([
            format!("0.{id}"),
            format!("-1.{id}"),
            format!("9223372036854775808.{id}"),
        ]);
        for text in wrong {
            assert!(text.parse::<LogCursor>().is_err(), "{text}");
        }
    }

    #[test]
    fn events_travel_byte_for_byte() {
        let line = r#"{"a":1,"b":"\u00e9 <"}"#;
        let push: PushRequest =
            serde_json::from_str(&format!(r#"{{"events":[{line}]}}"#)).expect("a push");
        assert_eq!(push.events[0].get(), line);
        let push = PushRequest::of([line]).expect("JSON");
        let json = serde_json::to_string(&push).expect("plain data");
        assert_eq!(json, format!(r#"{{"events":[{line}]}}"#));
    }
}
