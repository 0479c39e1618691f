//! Where a foreign hit comes from, as results show it.

use serde::Serialize;

use crate::values::id::EntryId;
use crate::values::text::Tag;
use crate::values::time::{Date, Timestamp};

use super::manifest::PublisherId;
use super::replica::Freshness;

/// The peer of a hit, and how much the hit counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignSource {
    pub entry: EntryId,
    /// The name this user gave the peer.
    pub peer: String,
    pub publisher: PublisherId,
    pub publication: Tag,
    pub hops: u8,
    /// 10th percentile of what was observed of the peer.
    pub trust: f64,
    /// Mean of the same; never below `trust`.
    pub mean: f64,
    /// Factor of the score.
    pub weight: f64,
    pub freshness: Freshness,
    /// The last time the publisher signed.
    pub published: Option<Timestamp>,
    pub expires: Option<Timestamp>,
    /// The day the wording was first accepted here.
    pub first_seen: Option<Date>,
}
