//! Hybrid logical clock: wall time, a counter within the millisecond, and the node.
//!
//! The clock orders only events that nothing else orders. An event's `replaces` decides between an
//! edit and its ancestor, so a host with a clock in 2099 cannot win forever, and [`Hlc::next`] does
//! not follow such a host beyond [`DRIFT_MAX_MS`].

use std::fmt;
use std::str::FromStr;

use crate::values::id::NodeId;
use crate::values::text_form::text_form;
use crate::values::time::Timestamp;

/// Maximum lead over the local wall clock that a node adopts from events of others, in
/// milliseconds.
pub const DRIFT_MAX_MS: u64 = 60_000;

/// A reading of the hybrid logical clock, printed as `2026-11-14T22:51:03.120Z/0004/k3f9w2`.
///
/// The counter has four lowercase hexadecimal digits; the text sorts like the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hlc {
    pub wall: Timestamp,
    pub counter: u16,
    pub node: NodeId,
}

/// A text that is not a valid clock reading.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a clock reading such as 2026-11-14T22:51:03.120Z/0004/k3f9w2")]
pub struct HlcError(String);

impl Hlc {
    /// Returns the reading for a new event of `node` at `now`, after `seen`.
    ///
    /// A `seen` reading later than `now` plus [`DRIFT_MAX_MS`] is ignored.
    pub fn next(node: NodeId, now: Timestamp, seen: Option<Self>) -> Self {
        // The comparison is strict, so even a borrowed millisecond stays within the limit.
        let limit = now.plus_millis(DRIFT_MAX_MS);
        // An older `seen` needs no counter: the wall clock alone is later.
        match seen.filter(|seen| now <= seen.wall && seen.wall < limit) {
            None => Self {
                wall: now,
                counter: 0,
                node,
            },
            Some(Self {
                wall,
                counter: u16::MAX,
                ..
            }) => Self {
                // The counter is exhausted; borrowing a millisecond keeps the order strict.
                wall: wall.plus_millis(1),
                counter: 0,
                node,
            },
            Some(Self { wall, counter, .. }) => Self {
                wall,
                counter: counter + 1,
                node,
            },
        }
    }
}

impl fmt::Display for Hlc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:04x}/{}", self.wall, self.counter, self.node)
    }
}

impl FromStr for Hlc {
    type Err = HlcError;

    fn from_str(text: &str) -> Result<Self, HlcError> {
        parse(text).ok_or_else(|| HlcError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Hlc> {
    let mut parts = text.split('/');
    let (wall, counter, node) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    // Only the full form: a shorter one would not sort as text.
    let full_width = wall.len() == 24 && counter.len() == 4 && counter.bytes().all(is_hex);
    if parts.next().is_some() || !full_width {
        return None;
    }
    let counter = u16::from_str_radix(counter, 16).ok()?;
    Some(Hlc {
        wall: wall.parse().ok()?,
        counter,
        node: node.parse().ok()?,
    })
}

text_form!(
    Hlc,
    "Hlc",
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/[0-9a-f]{4}/[0-9a-hjkmnp-tv-z]{6}$"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn readings_round_trip_and_sort_as_text() {
        let a = Hlc {
            wall: at(1000),
            counter: 9,
            node: NodeId::new(1),
        };
        let b = Hlc { counter: 10, ..a };
        assert!(a < b && a.to_string() < b.to_string());
        assert_eq!(a.to_string().parse(), Ok(a));
        assert!("1970-01-01T00:00:01Z/0009/000001".parse::<Hlc>().is_err());
        assert!(
            "1970-01-01T00:00:01.000Z/000A/000001"
                .parse::<Hlc>()
                .is_err()
        );
    }

    #[test]
    fn a_new_reading_follows_what_was_seen() {
        let node = NodeId::new(7);
        let seen = Hlc {
            wall: at(5000),
            counter: 3,
            node: NodeId::new(9),
        };
        assert_eq!(
            Hlc::next(node, at(4000), Some(seen)),
            Hlc {
                wall: at(5000),
                counter: 4,
                node
            }
        );
        assert_eq!(
            Hlc::next(node, at(6000), Some(seen)),
            Hlc {
                wall: at(6000),
                counter: 0,
                node
            }
        );
        let full = Hlc {
            counter: u16::MAX,
            ..seen
        };
        assert_eq!(
            Hlc::next(node, at(5000), Some(full)),
            Hlc {
                wall: at(5001),
                counter: 0,
                node
            }
        );
    }

    #[test]
    fn a_clock_in_2099_does_not_drag_others_along() {
        let node = NodeId::new(7);
        let far = Hlc {
            wall: "2099-01-01T00:00:00Z".parse().unwrap(),
            counter: 0,
            node,
        };
        let now = "2026-11-14T00:00:00Z".parse().unwrap();
        assert_eq!(Hlc::next(node, now, Some(far)).wall, now);
        let edge = Hlc {
            wall: now.plus_millis(DRIFT_MAX_MS),
            counter: 0,
            node,
        };
        assert_eq!(Hlc::next(node, now, Some(edge)).wall, now);
        let inside = Hlc {
            wall: now.plus_millis(DRIFT_MAX_MS - 1),
            counter: u16::MAX,
            node,
        };
        assert_eq!(
            Hlc::next(node, now, Some(inside)).wall,
            now.plus_millis(DRIFT_MAX_MS)
        );
    }
}
