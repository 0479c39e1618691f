//! Brings evicted workspaces back, each once however many wait for it, and goes on when nobody does any more.
//!
//! Whoever waits holds no connection. A rebuild that takes longer than a request may wait for is not begun anew by the next:
//! it is still under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::{Database, DatabaseError};
use crate::identity::{OrganisationId, WorkspaceId};

/// How long a request waits for a workspace before it is told to ask again.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The workspaces that are brought back at the moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Warming(Arc<Mutex<HashMap<WorkspaceId, Weak<tokio::sync::Mutex<()>>>>>);

impl Warming {
    /// Returns what whoever brings a workspace back holds meanwhile.
    fn turn(&self, workspace: WorkspaceId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let known = turns.get(&workspace).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let turn = Arc::default();
            turns.insert(workspace, Arc::downgrade(&turn));
            turn
        })
    }
}

impl Database {
    /// Brings an evicted workspace back, or waits for whoever does.
    pub(super) async fn warm_up(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<(), DatabaseError> {
        let database = self.clone();
        let work = tokio::spawn(async move {
            let turn = database.warming.turn(workspace);
            let _mine = turn.lock().await;
            database.warm(organisation, workspace).await
        });
        match tokio::time::timeout(WAIT_MAX, work).await {
            Err(_) => Err(DatabaseError::Warming),
            Ok(Ok(done)) => done.map_err(|error| DatabaseError::Rebuild(Box::new(error))),
            Ok(Err(_)) => Err(DatabaseError::Damaged("the work on it was stopped".into())),
        }
    }
}
