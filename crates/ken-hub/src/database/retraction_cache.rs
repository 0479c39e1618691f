//! Cache of the workspaces that contain retractions.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ids::WorkspaceId;

/// Maximum number of cached workspaces.
const REMEMBERED_MAX: usize = 10_000;

/// Cache of the workspaces that contain retractions. Proposals there skip the fast append, which
/// would fail anyway.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetractionCache(Arc<Mutex<BTreeSet<WorkspaceId>>>);

impl RetractionCache {
    /// Returns whether a workspace is known to contain retractions.
    pub(crate) fn contains(&self, workspace: WorkspaceId) -> bool {
        self.lock().contains(&workspace)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<WorkspaceId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a workspace contains retractions.
    pub(crate) fn remember(&self, workspace: WorkspaceId) {
        let mut cached = self.lock();
        // Dropping everything is enough: a missing workspace only costs one failed fast append.
        if cached.len() >= REMEMBERED_MAX {
            cached.clear();
        }
        cached.insert(workspace);
    }
}
