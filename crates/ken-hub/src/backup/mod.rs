//! Backup of a hub's database to one file, restore with verification, and the restore drill.
//!
//! A backup is one snapshot of the database, taken while hubs serve. It contains the rows of every
//! table except the [derived and short-lived ones](DERIVED_TABLES): a restore folds the logs again,
//! with the code a hub uses, which tests them.
//!
//! Invariant: a restore either loads everything or changes nothing; it needs an empty database.

mod archive;
mod catalog;
mod digest;
mod drill;
mod dump;
mod load;
mod verify;

use std::io;

use serde::{Deserialize, Serialize};

use crate::database::DatabaseError;
use crate::store::StoreError;

pub use drill::{DrillReport, run_drill};
pub use dump::{BackupReport, write_backup};
pub use load::{RestoreReport, load_backup};
pub use verify::{VerificationReport, VerifiedWorkspace, verify_restored};

/// Tables whose rows a backup leaves out: projections, which a restore folds again, and rows that
/// live for minutes (kept answers, device grants, sign-ins).
pub const DERIVED_TABLES: [&str; 12] = [
    "device_grants",
    "entries",
    "global_entries",
    "idempotency",
    "migrations",
    "path_places",
    "postings",
    "searchable",
    "segments",
    "sign_ins",
    "subjects",
    "workspace_states",
];

/// Content of one workspace: what a restore has to reproduce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceDigest {
    pub organization_id: String,
    pub organization: String,
    pub workspace_id: String,
    pub workspace: String,
    /// Position of the last event in the log.
    pub head: u64,
    /// Events in the log.
    pub events: u64,
    /// BLAKE3 of the log: position, id and line of every event.
    pub log: String,
    /// Entries; absent if the projections were evicted.
    pub entries: Option<u64>,
    /// BLAKE3 of every folded entry and of the workspace state; absent if they were evicted.
    pub fold: Option<String>,
    /// Id of the last event.
    pub last_event: Option<String>,
    /// When the last event was acknowledged, in milliseconds since 1970.
    pub appended_at: Option<u64>,
}

/// Returns the workspace with the event that was acknowledged last.
#[must_use]
pub fn last_acknowledged(workspaces: &[WorkspaceDigest]) -> Option<&WorkspaceDigest> {
    let with_events = workspaces.iter().filter(|it| it.last_event.is_some());
    with_events.max_by_key(|it| it.appended_at)
}

/// Error of a backup or restore.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the database returned an error")]
    Sql(#[from] sqlx::Error),
    #[error("cannot read or write the backup")]
    Io(#[from] io::Error),
    #[error("cannot fold a restored workspace")]
    Store(#[from] StoreError),
    #[error(
        "row-level security hides rows from role `{0}`: back up as a superuser, or as a role with BYPASSRLS and pg_read_all_data"
    )]
    Restricted(String),
    #[error("this is not a complete backup of a hub: {0}")]
    Damaged(String),
    #[error(
        "the backup has schema version {found} with migration `{name}`, which this version of Ken does not contain: upgrade Ken"
    )]
    TooNew { found: usize, name: String },
    #[error("the database is not empty: restore into a new one")]
    NotEmpty,
    #[error("the database URL names no database")]
    NoDatabase,
}

impl BackupError {
    /// Returns the underlying database error, if there is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Database(error) | Self::Store(StoreError::Database(error)) => Some(error),
            Self::Sql(_)
            | Self::Io(_)
            | Self::Store(_)
            | Self::Restricted(_)
            | Self::Damaged(_)
            | Self::TooNew { .. }
            | Self::NotEmpty
            | Self::NoDatabase => None,
        }
    }
}
