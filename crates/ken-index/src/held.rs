//! Whose vectors the index holds: one model's, and of how many entries.

use crate::error::IndexError;
use crate::index::Index;
use crate::rows;

/// The id of the model whose vectors are held.
pub(crate) const META_MODEL: &str = "model";

/// Which vectors are held, and of how many entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The id of their model; empty where keywords serve alone, `None` before the first search.
    pub model: Option<String>,
    /// Live entries there are.
    pub entries: u64,
    /// Live entries the next search with that model has to bring up.
    pub waiting: u64,
}

impl Index {
    /// Returns whose vectors are held.
    pub fn held(&self) -> Result<Held, IndexError> {
        let count = |query: &str| -> Result<u64, IndexError> {
            let mut statement = self.db.prepare_cached(query)?;
            let count: i64 = statement.query_row([], |row| row.get(0))?;
            Ok(count.cast_unsigned())
        };
        let model = rows::meta(&self.db, META_MODEL)?;
        Ok(Held {
            model: model.map(|id| String::from_utf8_lossy(&id).into_owned()),
            entries: count("SELECT count(*) FROM entries WHERE live = 1")?,
            waiting: count(
                "SELECT count(*) FROM unsearched JOIN entries ON key = entry WHERE live = 1",
            )?,
        })
    }
}
