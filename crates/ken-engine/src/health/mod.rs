//! How the knowledge of this repository fares: what the core's rules need is gathered here.
//!
//! Two loops, neither with a timer. The fast one (`report`) is told from the index alone, when work begins and
//! when somebody asks. The slow one (`review`) also holds entries against the code, and writes a proposal only
//! where a threshold is reached. Both leave a file on this machine; nothing here writes to the ledger.

mod errors;
mod plateau;
mod report;
mod review;

use ken_core::entry::Entry;
use ken_core::health::{Facts, Outcome};
use ken_core::maintenance::Policy;
use ken_core::score::Weights;
use ken_core::store::{Filter, Shelf, Store as _};

use crate::engine::Engine;
use crate::error::Error;

pub use report::{HEALTH_FILE, Report};
pub use review::{PROPOSAL_FILE, Proposal, Review};

impl Engine {
    /// Gathers everything the rules may know. Asks no code and no model.
    pub fn health_facts(&mut self) -> Result<Facts, Error> {
        let every = Filter {
            shelf: Shelf::All,
            ..Filter::default()
        };
        let mut entries = self.index.list(&every)?;
        let foreign = entries.iter().filter(|it| it.is_inbound());
        let foreign: Vec<Entry> = foreign.cloned().collect();
        entries.retain(Entry::is_live);
        let errors = self.prediction_errors(&entries)?;
        let workspace = self.index.workspace()?;
        Ok(Facts {
            now: self.now(),
            errors,
            outcomes: self.outcomes()?,
            weights: Weights::of(&workspace).unwrap_or_default(),
            policy: Policy::of(&workspace),
            peers: workspace.peers,
            dismissed: workspace.dismissed,
            entries,
            foreign,
        })
    }

    /// Returns how every run ended, in the order they did.
    pub(crate) fn outcomes(&self) -> Result<Vec<Outcome>, Error> {
        let runs = self.past_runs()?.into_iter();
        Ok(runs.map(Outcome::from).collect())
    }
}
