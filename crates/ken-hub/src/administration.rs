//! What whoever operates a hub does with its database at hand: organisations, workspaces, tokens, rebuilding.
//!
//! Needs no token: whoever can connect to the database needs none. It connects as every hub process does, so that row-level
//! security holds here too; only [`Database::migrate`] is the owner's. What is done is in the audit log.

use ken_core::actor::Actor;
use ken_core::time::DAY_MS;
use uuid::Uuid;

use crate::database::{
    Database, DatabaseError, Name, NameError, OrganisationTx, Settings, Tenant, WorkspaceRow,
};
use crate::identity::audit::{Act, Who};
use crate::identity::tokens::{self, NAME_CHARS_MAX, Token};
use crate::identity::{IdentityError, Misfit, OrganisationId, Role, Secret, WorkspaceId};
use crate::store::StoreError;
use crate::world::World;

/// Connections an operator's command needs.
const CONNECTIONS: u32 = 2;

/// Workspaces or tokens read at a time.
const PAGE: u32 = 500;

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    pub role: Role,
    pub actor: Actor,
    /// Names of the workspaces it may enter; every one without.
    pub workspaces: Vec<String>,
    pub days: u64,
    /// What people call it; the actor without.
    pub name: Option<String>,
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
    #[error("there is one called `{0}` already")]
    Taken(String),
    #[error(transparent)]
    Actor(#[from] Misfit),
    #[error("a token's name has from 1 to {NAME_CHARS_MAX} characters")]
    TokenName,
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The database in an operator's hands.
#[derive(Debug)]
pub struct Administration {
    database: Database,
    world: World,
}

impl Administration {
    /// Connects as a hub process does.
    pub async fn open(url: &str) -> Result<Self, AdministrationError> {
        let mut settings = Settings::new(url);
        settings.connections_max = CONNECTIONS;
        Ok(Self {
            database: Database::connect(&settings).await?,
            world: World::default(),
        })
    }

    /// Makes an organisation.
    pub async fn add_organisation(
        &self,
        name: &str,
    ) -> Result<OrganisationId, AdministrationError> {
        let name: Name = name.parse()?;
        let made = self.database.create_organisation(&name).await?;
        made.ok_or_else(|| AdministrationError::Taken(name.as_str().to_owned()))
    }

    /// Makes a workspace.
    pub async fn add_workspace(
        &self,
        organisation: &str,
        name: &str,
    ) -> Result<WorkspaceId, AdministrationError> {
        let name: Name = name.parse()?;
        let mut tx = self.enter(organisation).await?;
        let made = tx.create_workspace(&name).await?;
        let made = made.ok_or_else(|| AdministrationError::Taken(name.as_str().to_owned()))?;
        tx.audit(Who::Operator, Act::WorkspaceCreated, &name)
            .await?;
        tx.commit().await?;
        Ok(made)
    }

    /// Makes a token; its secret is shown this once.
    pub async fn create_token(
        &self,
        organisation: &str,
        new: &NewToken,
    ) -> Result<(Token, Secret), AdministrationError> {
        new.role.fits(&new.actor)?;
        let name = new.name.clone().unwrap_or_else(|| new.actor.to_string());
        if name.trim().is_empty() || NAME_CHARS_MAX < name.chars().count() {
            return Err(AdministrationError::TokenName);
        }
        let mut tx = self.enter(organisation).await?;
        let mut workspaces = Vec::with_capacity(new.workspaces.len());
        for named in &new.workspaces {
            let found = tx.workspace(named).await?;
            let found = found.ok_or_else(|| AdministrationError::NoWorkspace(named.clone()))?;
            workspaces.push(found.id);
        }
        let now = self.world.now();
        let token = Token {
            id: self.world.uuid(),
            name,
            actor: new.actor.clone(),
            role: new.role,
            workspaces: (!workspaces.is_empty()).then_some(workspaces),
            created_at: now,
            expires_at: Some(now.plus_millis(new.days * DAY_MS)),
            revoked_at: None,
        };
        let secret = Secret::generate();
        tokens::create(&mut tx, &token, &secret).await?;
        tx.audit(Who::Operator, Act::TokenCreated, &token).await?;
        tx.commit().await?;
        Ok((token, secret))
    }

    /// Returns an organisation's tokens, without their secrets, in the order they were made.
    pub async fn tokens(&self, organisation: &str) -> Result<Vec<Token>, AdministrationError> {
        let mut tx = self.enter(organisation).await?;
        let mut all: Vec<Token> = Vec::new();
        loop {
            let page = tokens::list(&mut tx, all.last().map(|it| it.id), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Ends a token now.
    pub async fn revoke_token(
        &self,
        organisation: &str,
        id: &str,
    ) -> Result<Token, AdministrationError> {
        let missing = || AdministrationError::NoToken(id.to_owned());
        let wanted = Uuid::try_parse(id).map_err(|_| missing())?;
        let mut tx = self.enter(organisation).await?;
        let token = tokens::revoke(&mut tx, wanted, self.world.now()).await?;
        let token = token.ok_or_else(missing)?;
        tx.audit(Who::Operator, Act::TokenRevoked, &token).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Makes everything that follows from a workspace's log again.
    pub async fn rebuild(
        &self,
        organisation: &str,
        workspace: &str,
    ) -> Result<WorkspaceRow, AdministrationError> {
        let found = self.workspace(organisation, workspace).await?;
        let done = self.database.rebuilding(found.organisation, found.id);
        noted(done.await?, Act::WorkspaceRebuilt).await?;
        Ok(found)
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
        let found: Option<Uuid> = sqlx::query_scalar("SELECT ken.organisation_named($1)")
            .bind(name.as_str())
            .fetch_one(self.database.pool())
            .await
            .map_err(DatabaseError::Query)?;
        let id = OrganisationId(found.ok_or_else(unknown)?);
        Ok(self.database.organisation(id).await?)
    }
}

/// Notes what was done to a workspace, and keeps both.
async fn noted(mut done: Tenant, act: Act) -> Result<(), DatabaseError> {
    let subject = done.workspace_id().0;
    done.audit(Who::Operator, act, subject).await?;
    done.commit().await
}
