//! The messages of synchronisation. Events travel as the lines they are, byte for byte.

use std::fmt;
use std::str::FromStr;

use ken_core::id::EventId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Kinds of problem a repository tells apart: the last part of a problem's `type`.
pub mod problem {
    /// The hub was restored from an older backup, or the cursor is another workspace's.
    pub const CURSOR_UNKNOWN: &str = "cursor-unknown";
    /// The organisation or the workspace has used what it may.
    pub const QUOTA: &str = "quota";
}

/// Events a push may hold.
pub const PUSH_EVENTS_MAX: usize = 1_000;

/// Bytes a push may have, after unpacking.
pub const PUSH_BYTES_MAX: usize = 8 << 20;

/// Events one page of a pull may hold.
pub const PULL_EVENTS_MAX: u32 = 1_000;

/// Events a repository offers.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Push {
    /// Each an event as it stands in the ledger.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub events: Vec<Box<RawValue>>,
}

impl Push {
    /// Offers lines as they are; none may be anything but JSON.
    pub fn of<'l>(lines: impl IntoIterator<Item = &'l str>) -> serde_json::Result<Self> {
        let raw = |line: &str| RawValue::from_string(line.to_owned());
        let events = lines.into_iter().map(raw).collect::<Result<_, _>>()?;
        Ok(Self { events })
    }
}

/// What became of each event of a push, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Pushed {
    pub events: Vec<Answered>,
    /// The end of the log behind these events: whoever shows it again learns whether the hub still has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, nullable = false))]
    pub cursor: Option<Cursor>,
}

/// What became of one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Answered {
    /// Its id; absent where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub id: Option<EventId>,
    pub verdict: Verdict,
    /// Why it was quarantined or refused; never the text that was the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a hub decided about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Admitted,
    /// The hub had it already.
    Known,
    /// It waits for a person: beside the log, or in it where it was quarantined before it came.
    Quarantined,
    Refused,
}

/// A page of events, in the order the hub took them.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Pulled {
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub events: Vec<Box<RawValue>>,
    /// Where the next page begins.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub cursor: Cursor,
    /// Whether there is a next page now.
    pub more: bool,
}

/// A place in a workspace's log: how many events came before, and the id of the last of them.
///
/// The id tells a hub that was restored from an older backup from the one the cursor is about. Printed as `0` or
/// `17.01JCPQ3W6M7Y2K8T4D5F6G7H8J`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub seq: u64,
    pub last: Option<EventId>,
}

/// A text that is no cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor such as 17.01JCPQ3W6M7Y2K8T4D5F6G7H8J")]
pub struct CursorError(String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) => write!(f, "{}.{last}", self.seq),
            None => f.write_str("0"),
        }
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let wrong = || CursorError(text.to_owned());
        if text == "0" {
            return Ok(Self::default());
        }
        let (seq, last) = text.split_once('.').ok_or_else(wrong)?;
        // PostgreSQL counts in signed numbers, and a place behind nothing has no last event.
        let seq = seq.parse::<i64>().ok().filter(|it| 0 < *it);
        Ok(Self {
            seq: seq.ok_or_else(wrong)?.unsigned_abs(),
            last: Some(last.parse().map_err(|_| wrong())?),
        })
    }
}

impl Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
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
            let cursor: Cursor = text.parse().expect("a cursor");
            assert_eq!(cursor.to_string(), text);
        }
        let wrong = ["", "17", "0.x", "-1.x", "17.", "17.x"].map(str::to_owned);
        let wrong = wrong.into_iter().chain([
            format!("0.{id}"),
            format!("-1.{id}"),
            format!("9223372036854775808.{id}"),
        ]);
        for text in wrong {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }

    #[test]
    fn events_travel_byte_for_byte() {
        let line = r#"{"a":1,"b":"\u00e9 <"}"#;
        let push: Push =
            serde_json::from_str(&format!(r#"{{"events":[{line}]}}"#)).expect("a push");
        assert_eq!(push.events[0].get(), line);
        let push = Push::of([line]).expect("JSON");
        let told = serde_json::to_string(&push).expect("plain data");
        assert_eq!(told, format!(r#"{{"events":[{line}]}}"#));
    }
}
