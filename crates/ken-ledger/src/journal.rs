//! The journal: every event of every worktree, durable before anything else happens.

use crate::disk::DiskError;

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Disk(#[from] DiskError),
}
