//! Rebuild of evicted workspaces on demand: once per workspace, however many requests wait, and to
//! the end even if all of them give up.
//!
//! Waiting requests hold no connection. A rebuild that outlasts a request is not restarted by the
//! next one, which joins it.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::DatabaseError;
use crate::ids::WorkspaceId;

/// Maximum wait of a request for a rebuild, before the client is asked to retry.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// One in this many connections may rebuild a workspace; rebuilds are slow, and the others must
/// keep serving requests.
const SHARE: u32 = 4;

/// The workspaces that are being rebuilt or wait for it.
#[derive(Clone, Debug)]
pub(crate) struct RebuildQueue {
    rebuild_locks: Arc<Mutex<HashMap<WorkspaceId, Weak<tokio::sync::Mutex<()>>>>>,
    /// Limits the number of concurrent rebuilds.
    permits: Arc<Semaphore>,
}

impl RebuildQueue {
    /// Returns an empty queue that uses at most a share of `connections`.
    pub(super) fn new(connections: u32) -> Self {
        let places = (connections / SHARE).max(1) as usize;
        Self {
            rebuild_locks: Arc::default(),
            permits: Arc::new(Semaphore::new(places)),
        }
    }

    /// Returns the mutex that serializes rebuilds of a workspace.
    fn rebuild_lock(&self, workspace: WorkspaceId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self
            .rebuild_locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Weak references make the map self-cleaning: a mutex lives only as long as a rebuild holds
        // or awaits it.
        turns.retain(|_, turn| turn.strong_count() > 0);
        let existing = turns.get(&workspace).and_then(Weak::upgrade);
        existing.unwrap_or_else(|| {
            let turn = Arc::default();
            turns.insert(workspace, Arc::downgrade(&turn));
            turn
        })
    }

    /// Runs `rebuild` after any rebuild of the same workspace that is under way, and waits for it.
    ///
    /// `rebuild` must return at once if it finds the workspace rebuilt.
    pub(crate) async fn run<E>(
        &self,
        workspace: WorkspaceId,
        rebuild: impl Future<Output = Result<(), E>> + Send + 'static,
    ) -> Result<(), DatabaseError>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let queue = self.clone();
        // Spawned, so that dropping the request (client gone, timeout) does not cancel the rebuild.
        let work = tokio::spawn(async move {
            let turn = queue.rebuild_lock(workspace);
            let _mine = turn.lock().await;
            // The permit comes before the connection, so waiting rebuilds cannot drain the pool.
            let _place = queue.permits.acquire().await;
            rebuild.await
        });
        match tokio::time::timeout(WAIT_MAX, work).await {
            Err(_) => Err(DatabaseError::Warming),
            Ok(Ok(done)) => done.map_err(|error| DatabaseError::Rebuild(Box::new(error))),
            Ok(Err(_)) => Err(DatabaseError::Damaged("the rebuild was stopped".into())),
        }
    }
}
