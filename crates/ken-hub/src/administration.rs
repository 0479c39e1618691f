//! Operator commands on the hub's database: organizations, workspaces, tokens, quotas, rebuild.
//!
//! These commands need no token, because an operator who can connect to the database already has
//! full access. They connect with the same role as a hub process, so row-level security applies
//! here too; only [`HubDatabase::migrate`] needs the owner. Every change is written to the audit
//! log.

use std::collections::BTreeMap;

use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use ken_sign::AllowedSigners;
use uuid::Uuid;

use crate::config::{DefaultQuotas, OrganizationQuotas, QuotaExceeded};
use crate::database::audit::{AuditAction, AuditActor, AuditFilter, AuditRecord};
use crate::database::{
    DatabaseError, DatabaseSettings, HubDatabase, HubName, HubNameError, InstanceCheck,
    OrganizationTx, WorkspaceRow, WorkspaceTx,
};
use crate::identity::tokens::{self, IssueTokenError, TokenRecord, TokenSpec};
use crate::identity::{IdentityError, TokenSecret};
use crate::ids::{OrganizationId, WorkspaceId};
use crate::limits::HubLimits;
use crate::store::StoreError;

/// Database connections of an operator command.
const CONNECTIONS_MAX: u32 = 2;

/// Maximum size of an organization's list of signers in bytes.
const SIGNERS_BYTES_MAX: usize = 256 << 10;

/// Workspaces or tokens per query.
const PAGE_ROWS: u32 = 500;

/// Result of an idempotent command: the object, and whether this call changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome<T> {
    Changed(T),
    Unchanged(T),
}

impl<T> ChangeOutcome<T> {
    /// Returns the object, changed or not.
    pub fn into_inner(self) -> T {
        match self {
            Self::Changed(object) | Self::Unchanged(object) => object,
        }
    }
}

/// Quotas in effect for an organization: its own values, or the hub's defaults where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveQuotas {
    pub own: OrganizationQuotas,
}

impl EffectiveQuotas {
    /// Returns every quota as its name, its value, and whether the organization's row sets it.
    #[must_use]
    pub fn all(&self) -> [(&'static str, u64, bool); 4] {
        let (own, hub) = (self.own, DefaultQuotas::default());
        // The default rate is per second, while organizations set theirs per minute.
        let rate = (HubLimits::default().rate.per_second * 60.0) as u64;
        [
            ("workspaces", own.workspaces_max, hub.workspaces),
            ("events", own.events_max, hub.events),
            ("bytes", own.bytes_max, hub.bytes),
            ("requests_per_minute", own.requests_per_minute, rate),
        ]
        .map(|(name, own, hub)| (name, own.unwrap_or(hub), own.is_some()))
    }
}

/// A workspace whose projections were rebuilt, with the number of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuiltWorkspace {
    pub workspace: WorkspaceRow,
    pub entries: u64,
}

/// A token with the names of the workspaces it is restricted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenListing {
    pub token: TokenRecord,
    pub workspaces: Option<Vec<String>>,
}

type WorkspaceNames = BTreeMap<WorkspaceId, String>;

impl TokenListing {
    fn new(token: TokenRecord, names: &WorkspaceNames) -> Self {
        // Fall back to the id, so that a restriction is never missing from the output.
        let name = |id: &WorkspaceId| names.get(id).cloned().unwrap_or_else(|| id.0.to_string());
        let restriction = token.workspaces.as_ref();
        Self {
            workspaces: restriction.map(|ids| ids.iter().map(name).collect()),
            token,
        }
    }
}

/// Why an operator command failed.
#[derive(Debug, thiserror::Error)]
pub enum AdministrationError {
    #[error("there is no organization `{0}`")]
    NoOrganization(String),
    #[error("the organization has no workspace `{0}`")]
    NoWorkspace(String),
    #[error("the organization has no token `{0}`")]
    NoToken(String),
    #[error("line {0} is not a valid signer in OpenSSH's format")]
    Signers(usize),
    #[error("a list of signers has at most {SIGNERS_BYTES_MAX} bytes")]
    TooManySigners,
    #[error(transparent)]
    Token(#[from] IssueTokenError),
    #[error(transparent)]
    QuotaExceeded(#[from] QuotaExceeded),
    #[error(transparent)]
    Name(#[from] HubNameError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AdministrationError {
    /// Returns the underlying database error, if there is one.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Database(error)
            | Self::Token(IssueTokenError::Database(error))
            | Self::Identity(IdentityError::Database(error))
            | Self::Store(StoreError::Database(error)) => Some(error),
            Self::NoOrganization(_)
            | Self::NoWorkspace(_)
            | Self::NoToken(_)
            | Self::Signers(_)
            | Self::TooManySigners
            | Self::Token(_)
            | Self::QuotaExceeded(_)
            | Self::Name(_)
            | Self::Identity(_)
            | Self::Store(_) => None,
        }
    }
}

/// A database connection for operator commands.
#[derive(Debug)]
pub struct Administration {
    database: HubDatabase,
    /// Name that the operator gave for the audit log.
    by: Option<Actor>,
}

impl Administration {
    /// Connects with the role of a hub process.
    pub async fn open(url: &str) -> Result<Self, AdministrationError> {
        let mut settings = DatabaseSettings::new(url);
        settings.connections_max = CONNECTIONS_MAX;
        let database = HubDatabase::connect(&settings).await?;
        // Before the first command on a restored database: a token issued by it must be newer than
        // the time from which older ones are refused.
        database.note_alive(InstanceCheck::Command).await?;
        Ok(Self { database, by: None })
    }

    /// Returns the same connection for an operator who gave a name.
    #[must_use]
    pub fn by(self, by: Option<Actor>) -> Self {
        Self { by, ..self }
    }

    fn operator(&self) -> AuditActor<'_> {
        AuditActor::Operator(self.by.as_ref())
    }

    /// Accepts a database that was restored from a backup. Tokens issued before are refused from
    /// then on, unless they are kept.
    pub async fn accept_restore(&self, keeps_tokens: bool) -> Result<(), AdministrationError> {
        Ok(self.database.accept_restore(keeps_tokens).await?)
    }

    /// Creates an organization unless one of that name exists.
    pub async fn add_organization(
        &self,
        name: &str,
    ) -> Result<ChangeOutcome<OrganizationId>, AdministrationError> {
        let name: HubName = name.parse()?;
        // Insert first and look up on conflict: two concurrent calls cannot both create it.
        let Some(created) = self.database.create_organization(&name).await? else {
            let existing = self.database.organization_named(&name).await?;
            let unknown = || AdministrationError::NoOrganization(name.to_string());
            return Ok(ChangeOutcome::Unchanged(existing.ok_or_else(unknown)?));
        };
        // The audit line is written in a second transaction: its tenant exists only from here on.
        let mut tx = self.database.begin_organization(created).await?;
        let act = AuditAction::OrganizationCreated;
        tx.audit(self.operator(), act, &name).await?;
        tx.commit().await?;
        Ok(ChangeOutcome::Changed(created))
    }

    /// Creates a workspace unless the organization has one of that name.
    pub async fn add_workspace(
        &self,
        organization: &str,
        name: &str,
    ) -> Result<ChangeOutcome<WorkspaceId>, AdministrationError> {
        let name: HubName = name.parse()?;
        let mut tx = self.begin_organization(organization).await?;
        // Before the quota check: repeating the command succeeds even when the quota is used up.
        if let Some(existing) = tx.workspace(name.as_str()).await? {
            return Ok(ChangeOutcome::Unchanged(existing.id));
        }
        let max = DefaultQuotas::default().workspaces;
        tx.check_workspace_quota(max).await??;
        let Some(created) = tx.create_workspace(&name).await? else {
            // A concurrent transaction created it. A new transaction sees the committed row at any
            // isolation level, and ending this one releases the lock of the quota check.
            drop(tx);
            let existing = self.find_workspace(organization, name.as_str()).await?;
            return Ok(ChangeOutcome::Unchanged(existing.id));
        };
        tx.audit(self.operator(), AuditAction::WorkspaceCreated, &name)
            .await?;
        tx.commit().await?;
        Ok(ChangeOutcome::Changed(created))
    }

    /// Returns the quotas in effect for an organization.
    pub async fn quotas(&self, organization: &str) -> Result<EffectiveQuotas, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let found = tx.organization().await?;
        let missing = || AdministrationError::NoOrganization(organization.to_owned());
        Ok(EffectiveQuotas {
            own: found.ok_or_else(missing)?.quotas,
        })
    }

    /// Changes an organization's own quotas.
    pub async fn set_quotas(
        &self,
        organization: &str,
        change: impl FnOnce(&mut OrganizationQuotas),
    ) -> Result<EffectiveQuotas, AdministrationError> {
        let mut own = self.quotas(organization).await?.own;
        change(&mut own);
        let mut tx = self.begin_organization(organization).await?;
        tx.set_quotas(own).await?;
        tx.audit(self.operator(), AuditAction::QuotaChanged, own)
            .await?;
        tx.commit().await?;
        Ok(EffectiveQuotas { own })
    }

    /// Creates a token and returns its secret, which cannot be read again.
    pub async fn create_token(
        &self,
        organization: &str,
        new: TokenSpec,
    ) -> Result<(TokenListing, TokenSecret), AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let max = DefaultQuotas::default().tokens;
        let (token, secret) = tokens::issue(&mut tx, new, max).await?;
        tx.audit(self.operator(), AuditAction::TokenCreated, &token)
            .await?;
        let names = load_workspace_names(&mut tx).await?;
        tx.commit().await?;
        Ok((TokenListing::new(token, &names), secret))
    }

    /// Returns an organization's tokens without their secrets, oldest first.
    pub async fn tokens(
        &self,
        organization: &str,
    ) -> Result<Vec<TokenListing>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let mut all: Vec<TokenRecord> = Vec::new();
        loop {
            let page = tokens::list(&mut tx, all.last().map(|token| token.id), PAGE_ROWS).await?;
            let is_last = page.len() < PAGE_ROWS as usize;
            all.extend(page);
            if is_last {
                break;
            }
        }
        let names = load_workspace_names(&mut tx).await?;
        let listed = |token| TokenListing::new(token, &names);
        Ok(all.into_iter().map(listed).collect())
    }

    /// Returns the time against which token expiry is checked.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.database.clock().now()
    }

    /// Revokes a token. A token that was revoked before keeps its time of revocation.
    pub async fn revoke_token(
        &self,
        organization: &str,
        id: &str,
    ) -> Result<ChangeOutcome<TokenListing>, AdministrationError> {
        let missing = || AdministrationError::NoToken(id.to_owned());
        let wanted = Uuid::try_parse(id).map_err(|_| missing())?;
        let mut tx = self.begin_organization(organization).await?;
        let now = tx.now();
        let revoked = tokens::revoke(&mut tx, wanted, now).await?;
        let token = revoked.ok_or_else(missing)?;
        let names = load_workspace_names(&mut tx).await?;
        // `revoke` keeps an earlier time, so a different time means that nothing changed: there is
        // nothing to audit, and dropping the transaction rolls it back.
        if token.revoked_at != Some(now) {
            return Ok(ChangeOutcome::Unchanged(TokenListing::new(token, &names)));
        }
        tx.audit(self.operator(), AuditAction::TokenRevoked, &token)
            .await?;
        tx.commit().await?;
        Ok(ChangeOutcome::Changed(TokenListing::new(token, &names)))
    }

    /// Rebuilds all projections of a workspace from its log.
    pub async fn rebuild(
        &self,
        organization: &str,
        workspace: &str,
    ) -> Result<RebuiltWorkspace, AdministrationError> {
        let found = self.find_workspace(organization, workspace).await?;
        let rebuilding = self.database.begin_rebuild(found.organization, found.id);
        let mut tenant = rebuilding.await?;
        let (entries, workspace) = (tenant.count_entries().await?, tenant.workspace_row().await?);
        commit_audited(tenant, self.operator(), AuditAction::WorkspaceRebuilt).await?;
        Ok(RebuiltWorkspace { workspace, entries })
    }

    /// Deletes the projections of a workspace. The next read rebuilds them from the log.
    pub async fn evict(
        &self,
        organization: &str,
        workspace: &str,
    ) -> Result<WorkspaceRow, AdministrationError> {
        let found = self.find_workspace(organization, workspace).await?;
        let evicting = self.database.begin_eviction(found.organization, found.id);
        commit_audited(
            evicting.await?,
            self.operator(),
            AuditAction::WorkspaceEvicted,
        )
        .await?;
        Ok(found)
    }

    /// Returns an organization's workspaces and their sizes, sorted by name.
    pub async fn list_workspaces(
        &self,
        organization: &str,
    ) -> Result<Vec<WorkspaceRow>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(load_workspaces(&mut tx).await?)
    }

    /// Returns an organization's signers, in the format of OpenSSH's `allowed_signers`.
    pub async fn signers(&self, organization: &str) -> Result<Option<String>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(tx.signers().await?)
    }

    /// Replaces an organization's signers, whose signatures back decisions that others push.
    pub async fn set_signers(
        &self,
        organization: &str,
        signers: Option<&str>,
    ) -> Result<(), AdministrationError> {
        let text = signers.unwrap_or_default();
        if text.len() > SIGNERS_BYTES_MAX {
            return Err(AdministrationError::TooManySigners);
        }
        // A line that is not understood adds no signer, which its author would learn too late.
        if let Some(line) = AllowedSigners::parse(text).invalid_lines.first() {
            return Err(AdministrationError::Signers(*line));
        }
        let mut tx = self.begin_organization(organization).await?;
        tx.set_signers(signers).await?;
        tx.audit(self.operator(), AuditAction::SignersChanged, organization)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Returns audit records about a workspace, or about the organization itself, latest first.
    pub async fn audit_records(
        &self,
        organization: &str,
        workspace: Option<&str>,
        filter: &AuditFilter,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, AdministrationError> {
        let Some(workspace) = workspace else {
            let mut tx = self.begin_organization(organization).await?;
            return Ok(tx.list_audit_records(filter, None, limit).await?);
        };
        let found = self.find_workspace(organization, workspace).await?;
        let mut tx = self
            .database
            .begin_log(found.organization, found.id)
            .await?;
        Ok(tx.list_audit_records(filter, None, limit).await?)
    }

    async fn find_workspace(
        &self,
        organization: &str,
        workspace: &str,
    ) -> Result<WorkspaceRow, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let found = tx.workspace(workspace).await?;
        found.ok_or_else(|| AdministrationError::NoWorkspace(workspace.to_owned()))
    }

    /// Begins a transaction restricted to the organization of that name.
    async fn begin_organization(
        &self,
        organization: &str,
    ) -> Result<OrganizationTx, AdministrationError> {
        let unknown = || AdministrationError::NoOrganization(organization.to_owned());
        // No organization can have an invalid name, so it is reported as missing, not as invalid.
        let name: HubName = organization.parse().map_err(|_| unknown())?;
        let found = self.database.organization_named(&name).await?;
        let id = found.ok_or_else(unknown)?;
        Ok(self.database.begin_organization(id).await?)
    }
}

/// Writes an audit line about a workspace and commits it together with the change.
async fn commit_audited(
    mut tenant: WorkspaceTx,
    by: AuditActor<'_>,
    act: AuditAction,
) -> Result<(), DatabaseError> {
    let subject = tenant.workspace_id().0;
    tenant.audit(by, act, subject).await?;
    tenant.commit().await
}

/// Loads the names of an organization's workspaces.
async fn load_workspace_names(tx: &mut OrganizationTx) -> Result<WorkspaceNames, DatabaseError> {
    let all = load_workspaces(tx).await?.into_iter();
    Ok(all.map(|row| (row.id, row.name.to_string())).collect())
}

/// Loads every workspace of an organization, sorted by name.
async fn load_workspaces(tx: &mut OrganizationTx) -> Result<Vec<WorkspaceRow>, DatabaseError> {
    let mut all: Vec<WorkspaceRow> = Vec::new();
    loop {
        // Keyset pagination: an offset could skip or repeat rows that change between two pages.
        let page = tx
            .workspaces(all.last().map(|row| &row.name), PAGE_ROWS)
            .await?;
        let is_last = page.len() < PAGE_ROWS as usize;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
