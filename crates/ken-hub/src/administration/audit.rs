//! Operator commands on the audit log: verify, export, checkpoints and the state of exports.

use uuid::Uuid;

use super::{Administration, AdministrationError};
use crate::config::{AuditPublicKey, AuditSigningKey};
use crate::database::audit_chain::ChainedRecord;
use crate::database::audit_checkpoints::{AuditCheckpoint, AuditVerification};
use crate::database::audit_delivery::{DeadLetter, ExportState};
use crate::ids::OrganizationId;

/// Dead letters that are listed per export.
const DEAD_LETTERS_MAX: u32 = 100;

/// Records per page of an export.
const PAGE_ROWS: u32 = 1_000;

/// The chains of an organization's audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditChains {
    pub organization: OrganizationId,
    /// Ids of the organization and its workspaces.
    pub chains: Vec<Uuid>,
}

/// State of an export with its dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportListing {
    pub state: ExportState,
    /// The oldest ones.
    pub dead_letters: Vec<DeadLetter>,
}

impl Administration {
    /// Verifies the audit log of an organization.
    pub async fn verify_audit(
        &self,
        organization: &str,
        key: Option<&AuditPublicKey>,
        copies: &[AuditCheckpoint],
    ) -> Result<AuditVerification, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(tx.verify_audit(key, copies).await?)
    }

    /// Returns the chains of an organization's audit log.
    pub async fn audit_chains(
        &self,
        organization: &str,
    ) -> Result<AuditChains, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(AuditChains {
            organization: tx.id(),
            chains: tx.audit_chains().await?,
        })
    }

    /// Returns the next records of a chain; none at its end.
    pub async fn chained_records(
        &self,
        organization: OrganizationId,
        chain: Uuid,
        after: u64,
    ) -> Result<Vec<ChainedRecord>, AdministrationError> {
        // A transaction per page: a slow reader must not keep one open while it prints.
        let mut tx = self.database.begin_organization(organization).await?;
        Ok(tx.chained_records(chain, after, PAGE_ROWS).await?)
    }

    /// Returns the checkpoints of an organization, after signing a new one with `key`, if one is
    /// given and the log grew.
    pub async fn audit_checkpoints(
        &self,
        organization: &str,
        key: Option<&AuditSigningKey>,
    ) -> Result<Vec<AuditCheckpoint>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        if let Some(key) = key {
            tx.sign_audit_checkpoint(key).await?;
        }
        let checkpoints = tx.audit_checkpoints(0).await?;
        tx.commit().await?;
        Ok(checkpoints)
    }

    /// Returns the exports that ever ran for an organization, and their dead letters.
    pub async fn exports(
        &self,
        organization: &str,
    ) -> Result<Vec<ExportListing>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let mut listed = Vec::new();
        for state in tx.export_states().await? {
            let letters = tx.dead_letters(&state.name, false, DEAD_LETTERS_MAX);
            listed.push(ExportListing {
                dead_letters: letters.await?,
                state,
            });
        }
        Ok(listed)
    }

    /// Asks the hubs to try the dead letters of an export again, and returns how many there are.
    pub async fn retry_export(
        &self,
        organization: &str,
        export: &str,
    ) -> Result<u64, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let requeued = tx.requeue_dead_letters(export).await?;
        tx.commit().await?;
        Ok(requeued)
    }
}
