//! What whoever operates a hub does with its database at hand: organisations, workspaces, tokens, rebuilding.
//!
//! Needs no token: whoever can connect to the database needs none. It connects as every hub process does, so that row-level
//! security holds here too; only [`Database::migrate`] is the owner's. What is done is in the audit log.

use std::collections::BTreeMap;

use ken_core::time::Timestamp;
use uuid::Uuid;

use crate::database::{
    Database, DatabaseError, Name, NameError, OrganisationTx, Quotas, Settings, Tenant,
    WorkspaceRow,
};
use crate::identity::audit::{Act, Who};
use crate::identity::tokens::{self, NewToken, NewTokenError, Token};
use crate::identity::{IdentityError, OrganisationId, Secret, WorkspaceId};
use crate::serve::limits::Limits;
use crate::serve::settings::{self, Beyond};
use crate::store::StoreError;

/// Connections an operator's command needs.
const CONNECTIONS: u32 = 2;

/// Workspaces or tokens read at a time.
const PAGE: u32 = 500;

/// Whether something was made, or was there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made<T> {
    New(T),
    Known(T),
}

impl<T> Made<T> {
    /// Returns what there is now.
    pub fn into_inner(self) -> T {
        match self {
            Self::New(it) | Self::Known(it) => it,
        }
    }
}

/// What an organisation may use: what its own row says, the hub's defaults else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    pub own: Quotas,
}

impl Allowed {
    /// Returns every quota: what it is called, what it is, and whether the organisation's own row says so.
    #[must_use]
    pub fn all(&self) -> [(&'static str, u64, bool); 4] {
        let (own, hub) = (self.own, settings::Quotas::default());
        let rate = (Limits::default().rate.per_second * 60.0) as u64;
        [
            ("workspaces", own.workspaces_max, hub.workspaces),
            ("events", own.events_max, hub.events),
            ("bytes", own.bytes_max, hub.bytes),
            ("requests_per_minute", own.requests_per_minute, rate),
        ]
        .map(|(what, own, hub)| (what, own.unwrap_or(hub), own.is_some()))
    }
}

/// A workspace whose projections were made again, and what they came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    pub workspace: WorkspaceRow,
    pub entries: u64,
}

/// A token, and the names of the workspaces it is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub token: Token,
    pub workspaces: Option<Vec<String>>,
}

type Names = BTreeMap<WorkspaceId, String>;

impl Listed {
    fn of(token: Token, names: &Names) -> Self {
        let name = |id: &WorkspaceId| names.get(id).cloned().unwrap_or_else(|| id.0.to_string());
        let held_to = token.workspaces.as_ref();
        Self {
            workspaces: held_to.map(|it| it.iter().map(name).collect()),
            token,
        }
    }
}

/// Why an operator's wish was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum AdministrationError {
    #[error("there is no organisation `{0}`")]
    NoOrganisation(String),
    #[error("the organisation has no workspace `{0}`")]
    NoWorkspace(String),
    #[error("the organisation has no token `{0}`")]
    NoToken(String),
    #[error(transparent)]
    Token(#[from] NewTokenError),
    #[error(transparent)]
    Beyond(#[from] Beyond),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AdministrationError {
    /// Returns what went wrong with the database, where that is what went wrong.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Database(error)
            | Self::Token(NewTokenError::Database(error))
            | Self::Identity(IdentityError::Database(error))
            | Self::Store(StoreError::Database(error)) => Some(error),
            Self::NoOrganisation(_)
            | Self::NoWorkspace(_)
            | Self::NoToken(_)
            | Self::Token(_)
            | Self::Beyond(_)
            | Self::Name(_)
            | Self::Identity(_)
            | Self::Store(_) => None,
        }
    }
}

/// The database in an operator's hands.
#[derive(Debug)]
pub struct Administration {
    database: Database,
}

impl Administration {
    /// Connects as a hub process does.
    pub async fn open(url: &str) -> Result<Self, AdministrationError> {
        let mut settings = Settings::new(url);
        settings.connections_max = CONNECTIONS;
        let database = Database::connect(&settings).await?;
        Ok(Self { database })
    }

    /// Makes an organisation, where there is none of that name.
    pub async fn add_organisation(
        &self,
        name: &str,
    ) -> Result<Made<OrganisationId>, AdministrationError> {
        let name: Name = name.parse()?;
        let Some(made) = self.database.create_organisation(&name).await? else {
            let known = self.database.organisation_named(&name).await?;
            let unknown = || AdministrationError::NoOrganisation(name.to_string());
            return Ok(Made::Known(known.ok_or_else(unknown)?));
        };
        let mut tx = self.database.organisation(made).await?;
        let act = Act::OrganisationCreated;
        tx.audit(Who::Operator, act, &name).await?;
        tx.commit().await?;
        Ok(Made::New(made))
    }

    /// Makes a workspace, where the organisation has none of that name.
    pub async fn add_workspace(
        &self,
        organisation: &str,
        name: &str,
    ) -> Result<Made<WorkspaceId>, AdministrationError> {
        let name: Name = name.parse()?;
        let mut tx = self.enter(organisation).await?;
        if let Some(known) = tx.workspace(name.as_str()).await? {
            return Ok(Made::Known(known.id));
        }
        let max = settings::Quotas::default().workspaces;
        tx.room_for_workspace(max).await??;
        let Some(made) = tx.create_workspace(&name).await? else {
            // Somebody else was faster; what they made is seen once this transaction is over.
            drop(tx);
            let known = self.workspace(organisation, name.as_str()).await?;
            return Ok(Made::Known(known.id));
        };
        tx.audit(Who::Operator, Act::WorkspaceCreated, &name)
            .await?;
        tx.commit().await?;
        Ok(Made::New(made))
    }

    /// Returns what an organisation may use.
    pub async fn quotas(&self, organisation: &str) -> Result<Allowed, AdministrationError> {
        let mut tx = self.enter(organisation).await?;
        let found = tx.organisation().await?;
        let missing = || AdministrationError::NoOrganisation(organisation.to_owned());
        Ok(Allowed {
            own: found.ok_or_else(missing)?.quotas,
        })
    }

    /// Changes what an organisation may use.
    pub async fn set_quotas(
        &self,
        organisation: &str,
        change: impl FnOnce(&mut Quotas),
    ) -> Result<Allowed, AdministrationError> {
        let mut own = self.quotas(organisation).await?.own;
        change(&mut own);
        let mut tx = self.enter(organisation).await?;
        tx.set_quotas(own).await?;
        tx.audit(Who::Operator, Act::QuotaChanged, own).await?;
        tx.commit().await?;
        Ok(Allowed { own })
    }

    /// Makes a token; its secret is shown this once.
    pub async fn create_token(
        &self,
        organisation: &str,
        new: NewToken,
    ) -> Result<(Listed, Secret), AdministrationError> {
        let mut tx = self.enter(organisation).await?;
        let max = settings::Quotas::default().tokens;
        let (token, secret) = tokens::make(&mut tx, new, max).await?;
        tx.audit(Who::Operator, Act::TokenCreated, &token).await?;
        let names = names(&mut tx).await?;
        tx.commit().await?;
        Ok((Listed::of(token, &names), secret))
    }

    /// Returns an organisation's tokens, without their secrets, in the order they were made.
    pub async fn tokens(&self, organisation: &str) -> Result<Vec<Listed>, AdministrationError> {
        let mut tx = self.enter(organisation).await?;
        let mut all: Vec<Token> = Vec::new();
        loop {
            let page = tokens::list(&mut tx, all.last().map(|it| it.id), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            all.extend(page);
            if is_last {
                break;
            }
        }
        let names = names(&mut tx).await?;
        let listed = |token| Listed::of(token, &names);
        Ok(all.into_iter().map(listed).collect())
    }

    /// Returns the clock by which tokens end.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.database.world().now()
    }

    /// Ends a token now; one that was ended stays as it is.
    pub async fn revoke_token(
        &self,
        organisation: &str,
        id: &str,
    ) -> Result<Made<Listed>, AdministrationError> {
        let missing = || AdministrationError::NoToken(id.to_owned());
        let wanted = Uuid::try_parse(id).map_err(|_| missing())?;
        let mut tx = self.enter(organisation).await?;
        let now = tx.now();
        let token = tokens::revoke(&mut tx, wanted, now).await?;
        let token = token.ok_or_else(missing)?;
        let names = names(&mut tx).await?;
        if token.revoked_at != Some(now) {
            return Ok(Made::Known(Listed::of(token, &names)));
        }
        tx.audit(Who::Operator, Act::TokenRevoked, &token).await?;
        tx.commit().await?;
        Ok(Made::New(Listed::of(token, &names)))
    }

    /// Makes everything that follows from a workspace's log again.
    pub async fn rebuild(
        &self,
        organisation: &str,
        workspace: &str,
    ) -> Result<Rebuilt, AdministrationError> {
        let found = self.workspace(organisation, workspace).await?;
        let rebuilding = self.database.rebuilding(found.organisation, found.id);
        let mut done = rebuilding.await?;
        let (entries, workspace) = (done.count_entries().await?, done.row().await?);
        noted(done, Act::WorkspaceRebuilt).await?;
        Ok(Rebuilt { workspace, entries })
    }

    /// Throws away what follows from a workspace's log; whoever reads next brings it back.
    pub async fn evict(
        &self,
        organisation: &str,
        workspace: &str,
    ) -> Result<WorkspaceRow, AdministrationError> {
        let found = self.workspace(organisation, workspace).await?;
        let done = self.database.evicting(found.organisation, found.id);
        noted(done.await?, Act::WorkspaceEvicted).await?;
        Ok(found)
    }

    /// Returns an organisation's workspaces and how much they hold, by name.
    pub async fn status(
        &self,
        organisation: &str,
    ) -> Result<Vec<WorkspaceRow>, AdministrationError> {
        let mut tx = self.enter(organisation).await?;
        Ok(workspaces(&mut tx).await?)
    }

    async fn workspace(
        &self,
        organisation: &str,
        workspace: &str,
    ) -> Result<WorkspaceRow, AdministrationError> {
        let mut tx = self.enter(organisation).await?;
        let found = tx.workspace(workspace).await?;
        found.ok_or_else(|| AdministrationError::NoWorkspace(workspace.to_owned()))
    }

    /// Begins a transaction that sees one organisation, by its name.
    async fn enter(&self, organisation: &str) -> Result<OrganisationTx, AdministrationError> {
        let unknown = || AdministrationError::NoOrganisation(organisation.to_owned());
        // What is no name is nobody's.
        let name: Name = organisation.parse().map_err(|_| unknown())?;
        let found = self.database.organisation_named(&name).await?;
        let id = found.ok_or_else(unknown)?;
        Ok(self.database.organisation(id).await?)
    }
}

/// Notes what was done to a workspace, and keeps both.
async fn noted(mut done: Tenant, act: Act) -> Result<(), DatabaseError> {
    let subject = done.workspace_id().0;
    done.audit(Who::Operator, act, subject).await?;
    done.commit().await
}

/// Returns what an organisation's workspaces are called.
async fn names(tx: &mut OrganisationTx) -> Result<Names, DatabaseError> {
    let all = workspaces(tx).await?.into_iter();
    Ok(all.map(|it| (it.id, it.name.to_string())).collect())
}

/// Returns every workspace of an organisation, by name.
async fn workspaces(tx: &mut OrganisationTx) -> Result<Vec<WorkspaceRow>, DatabaseError> {
    let mut all: Vec<WorkspaceRow> = Vec::new();
    loop {
        let page = tx.workspaces(all.last().map(|it| &it.name), PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
