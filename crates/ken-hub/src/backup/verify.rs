//! Verification of a restored database: every log and every folded state is compared with what the
//! backup recorded.

use std::time::{Duration, Instant};

use sqlx::Connection as _;
use uuid::Uuid;

use super::{BackupError, RestoreReport, WorkspaceDigest, digest};
use crate::database::{DatabaseSettings, HubDatabase};
use crate::ids::{OrganizationId, WorkspaceId};
use crate::store::StoreError;

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
pub async fn verify_restored(
    url: &str,
    restored: &RestoreReport,
) -> Result<VerificationReport, BackupError> {
    let began = Instant::now();
    let hub = HubDatabase::connect(&DatabaseSettings::new(url)).await?;
    let mut workspaces = Vec::with_capacity(restored.workspaces.len());
    for expected in &restored.workspaces {
        workspaces.push(verify_workspace(&hub, url, expected).await?);
    }
    hub.pool().close().await;
    Ok(VerificationReport {
        workspaces,
        duration: began.elapsed(),
    })
}

async fn verify_workspace(
    hub: &HubDatabase,
    url: &str,
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
    let mut connection = HubDatabase::connect_owner(url).await?;
    let mut found = expected.clone();
    digest::fill(&mut connection, ids, &mut found).await?;
    let _ = connection.close().await;
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
