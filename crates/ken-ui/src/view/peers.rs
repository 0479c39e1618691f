//! Data of the pages about peers: publications of other organizations.

use ken_core::federation::Freshness;
use ken_core::ledger::entry::Entry;
use ken_core::values::id::EntryId;
use ken_core::values::time::{Date, Timestamp};

use crate::address::PeerLane;

/// Entries per page of a peer. A person reads all of their words.
pub const PEER_ENTRIES_PER_PAGE: usize = 20;

/// The peers of a person or an organization.
#[derive(Clone, Debug, Default)]
pub struct PeersView {
    pub peers: Vec<PeerLine>,
}

/// One peer, without its entries.
#[derive(Clone, Debug)]
pub struct PeerLine {
    pub name: String,
    pub publication: String,
    pub publisher: String,
    /// Fingerprint of the key, which a person compared; `None` if the stored key is damaged.
    pub fingerprint: Option<String>,
    /// Folder or address of the published files.
    pub source: String,
    pub hops: u8,
    /// The reason of a suspension. Nothing of a suspended peer is shown.
    pub suspended: Option<String>,
    pub freshness: Freshness,
    pub expires: Option<Timestamp>,
    /// Time of the last pull, where it is recorded, and why it stopped early.
    pub pulled: Option<Timestamp>,
    pub stopped: Option<String>,
    /// 10th percentile of what was observed, and its mean.
    pub trust: f64,
    pub mean: f64,
    pub weight: f64,
    /// Number of entries per lane, where it is known.
    pub counts: Vec<(PeerLane, u64)>,
}

/// One peer with a page of its entries.
#[derive(Clone, Debug)]
pub struct PeerView {
    pub peer: PeerLine,
    pub lane: PeerLane,
    /// The lanes whose entries can be listed here.
    pub lanes: &'static [PeerLane],
    pub entries: Vec<PeerEntryItem>,
    /// The place to continue after, if there are more.
    pub next: Option<String>,
}

/// An entry of a peer.
#[derive(Clone, Debug)]
pub struct PeerEntryItem {
    pub id: EntryId,
    pub first_seen: Date,
    /// `None` if its words are redacted.
    pub entry: Option<Entry>,
    /// Entries that may state the same or the opposite, the most likely first.
    pub related: Vec<RelatedWords>,
}

/// An entry that one of a peer is compared with.
#[derive(Clone, Debug)]
pub struct RelatedWords {
    pub id: EntryId,
    pub statement: String,
    /// Set if both may state opposites.
    pub is_opposed: bool,
    pub owner: WordsOwner,
}

/// Whose entry an entry of a peer is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordsOwner {
    /// An entry of this repository.
    Local,
    /// An entry of the same peer that was approved before.
    Peer,
}

impl PeerLine {
    /// Returns the number of entries of a lane, if it is known.
    pub fn count(&self, lane: PeerLane) -> Option<u64> {
        let found = self.counts.iter().find(|(it, _)| *it == lane);
        found.map(|(_, number)| *number)
    }
}
