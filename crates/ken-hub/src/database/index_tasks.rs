//! Background tasks that index workspaces: one per workspace and one at a time per process.

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use crate::ids::WorkspaceId;

/// Concurrent tasks of a process. Indexing keeps a server core busy, and searches must go on.
const TASKS_MAX: usize = 1;

/// The workspaces that this process is indexing or going to.
#[derive(Clone, Debug)]
pub(crate) struct IndexTasks {
    workspaces: Arc<Mutex<HashSet<WorkspaceId>>>,
    permits: Arc<Semaphore>,
}

impl Default for IndexTasks {
    fn default() -> Self {
        Self {
            workspaces: Arc::default(),
            permits: Arc::new(Semaphore::new(TASKS_MAX)),
        }
    }
}

impl IndexTasks {
    /// Starts `work`, unless a task of the same workspace is waiting or running.
    pub(crate) fn start(
        &self,
        workspace: WorkspaceId,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        if !self.workspaces().insert(workspace) {
            return;
        }
        let tasks = self.clone();
        tokio::spawn(async move {
            let _ended = EndedTask(tasks.clone(), workspace);
            let _permit = tasks.permits.acquire().await;
            work.await;
        });
    }

    fn workspaces(&self) -> MutexGuard<'_, HashSet<WorkspaceId>> {
        self.workspaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a workspace from the set when its task ends, even by a panic.
struct EndedTask(IndexTasks, WorkspaceId);

impl Drop for EndedTask {
    fn drop(&mut self) {
        self.0.workspaces().remove(&self.1);
    }
}
