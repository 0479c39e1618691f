//! Brings evicted workspaces back, each once however many wait for it, and goes on when nobody does any more.
//!
//! Whoever waits holds no connection. A rebuild that takes longer than a request may wait for is not begun anew by the next:
//! it is still under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{Database, DatabaseError};
use crate::identity::{OrganisationId, WorkspaceId};

/// How long a request waits for a workspace before it is told to ask again.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// One of so many connections may bring a workspace back: rebuilding takes long, and others want to be answered meanwhile.
const SHARE: u32 = 4;

/// The workspaces that are brought back at the moment.
#[derive(Clone, Debug)]
pub(super) struct Warming {
    turns: Arc<Mutex<HashMap<WorkspaceId, Weak<tokio::sync::Mutex<()>>>>>,
    /// How many may be at once.
    places: Arc<Semaphore>,
}

impl Warming {
    /// Nothing is brought back; so much of a pool of `connections` may be used for it.
    pub(super) fn new(connections: u32) -> Self {
        let places = (connections / SHARE).max(1) as usize;
        Self {
            turns: Arc::default(),
            places: Arc::new(Semaphore::new(places)),
        }
    }

    /// Returns what whoever brings a workspace back holds meanwhile.
    fn turn(&self, workspace: WorkspaceId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
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
            // Whoever waits here has no connection.
            let _place = database.warming.places.acquire().await;
            database.warm(organisation, workspace).await
        });
        match tokio::time::timeout(WAIT_MAX, work).await {
            Err(_) => Err(DatabaseError::Warming),
            Ok(Ok(done)) => done.map_err(|error| DatabaseError::Rebuild(Box::new(error))),
            Ok(Err(_)) => Err(DatabaseError::Damaged("the work on it was stopped".into())),
        }
    }
}
