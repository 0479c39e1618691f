//! Events in, entries out: the log, its projections, searching them, rebuilding them.
//!
//! The log of a workspace is the only truth here. Everything else follows from it by the same fold a repository uses, is
//! written in the same transaction, and can be thrown away and made again ([`Database::rebuild`]).
//!
//! Each question and each change is a function of [`Tenant`], so none can be asked without saying whose rows are meant; what
//! is new goes a short way that enters by itself ([`Database::append_fresh`]).
//!
//! [`Database::append_fresh`]: crate::database::Database::append_fresh
//! [`Database::rebuild`]: crate::database::Database::rebuild
//! [`Tenant`]: crate::database::Tenant

mod alike;
mod append;
mod global;
mod held;
mod known;
mod lexemes;
mod log;
mod project;
mod read;
mod rebuild;
mod rows;
mod runs;
mod search;
mod sessions;
mod settle;
mod short;
mod stem;
mod write;

use ken_core::id::EventId;
use ken_remote::wire::Cursor;
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row as _, Type};
use uuid::Uuid;

use crate::away::BrokenOff;
use crate::database::DatabaseError;

pub use append::{Appended, Outcome};
pub use held::HeldEvent;
pub use log::{Logged, Page};
pub use read::{After, ENTRIES_MAX, EVENTS_MAX};
pub(crate) use rows::{model, table};
pub use runs::OpenRun;
pub(crate) use search::PREPARE;
pub use search::{Elsewhere, Query, any_word};
pub use short::Terms;
pub(crate) use short::{Retractions, begin_entries};

/// Why the store could not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("what is stored cannot be read")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(
        "the place {0} is not in this log: it was restored from an older backup; begin at 0 again"
    )]
    CursorUnknown(Cursor),
    #[error(transparent)]
    BrokenOff(#[from] BrokenOff),
}

impl StoreError {
    /// Says that a stored value is not what was written.
    pub(crate) fn damaged(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Damaged(why.into())
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Reads one column.
fn column<'r, T: Decode<'r, Postgres> + Type<Postgres>>(
    row: &'r PgRow,
    at: usize,
) -> Result<T, StoreError> {
    Ok(row.try_get(at)?)
}

/// Returns an event's id as it stands in a row.
fn uuid(id: EventId) -> Uuid {
    Uuid::from_bytes(id.to_bytes())
}

fn uuids<'a>(ids: impl IntoIterator<Item = &'a EventId>) -> Vec<Uuid> {
    ids.into_iter().copied().map(uuid).collect()
}

/// Reads an event's id back.
fn event_id(id: Uuid) -> EventId {
    EventId::from_bytes(id.into_bytes())
}
