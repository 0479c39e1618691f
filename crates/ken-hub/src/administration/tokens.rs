//! Operator commands for access tokens.

use std::collections::BTreeMap;

use ken_core::values::actor::Actor;
use uuid::Uuid;

use super::{Administration, AdministrationError, ChangeOutcome, PAGE_ROWS, load_workspaces};
use crate::config::DefaultQuotas;
use crate::database::audit::AuditAction;
use crate::database::{DatabaseError, OrganizationTx};
use crate::identity::TokenSecret;
use crate::identity::tokens::{self, RotateTokenError, TokenRecord, TokenSpec};
use crate::ids::WorkspaceId;

type WorkspaceNames = BTreeMap<WorkspaceId, String>;

/// A token with the names of the workspaces it is restricted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenListing {
    pub token: TokenRecord,
    pub workspaces: Option<Vec<String>>,
}

/// A rotated token, its successor and the successor's secret.
#[derive(Debug)]
pub struct RotatedTokenListing {
    pub old: TokenListing,
    pub new: TokenListing,
    pub secret: TokenSecret,
}

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

impl Administration {
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

    /// Replaces a token: issues a successor and lets the old one end after `overlap_hours`.
    pub async fn rotate_token(
        &self,
        organization: &str,
        id: &str,
        overlap_hours: u16,
    ) -> Result<RotatedTokenListing, AdministrationError> {
        let missing = || AdministrationError::NoToken(id.to_owned());
        let wanted = Uuid::try_parse(id).map_err(|_| missing())?;
        let mut tx = self.begin_organization(organization).await?;
        let max = DefaultQuotas::default().tokens;
        let rotated = match tokens::rotate(&mut tx, wanted, overlap_hours, max).await {
            Err(RotateTokenError::NoToken) => return Err(missing()),
            other => other?,
        };
        let subject = rotated.to_string();
        tx.audit(self.operator(), AuditAction::TokenRotated, subject)
            .await?;
        let names = load_workspace_names(&mut tx).await?;
        tx.commit().await?;
        Ok(RotatedTokenListing {
            old: TokenListing::new(rotated.old, &names),
            new: TokenListing::new(rotated.new, &names),
            secret: rotated.secret,
        })
    }

    /// Revokes all live tokens of an actor and returns them.
    pub async fn revoke_actor(
        &self,
        organization: &str,
        actor: &Actor,
    ) -> Result<Vec<TokenListing>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let now = tx.now();
        let revoked = tokens::revoke_actor(&mut tx, actor, now).await?;
        for token in &revoked {
            tx.audit(self.operator(), AuditAction::TokenRevoked, token)
                .await?;
        }
        let names = load_workspace_names(&mut tx).await?;
        tx.commit().await?;
        let listed = |token| TokenListing::new(token, &names);
        Ok(revoked.into_iter().map(listed).collect())
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
}

/// Loads the names of an organization's workspaces.
async fn load_workspace_names(tx: &mut OrganizationTx) -> Result<WorkspaceNames, DatabaseError> {
    let all = load_workspaces(tx).await?.into_iter();
    Ok(all.map(|row| (row.id, row.name.to_string())).collect())
}
