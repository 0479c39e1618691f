//! Rescan of the ledger with the current rules.

use ken_guard::RescanFinding;

use crate::engine::Engine;
use crate::error::EngineError;

/// Scans every event and ignores its recorded scan result, which is only the writer's claim.
pub(crate) fn rescan(engine: &Engine) -> Result<Vec<RescanFinding>, EngineError> {
    let mut found = Vec::new();
    engine.index.for_each_event(&mut |event| {
        found.extend(engine.guard.refuses_now(event));
    })?;
    Ok(found)
}
