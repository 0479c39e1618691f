//! Digests of texts that passed the guard's scan, so that a search does not scan them again.

use rusqlite::Connection;

use crate::database::without_waiting;
use crate::error::IndexError;
use crate::index::Index;

/// Maximum number of stored digests; beyond it all are deleted and texts are scanned again.
const SCANNED_MAX: i64 = 200_000;

/// Digest of a text, its author and the rules that scanned it.
pub type ScanDigest = [u8; 16];

impl Index {
    /// Returns whether a text with this digest passed the scan.
    pub fn is_scanned(&self, digest: &ScanDigest) -> Result<bool, IndexError> {
        self.checked(|db| {
            let query = "SELECT EXISTS (SELECT 1 FROM scanned WHERE digest = ?1)";
            Ok(db
                .prepare_cached(query)?
                .query_row([digest], |row| row.get(0))?)
        })
    }

    /// Records the digests of texts that passed the scan, unless another process is writing.
    pub fn record_scanned(&mut self, digests: &[ScanDigest]) -> Result<(), IndexError> {
        if digests.is_empty() {
            return Ok(());
        }
        let recorded = without_waiting(&self.db, || {
            let tx = self.db.unchecked_transaction()?;
            let query = "SELECT count(*) FROM scanned";
            let count: i64 = tx.prepare_cached(query)?.query_row([], |row| row.get(0))?;
            if count > SCANNED_MAX {
                tx.execute_batch("DELETE FROM scanned")?;
            }
            for digest in digests {
                tx.prepare_cached("INSERT OR IGNORE INTO scanned VALUES (?1)")?
                    .execute([digest])?;
            }
            tx.commit()
        });
        match recorded {
            Err(IndexError::Busy { .. }) => Ok(()),
            other => other,
        }
    }
}

/// Deletes all digests, because one of them may be that of redacted text.
pub(crate) fn clear_scanned(db: &Connection) -> Result<(), IndexError> {
    db.prepare_cached("DELETE FROM scanned")?.execute([])?;
    Ok(())
}
