//! Verification of a restored database: every log and every folded state is compared with what the
//! backup recorded.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use super::{BackupError, RestoreReport, WorkspaceDigest, digest};
use crate::database::{DatabaseSettings, HubDatabase};
use crate::ids::{OrganizationId, WorkspaceId};
use crate::store::StoreError;

/// Maximum number of workspaces that are verified at the same time.
const WORKERS_MAX: usize = 8;

/// Result for one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedWorkspace {
    pub organization: String,
    pub workspace: String,
    pub events: u64,
    /// Entries; `None` if the projections were evicted when the backup was made.
    pub entries: Option<u64>,
    /// What differs from the backup; empty if nothing does.
    pub differences: Vec<&'static str>,
}

/// Result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationReport {
    pub workspaces: Vec<VerifiedWorkspace>,
    pub duration: Duration,
}

impl VerificationReport {
    /// Returns the workspaces that differ from the backup.
    pub fn damaged(&self) -> impl Iterator<Item = &VerifiedWorkspace> {
        self.workspaces
            .iter()
            .filter(|it| !it.differences.is_empty())
    }
}

/// Folds every restored workspace as a hub does, and compares events and folded states with the
/// backup. A workspace that was evicted has no folded state to compare and stays evicted.
///
/// `progress` receives the number of verified workspaces and the total.
pub async fn verify_restored(
    url: &str,
    restored: &RestoreReport,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<VerificationReport, BackupError> {
    let began = Instant::now();
    let hub = HubDatabase::connect(&DatabaseSettings::new(url)).await?;
    let (total, done) = (restored.workspaces.len(), AtomicUsize::new(0));
    let next = AtomicUsize::new(0);
    let work = async || {
        // One connection per worker: a new one reads the catalog anew, which takes longer than most
        // workspaces.
        let mut connection = HubDatabase::connect_owner(url).await?;
        let mut verified = Vec::new();
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let Some(expected) = restored.workspaces.get(number)
        {
            let found = verify_workspace(&hub, &mut connection, expected).await?;
            verified.push((number, found));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        }
        let _ = connection.close().await;
        Ok::<_, BackupError>(verified)
    };
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = (0..workers.min(WORKERS_MAX)).map(|_| work());
    let mut verified: Vec<_> = try_join_all(workers).await?.into_iter().flatten().collect();
    verified.sort_by_key(|(number, _)| *number);
    hub.pool().close().await;
    Ok(VerificationReport {
        workspaces: verified.into_iter().map(|(_, found)| found).collect(),
        duration: began.elapsed(),
    })
}

async fn verify_workspace(
    hub: &HubDatabase,
    connection: &mut PgConnection,
    expected: &WorkspaceDigest,
) -> Result<VerifiedWorkspace, BackupError> {
    let id = |text: &str| {
        Uuid::try_parse(text).map_err(|_| BackupError::Damaged("an id is not valid".to_owned()))
    };
    let ids = (id(&expected.organization_id)?, id(&expected.workspace_id)?);
    let mut is_readable = true;
    if expected.fold.is_some() {
        match hub.rebuild(OrganizationId(ids.0), WorkspaceId(ids.1)).await {
            Ok(()) => {}
            // One damaged workspace must not hide the others.
            Err(StoreError::Damaged(_)) => is_readable = false,
            Err(error) => return Err(error.into()),
        }
    }
    let mut found = expected.clone();
    digest::fill(connection, ids, &mut found).await?;
    let is_folded = expected.fold.is_some();
    let differences = [
        ("number of events", found.events != expected.events),
        ("events", found.log != expected.log),
        ("readable events", !is_readable),
        ("last event", found.last_event != expected.last_event),
        (
            "number of entries",
            is_folded && found.entries != expected.entries,
        ),
        ("folded state", is_folded && found.fold != expected.fold),
    ];
    let differences = differences.into_iter().filter(|(_, differs)| *differs);
    Ok(VerifiedWorkspace {
        organization: expected.organization.clone(),
        workspace: expected.workspace.clone(),
        events: found.events,
        entries: expected.entries.and(found.entries),
        differences: differences.map(|(name, _)| name).collect(),
    })
}
