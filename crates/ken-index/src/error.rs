//! What can go wrong with an index, sorted by what the caller can do about it.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use ken_core::event::LineError;
use ken_embed::EmbedError;
use rusqlite::{ErrorCode, ffi};

/// Why the index could not answer.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The next [`refresh`](crate::Index::refresh) throws the database away and fills a new one.
    #[error("the index is damaged")]
    Damaged {
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("another process keeps the index busy")]
    Busy { source: rusqlite::Error },
    #[error("`{}` is a symbolic link, which Ken does not follow", path.display())]
    Symlink { path: PathBuf },
    #[error("cannot remove the old index `{}`", path.display())]
    Remove { path: PathBuf, source: io::Error },
    #[error("the index cannot be read or written")]
    Sqlite { source: rusqlite::Error },
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Why the index could not be brought up to date; what it held before it still holds.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError<E> {
    #[error("cannot list the segments")]
    List { source: E },
    #[error("cannot read segment `{segment}`")]
    Read { segment: String, source: E },
    #[error("segment `{segment}` is damaged at line {line}")]
    Line {
        segment: String,
        /// Counted from 1.
        line: u64,
        source: LineError,
    },
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl IndexError {
    /// Returns whether a refresh would mend it.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    /// Reports something stored that does not read back.
    pub(crate) fn damaged(what: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Damaged {
            source: what.into(),
        }
    }
}

impl From<rusqlite::Error> for IndexError {
    fn from(source: rusqlite::Error) -> Self {
        match source.sqlite_error() {
            Some(error) => sorted(*error, source),
            // What is left are values of another type than we store, and rows that must exist.
            None => Self::damaged(source),
        }
    }
}

fn sorted(error: ffi::Error, source: rusqlite::Error) -> IndexError {
    if matches!(
        error.code,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked
    ) {
        return IndexError::Busy { source };
    }
    // Our statements are fixed and tested: a missing table (`Unknown`) or a broken constraint
    // means that somebody else's bytes are in the file.
    let damage = matches!(
        error.code,
        ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch
            | ErrorCode::Unknown
    );
    if damage || error.extended_code == ffi::SQLITE_IOERR_SHORT_READ {
        return IndexError::damaged(source);
    }
    IndexError::Sqlite { source }
}
