//! Status of the stored vectors: their model and how many entries they cover.

use crate::error::IndexError;
use crate::index::Index;
use crate::rows;

/// Name of the meta row with the id of the vectors' model.
pub(crate) const META_MODEL: &str = "model";

/// Model and coverage of the stored vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorStatus {
    /// Model id; empty if search uses keywords only, `None` before the first search.
    pub model: Option<String>,
    /// Number of live entries.
    pub entries: u64,
    /// Number of live entries that the next search with this model has to embed.
    pub waiting: u64,
}

impl Index {
    /// Returns the model and coverage of the stored vectors.
    pub fn held(&self) -> Result<VectorStatus, IndexError> {
        let count = |query: &str| -> Result<u64, IndexError> {
            let mut statement = self.db.prepare_cached(query)?;
            let count: i64 = statement.query_row([], |row| row.get(0))?;
            Ok(count.cast_unsigned())
        };
        let model = rows::read_meta(&self.db, META_MODEL)?;
        Ok(VectorStatus {
            model: model.map(|id| String::from_utf8_lossy(&id).into_owned()),
            entries: count("SELECT count(*) FROM entries WHERE live = 1")?,
            waiting: count(
                "SELECT count(*) FROM unsearched JOIN entries ON key = entry WHERE live = 1",
            )?,
        })
    }
}
