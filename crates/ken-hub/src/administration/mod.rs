//! Operator commands on the hub's database: organizations, workspaces, tokens, quotas, rebuild.
//!
//! These commands need no token, because an operator who can connect to the database already has
//! full access. They connect with the same role as a hub process, so row-level security applies
//! here too; only [`HubDatabase::migrate`] needs the owner. Every change is written to the audit
//! log.

mod audit;
mod federation;
mod people;
mod person;
mod removal;
mod retention;
mod tokens;

use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use ken_sign::AllowedSigners;

use crate::config::{DefaultQuotas, OrganizationQuotas, QuotaExceeded};
use crate::database::audit::{AuditAction, AuditActor, AuditFilter, AuditRecord};
use crate::database::{
    DatabaseError, DatabaseSettings, HubDatabase, HubName, HubNameError, InstanceCheck, NameTaken,
    OrganizationTx, WorkspaceRow, WorkspaceTx,
};
use crate::identity::IdentityError;
use crate::identity::accounts::AccountError;
use crate::identity::people::ListPersonError;
use crate::identity::tokens::{IssueTokenError, RotateTokenError};
use crate::ids::{OrganizationId, WorkspaceId};
use crate::limits::HubLimits;
use crate::service::ServiceError;
use crate::service::federation::HubFederationError;
use crate::store::StoreError;

pub use audit::{AuditChains, ExportListing};
pub use person::{ForgottenPerson, HubPersonRecord};
pub use retention::AppliedRule;
pub use tokens::{RotatedTokenListing, TokenListing};

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

/// Why an operator command failed.
#[derive(Debug, thiserror::Error)]
pub enum AdministrationError {
    #[error("there is no organization `{0}`")]
    NoOrganization(String),
    #[error("the organization has no workspace `{0}`")]
    NoWorkspace(String),
    #[error("the organization has no token `{0}`")]
    NoToken(String),
    #[error("the organization has no session `{0}`")]
    NoSession(String),
    #[error("the organization has no active hold `{0}`")]
    NoHold(String),
    #[error("only a person may redact entries")]
    NoPerson,
    #[error("the organization lists no person, or more than one, named `{0}`")]
    NoListedPerson(String),
    #[error("a legal hold keeps this: names are erased after its release")]
    PersonHeld,
    #[error(transparent)]
    ListPerson(#[from] ListPersonError),
    #[error(transparent)]
    Federation(Box<HubFederationError>),
    #[error(transparent)]
    Service(#[from] Box<ServiceError>),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error("the organization `{0}` was removed and will be erased at {1}")]
    OrganizationRemoved(String, Timestamp),
    #[error("the organization has no removed workspace `{0}`")]
    NoRemovedWorkspace(String),
    #[error("there is no removed organization `{0}`")]
    NoRemovedOrganization(String),
    #[error("the grace period of `{0}` has ended, and its data is being erased")]
    GraceEnded(String),
    #[error("the workspace `{former}` was renamed to `{now}`")]
    WorkspaceRenamed { former: String, now: HubName },
    #[error(
        "there already is an organization `{0}`, or one that was removed and is not erased yet"
    )]
    OrganizationNameTaken(HubName),
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    #[error(transparent)]
    Rotate(#[from] RotateTokenError),
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
            | Self::Rotate(RotateTokenError::Identity(IdentityError::Database(error)))
            | Self::Identity(IdentityError::Database(error))
            | Self::Account(AccountError::Identity(IdentityError::Database(error)))
            | Self::ListPerson(ListPersonError::Identity(IdentityError::Database(error)))
            | Self::Store(StoreError::Database(error)) => Some(error),
            Self::Federation(error) => error.database(),
            Self::NoOrganization(_)
            | Self::NoWorkspace(_)
            | Self::NoToken(_)
            | Self::NoSession(_)
            | Self::NoHold(_)
            | Self::NoPerson
            | Self::NoListedPerson(_)
            | Self::PersonHeld
            | Self::ListPerson(_)
            | Self::Service(_)
            | Self::Account(_)
            | Self::OrganizationRemoved(..)
            | Self::NoRemovedWorkspace(_)
            | Self::NoRemovedOrganization(_)
            | Self::GraceEnded(_)
            | Self::WorkspaceRenamed { .. }
            | Self::OrganizationNameTaken(_)
            | Self::NameTaken(_)
            | Self::Rotate(_)
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
    /// then on, unless they are kept. Returns false and changes nothing if the database is in use.
    pub async fn accept_restore(&self, keeps_tokens: bool) -> Result<bool, AdministrationError> {
        let accepting = self.database.accept_restore(self.operator(), keeps_tokens);
        Ok(accepting.await?)
    }

    /// Creates an organization unless one of that name exists.
    pub async fn add_organization(
        &self,
        name: &str,
    ) -> Result<ChangeOutcome<OrganizationId>, AdministrationError> {
        let name: HubName = name.parse()?;
        // Insert first and look up on conflict: two concurrent calls cannot both create it.
        let Some(created) = self.database.create_organization(&name).await? else {
            return match self.database.organization_named(&name).await? {
                Some(existing) => Ok(ChangeOutcome::Unchanged(existing)),
                None => Err(self.unknown_organization(name.as_str()).await?),
            };
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
            let mut tx = self.begin_organization(organization).await?;
            return match tx.name_taken(&name).await? {
                Some(NameTaken::Exists(_)) | None => {
                    let existing = self.find_workspace(organization, name.as_str()).await?;
                    Ok(ChangeOutcome::Unchanged(existing.id))
                }
                Some(taken) => Err(taken.into()),
            };
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

    /// Returns the time against which token expiry is checked.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.database.clock().now()
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
        find_workspace(&mut tx, workspace).await
    }

    /// Begins a transaction restricted to the organization of that name.
    async fn begin_organization(
        &self,
        organization: &str,
    ) -> Result<OrganizationTx, AdministrationError> {
        let unknown = || AdministrationError::NoOrganization(organization.to_owned());
        // No organization can have an invalid name, so it is reported as missing, not as invalid.
        let name: HubName = organization.parse().map_err(|_| unknown())?;
        match self.database.organization_named(&name).await? {
            Some(id) => Ok(self.database.begin_organization(id).await?),
            None => Err(self.unknown_organization(organization).await?),
        }
    }

    /// Returns the error for an organization that is not there: missing or removed.
    async fn unknown_organization(
        &self,
        name: &str,
    ) -> Result<AdministrationError, AdministrationError> {
        Ok(match self.find_removed_organization(name).await {
            Ok(removed) => {
                AdministrationError::OrganizationRemoved(name.to_owned(), removed.erase_at)
            }
            Err(AdministrationError::NoRemovedOrganization(name)) => {
                AdministrationError::NoOrganization(name)
            }
            Err(error) => return Err(error),
        })
    }
}

/// Returns a workspace by name or id, and the new name of one that was renamed as an error.
async fn find_workspace(
    tx: &mut OrganizationTx,
    workspace: &str,
) -> Result<WorkspaceRow, AdministrationError> {
    if let Some(found) = tx.workspace(workspace).await? {
        return Ok(found);
    }
    let former = workspace.to_owned();
    Err(match tx.renamed_workspace(workspace).await? {
        Some((_, now)) => AdministrationError::WorkspaceRenamed { former, now },
        None => AdministrationError::NoWorkspace(former),
    })
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
