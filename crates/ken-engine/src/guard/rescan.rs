//! What today's rules say about the lines that are in the ledger already.

use ken_guard::Rescanned;

use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Scans every event: what a line says about the rules that looked at it is a claim.
    pub fn rescan(&self) -> Result<Vec<Rescanned>, Error> {
        let mut found = Vec::new();
        self.index.each_event(&mut |event| {
            found.extend(self.guard.refuses_now(event));
        })?;
        Ok(found)
    }
}
