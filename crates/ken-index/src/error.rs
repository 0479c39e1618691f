//! Errors of the index, grouped by the caller's possible reaction.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use ken_core::ledger::event::LineError;
use ken_embed::EmbedError;
use rusqlite::{ErrorCode, ffi};

/// Failure of an index operation.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A stored value does not read back; the next [`refresh`](crate::Index::refresh) rebuilds the
    /// database.
    #[error("the index is damaged")]
    Damaged {
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("another process is using the index")]
    Busy { source: rusqlite::Error },
    #[error("`{}` is a symbolic link, which Ken does not follow", path.display())]
    Symlink { path: PathBuf },
    #[error("cannot create `{}`", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot remove the old index `{}`", path.display())]
    Remove { path: PathBuf, source: io::Error },
    #[error("the index cannot be read or written")]
    Sqlite { source: rusqlite::Error },
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Failure of a refresh; the index keeps its previous contents.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError<E> {
    #[error("cannot list the segments")]
    List { source: E },
    #[error("cannot read segment `{segment}`")]
    Read { segment: String, source: E },
    #[error("segment `{segment}` is damaged at line {line}")]
    Line {
        segment: String,
        /// 1-based.
        line: u64,
        source: LineError,
    },
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl IndexError {
    /// Returns whether a refresh repairs the index.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    /// Returns whether the database cannot be opened or written, as in a read-only checkout.
    pub fn is_unwritable(&self) -> bool {
        let code = match self {
            Self::Sqlite { source } => source.sqlite_error_code(),
            Self::Create { .. } | Self::Remove { .. } => return true,
            Self::Damaged { .. } | Self::Busy { .. } | Self::Symlink { .. } | Self::Embed(_) => {
                return false;
            }
        };
        matches!(
            code,
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
        )
    }

    /// Wraps the error of a stored value that does not read back.
    pub(crate) fn damaged(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Damaged {
            source: cause.into(),
        }
    }
}

impl From<rusqlite::Error> for IndexError {
    fn from(source: rusqlite::Error) -> Self {
        match source.sqlite_error() {
            Some(error) => classify_error(*error, source),
            // Errors without an SQLite code are type mismatches of stored values and missing rows.
            None => Self::damaged(source),
        }
    }
}

fn classify_error(error: ffi::Error, source: rusqlite::Error) -> IndexError {
    if matches!(
        error.code,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked
    ) {
        return IndexError::Busy { source };
    }
    // Our statements are fixed and tested, so a missing table (`Unknown`) or a violated constraint
    // means that another program wrote to the file.
    let damage = matches!(
        error.code,
        ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch
            | ErrorCode::Unknown
    );
    // A short read is a truncated file. Other I/O errors may be transient, so they do not trigger a
    // rebuild.
    if damage || error.extended_code == ffi::SQLITE_IOERR_SHORT_READ {
        return IndexError::damaged(source);
    }
    IndexError::Sqlite { source }
}
