//! Notices: facts for the user that accompany the result of an operation.

use crate::layout::SegmentName;

/// A fact for the user; never an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerNotice {
    /// The branch changed and an uncommitted segment stayed in the worktree.
    SegmentCarriedOver {
        segment: SegmentName,
        written_on: String,
        now_on: String,
        events: u64,
    },
    /// An interrupted write was moved aside; it had not been acknowledged.
    TornTail {
        file: String,
        line: u64,
        bytes: u64,
        moved_to: String,
    },
    /// A segment damaged by a crash was rewritten from the journal.
    SegmentRepaired { segment: SegmentName, events: u64 },
    /// Damaged bytes in the unsynced part of a segment were moved aside.
    BytesMovedAside {
        segment: SegmentName,
        line: u64,
        bytes: u64,
        moved_to: String,
    },
    /// The events are durable in the journal, but the segment could not be written yet.
    SegmentBehind { segment: SegmentName, error: String },
    /// A journal record is unreadable; events in segments are not affected.
    JournalDamaged { file: String, line: u64 },
    /// A sealed segment lost its end. The journal has `missing` of its events; with 0, only git may
    /// have them.
    SegmentCut { segment: SegmentName, missing: u64 },
    /// The directory was copied, so it received a new node id.
    Copied,
    /// Local state was unreadable and was reset.
    StateLost { file: String },
    /// An interrupted pack or redaction was finished.
    ReplacementCompleted { commit: bool },
    /// An interrupted pack or redaction is still pending; the next writing command retries.
    ReplacementPending { error: String },
}
