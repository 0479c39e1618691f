//! Appends events: journal first, then segments.

use ken_core::event::Recorded;
use ken_core::id::IdSource;
use ken_core::time::Timestamp;

use crate::disk::DiskError;
use crate::journal::JournalError;
use crate::layout::SegmentName;
use crate::ledger::Ledger;
use crate::notice::Notice;

/// What an append did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The segments written to.
    pub segments: Vec<SegmentName>,
    pub notices: Vec<Notice>,
}

/// Why nothing was appended: no event of the batch is acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Ledger {
    /// Appends `batch` durably; when it returns `Ok`, every event survives a power cut.
    ///
    /// A batch is not a transaction: after a crash *before* the acknowledgement some of its
    /// events may be there. Events with a blanked id are written blanked.
    pub fn append(
        &self,
        _batch: &[Recorded],
        _now: Timestamp,
        _ids: &mut dyn IdSource,
    ) -> Result<Appended, AppendError> {
        unimplemented!("next commit")
    }
}
