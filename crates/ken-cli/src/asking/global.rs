//! Hits from the global ledger and from peers: below the repository's, labeled, within the
//! remaining budget.
//!
//! An unreadable global ledger does not fail the query; its error is reported beside the results.

use ken_core::retrieval::surface::{EntrySelection, SelectedEntry};
use ken_engine::Engine;
use ken_engine::promotion::{GlobalOverlay, OtherLedgers};
use ken_engine::search::{SearchOutcome, SearchQuery, SelectionLimits};

use crate::failure::CommandFailure;
use crate::world::Environment;

/// The heading above hits of the global ledger.
pub(crate) const GLOBAL_HEADING: &str =
    "From the global ledger (other projects; not checked here):";

/// The heading above hits of peers.
pub(crate) const PEERS_HEADING: &str =
    "From other organizations (approved here word for word; not checked here):";

/// The results of the global ledger and of peers.
#[derive(Debug, Default)]
pub(crate) struct GlobalResults {
    pub(crate) overlay: Option<GlobalOverlay>,
    /// The error, if it could not be queried.
    error: Option<String>,
}

/// Queries the global ledger, if the user has one.
pub(super) fn query_global(
    environment: &Environment,
    engine: &mut Engine,
    search: &SearchQuery,
    local: (&SearchOutcome, &EntrySelection),
    portion: SelectionLimits,
) -> GlobalResults {
    // The closure collects the errors of opening and searching in one place.
    let mut query = || -> Result<Option<GlobalOverlay>, CommandFailure> {
        let mut others = OtherLedgers {
            global: environment.open_global()?,
            peers: environment.open_peers()?,
        };
        if others.global.is_none() && others.peers.is_empty() {
            return Ok(None);
        }
        Ok(engine.overlay(&mut others, search, local, portion)?)
    };
    match query() {
        Ok(overlay) => GlobalResults {
            overlay,
            error: None,
        },
        Err(failure) => GlobalResults {
            overlay: None,
            // The hits of the repository are still valid, so the error is reported and not
            // returned.
            error: Some(failure.message),
        },
    }
}

impl GlobalResults {
    /// Returns the error if the global ledger could not be queried.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns the hits to show.
    pub(crate) fn shown(&self) -> &[SelectedEntry] {
        let overlay = self.overlay.as_ref();
        overlay.map_or(&[], |it| it.page.shown.as_slice())
    }

    /// Appends the global hits to `page`; each of their lines names the origin.
    pub(crate) fn beside(&self, page: EntrySelection) -> EntrySelection {
        match &self.overlay {
            Some(it) => page.followed_by(&it.page),
            None => page,
        }
    }
}
