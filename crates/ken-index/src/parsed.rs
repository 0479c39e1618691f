//! Cache of code outlines and condition results, keyed by content, so that an unchanged file is not
//! parsed twice.
//!
//! The index treats outlines as opaque text.

use rusqlite::{OptionalExtension as _, params};

use crate::error::IndexError;
use crate::index::Index;

/// Cached outlines before the oldest half is deleted; several times those of a large repository.
const OUTLINES_MAX: i64 = 200_000;

/// Metadata of a worktree file at the time it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    pub len: u64,
    pub modified_ns: u64,
    pub inode: u64,
}

impl Index {
    /// Returns the content key of a file whose metadata is still `stat`.
    pub fn content_key(&self, path: &str, stat: FileStat) -> Result<Option<String>, IndexError> {
        let query = "SELECT key FROM files WHERE path = ?1 AND len = ?2 AND modified_ns = ?3 AND inode = ?4";
        let mut statement = self.db.prepare_cached(query)?;
        let FileStat {
            len,
            modified_ns,
            inode,
        } = stat;
        let signed = [len, modified_ns, inode].map(u64::cast_signed);
        let key = statement.query_row(params![path, signed[0], signed[1], signed[2]], |row| {
            row.get(0)
        });
        Ok(key.optional()?)
    }

    /// Returns the outline of the content with `key`.
    pub fn outline(&self, key: &str) -> Result<Option<String>, IndexError> {
        let mut statement = self
            .db
            .prepare_cached("SELECT outline FROM outlines WHERE key = ?1")?;
        Ok(statement.query_row([key], |row| row.get(0)).optional()?)
    }

    /// Stores outlines by content key.
    pub fn store_outlines(&mut self, outlines: &[(String, String)]) -> Result<(), IndexError> {
        if outlines.is_empty() {
            return Ok(());
        }
        let tx = self.db.transaction()?;
        for (key, outline) in outlines {
            tx.prepare_cached("INSERT OR REPLACE INTO outlines (key, outline) VALUES (?1, ?2)")?
                .execute([key, outline])?;
        }
        let held: i64 = tx
            .prepare_cached("SELECT count(*) FROM outlines")?
            .query_row([], |row| row.get(0))?;
        // Row ids grow with each insertion, so the lowest ones are the oldest.
        if held > OUTLINES_MAX {
            tx.prepare_cached(
                "DELETE FROM outlines WHERE rowid IN
                 (SELECT rowid FROM outlines ORDER BY rowid LIMIT ?1)",
            )?
            .execute([held / 2])?;
        }
        Ok(tx.commit()?)
    }

    /// Returns the last result of checking a condition.
    pub fn truth(&self, condition: &str) -> Result<Option<String>, IndexError> {
        let query = "SELECT truth FROM truths WHERE condition = ?1";
        let mut statement = self.db.prepare_cached(query)?;
        let truth = statement.query_row([condition], |row| row.get(0));
        Ok(truth.optional()?)
    }

    /// Stores results of condition checks.
    pub fn keep_truths<'t>(
        &mut self,
        truths: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> Result<(), IndexError> {
        // An empty batch must not take the write lock.
        let mut truths = truths.peekable();
        if truths.peek().is_none() {
            return Ok(());
        }
        let tx = self.db.transaction()?;
        for (condition, truth) in truths {
            tx.prepare_cached("INSERT OR REPLACE INTO truths VALUES (?1, ?2)")?
                .execute([condition, truth])?;
        }
        Ok(tx.commit()?)
    }

    /// Stores metadata and content keys of worktree files.
    pub fn store_file_stats(
        &mut self,
        files: &[(String, FileStat, String)],
    ) -> Result<(), IndexError> {
        if files.is_empty() {
            return Ok(());
        }
        let tx = self.db.transaction()?;
        for (path, stat, key) in files {
            let [len, modified_ns, inode] =
                [stat.len, stat.modified_ns, stat.inode].map(u64::cast_signed);
            tx.prepare_cached("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![path, len, modified_ns, inode, key])?;
        }
        Ok(tx.commit()?)
    }
}
