//! What happened beside the answer: facts a person should hear, as data.

use crate::layout::SegmentName;

/// Something worth telling; never an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The branch changed and an uncommitted segment stayed in the tree.
    CameAlong {
        segment: SegmentName,
        written_on: String,
        now_on: String,
        events: u64,
    },
    /// A write that a crash cut short was moved aside; nobody was told it had succeeded.
    TornTail {
        file: String,
        line: u64,
        bytes: u64,
        moved_to: String,
    },
    /// A segment a crash had hurt was written again from the journal.
    Healed { segment: SegmentName, events: u64 },
    /// Damaged bytes in a segment's unsynced part were moved aside.
    MovedAside {
        segment: SegmentName,
        line: u64,
        bytes: u64,
        moved_to: String,
    },
    /// The events are durable in the journal, but the segment could not be written yet.
    SegmentBehind { segment: SegmentName, error: String },
    /// A record of the journal cannot be read; the events in the segments are not affected.
    JournalDamaged { file: String, line: u64 },
    /// The folder was copied: it got a node id of its own.
    Copied,
    /// Local state was unreadable and begun anew.
    StateLost { file: String },
    /// An interrupted pack or blank was finished.
    ReplacementCompleted { commit: bool },
    /// An interrupted pack or blank still waits; the next writing command tries again.
    ReplacementWaits { error: String },
}
