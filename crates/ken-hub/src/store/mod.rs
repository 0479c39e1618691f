//! Storage of a workspace: the log, its projections, search and rebuild.
//!
//! The log is the only source of truth. The fold that a repository uses derives the projections
//! from it, in the transaction that appends the events. Projections can be deleted and rebuilt
//! ([`HubDatabase::rebuild`]).
//!
//! Queries and changes are methods of [`WorkspaceTx`], so each names the workspace it runs on. The
//! exception is the fast append of new events ([`HubDatabase::fast_append`]), a single statement
//! that enters the workspace itself.
//!
//! [`HubDatabase::fast_append`]: crate::database::HubDatabase::fast_append
//! [`HubDatabase::rebuild`]: crate::database::HubDatabase::rebuild
//! [`WorkspaceTx`]: crate::database::WorkspaceTx

mod append;
mod copies;
mod facets;
mod fast_append;
mod global;
mod lexemes;
mod log;
mod overlays;
mod peer_counts;
mod peer_trust;
mod peers;
mod preload;
mod project;
mod publications;
mod quarantine;
mod read;
mod rebuild;
mod rows;
mod runs;
mod search;
mod search_index;
mod sessions;
mod similar;
mod sources;
mod stem;
mod write;

use ken_core::values::id::EventId;
use ken_remote::wire::LogCursor;
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row as _, Type};
use uuid::Uuid;

use crate::blocking::BlockingTaskError;
use crate::database::DatabaseError;
use crate::database::{event_id, event_uuid as uuid};

pub use append::{AppendReceipt, CopyOutcome};
pub use facets::{EntryFacets, QuarantineVisibility};
pub use fast_append::FastAppendOptions;
pub(crate) use fast_append::are_self_contained;
pub use log::{EntryEventCount, LogPage, LoggedEvent};
pub use peer_counts::PeerEntryCounts;
pub use peer_trust::PeerObservation;
pub use peers::{
    NewPeerRow, PeerApproval, PeerCandidate, PeerLineRow, PeerRow, PeerVerdict, ReplicaChange,
    ShownPeer,
};
pub use publications::{AudienceError, PublicationAudience, PublicationRow, PublishedLine};
pub use quarantine::QuarantinedEvent;
pub use read::{ENTRIES_MAX, EVENTS_MAX, EntryPosition};
pub(crate) use rows::{embedding_model, embedding_table};
pub use runs::RunRow;
pub use search::{GlobalCandidate, StoreQuery, any_word};
pub use search_index::FRESH_MAX;
pub use sources::SourceEntryCounts;

/// Error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("stored data is invalid")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(
        "the cursor {0} is not in this log, perhaps because the hub was restored from an older backup; start again from cursor 0"
    )]
    CursorUnknown(LogCursor),
    #[error(transparent)]
    BrokenOff(#[from] BlockingTaskError),
}

impl StoreError {
    /// Wraps an error about a stored value that cannot be parsed.
    pub(crate) fn damaged(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Damaged(why.into())
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Reads one column of a row.
fn column<'r, T: Decode<'r, Postgres> + Type<Postgres>>(
    row: &'r PgRow,
    at: usize,
) -> Result<T, StoreError> {
    Ok(row.try_get(at)?)
}

fn uuids<'a>(ids: impl IntoIterator<Item = &'a EventId>) -> Vec<Uuid> {
    ids.into_iter().copied().map(uuid).collect()
}
