//! Entries that are used together so often that one entry might say what they say.
//!
//! Nothing is stored: what the runs left in each entry is enough to tell at any time.

use ken_core::store::{Filter, Store as _};
use ken_core::together::{Cluster, clusters, edges};

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Returns clusters of live entries that are worth distilling.
    pub fn distillation_candidates(&self) -> Result<Vec<Cluster>, Error> {
        let entries = self.index.list(&Filter::default())?;
        let mut found = clusters(&edges(&entries, self.now().date()));
        found.retain(Cluster::is_worth_distilling);
        Ok(found)
    }
}
