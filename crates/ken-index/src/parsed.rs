//! What was read out of source files, by what they hold: an unchanged file is not parsed twice.
//!
//! A cache and nothing else; what an outline looks like is its maker's affair.

use rusqlite::{OptionalExtension as _, params};

use crate::error::IndexError;
use crate::index::Index;

/// Outlines that are kept before the oldest half goes: those of a large repository, several times.
const OUTLINES_MAX: i64 = 200_000;

/// How a file of the work tree looked from outside when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    pub len: u64,
    pub modified_ns: u64,
    pub inode: u64,
}

impl Index {
    /// Returns the key of what a file held when it looked like `stat`.
    pub fn file_key(&self, path: &str, stat: FileStat) -> Result<Option<String>, IndexError> {
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

    /// Returns the outline of what has `key`.
    pub fn outline(&self, key: &str) -> Result<Option<String>, IndexError> {
        let mut statement = self
            .db
            .prepare_cached("SELECT outline FROM outlines WHERE key = ?1")?;
        Ok(statement.query_row([key], |row| row.get(0)).optional()?)
    }

    /// Keeps outlines by key.
    pub fn keep_outlines(&mut self, outlines: &[(String, String)]) -> Result<(), IndexError> {
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
        if OUTLINES_MAX < held {
            tx.prepare_cached(
                "DELETE FROM outlines WHERE rowid IN
                 (SELECT rowid FROM outlines ORDER BY rowid LIMIT ?1)",
            )?
            .execute([held / 2])?;
        }
        Ok(tx.commit()?)
    }

    /// Returns what was last found out about a condition.
    pub fn truth(&self, condition: &str) -> Result<Option<String>, IndexError> {
        let query = "SELECT truth FROM truths WHERE condition = ?1";
        let mut statement = self.db.prepare_cached(query)?;
        let truth = statement.query_row([condition], |row| row.get(0));
        Ok(truth.optional()?)
    }

    /// Keeps what was found out about conditions.
    pub fn keep_truths<'t>(
        &mut self,
        truths: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> Result<(), IndexError> {
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

    /// Keeps how files of the work tree looked, with the keys of what they held.
    pub fn keep_files(&mut self, files: &[(String, FileStat, String)]) -> Result<(), IndexError> {
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
