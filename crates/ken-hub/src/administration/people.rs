//! Operator commands for accounts and browser sessions.

use ken_core::values::actor::Actor;
use uuid::Uuid;

use super::{Administration, AdministrationError, PAGE_ROWS};
use crate::database::audit::AuditAction;
use crate::identity::accounts::{self, AccountDescription, AccountRecord, BlockOutcome};
use crate::identity::sign_ins::{self, SignInRecord};

impl Administration {
    /// Returns every account of an organization, sorted by actor.
    pub async fn accounts(
        &self,
        organization: &str,
    ) -> Result<Vec<AccountRecord>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let mut all: Vec<AccountRecord> = Vec::new();
        loop {
            let last = all.last().map(|it| it.actor.to_string());
            let page = accounts::list(&mut tx, last.as_deref(), PAGE_ROWS).await?;
            let is_last = page.len() < PAGE_ROWS as usize;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Sets who is responsible for an account, and what it is for.
    pub async fn describe_account(
        &self,
        organization: &str,
        account: &AccountDescription,
    ) -> Result<(), AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        accounts::describe(&mut tx, account).await?;
        tx.audit(self.operator(), AuditAction::AccountChanged, &account.actor)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Blocks an account: its tokens and sign-ins end, and it gets no new ones.
    pub async fn block_account(
        &self,
        organization: &str,
        actor: &Actor,
    ) -> Result<BlockOutcome, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let ended = accounts::block(&mut tx, actor).await?;
        for token in &ended.tokens {
            tx.audit(self.operator(), AuditAction::TokenRevoked, token)
                .await?;
        }
        tx.audit(self.operator(), AuditAction::AccountBlocked, actor)
            .await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Lets an account get tokens and sign in again. Returns whether it was blocked.
    pub async fn unblock_account(
        &self,
        organization: &str,
        actor: &Actor,
    ) -> Result<bool, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let was_blocked = accounts::unblock(&mut tx, actor).await?;
        if was_blocked {
            tx.audit(self.operator(), AuditAction::AccountUnblocked, actor)
                .await?;
        }
        tx.commit().await?;
        Ok(was_blocked)
    }

    /// Returns the browser sessions of an organization or of one actor, newest first.
    pub async fn sessions(
        &self,
        organization: &str,
        actor: Option<&Actor>,
    ) -> Result<Vec<SignInRecord>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        let mut all: Vec<SignInRecord> = Vec::new();
        loop {
            let page = (all.last().map(|it| it.id), i64::from(PAGE_ROWS));
            let found = sign_ins::list_page(&mut tx, actor, page).await?;
            let is_last = found.len() < PAGE_ROWS as usize;
            all.extend(found);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Ends a browser session and returns its actor.
    pub async fn end_session(
        &self,
        organization: &str,
        id: &str,
    ) -> Result<String, AdministrationError> {
        let missing = || AdministrationError::NoSession(id.to_owned());
        let wanted = Uuid::try_parse(id).map_err(|_| missing())?;
        let mut tx = self.begin_organization(organization).await?;
        let actor = sign_ins::end(&mut tx, wanted).await?.ok_or_else(missing)?;
        tx.audit(self.operator(), AuditAction::SignedOut, &actor)
            .await?;
        tx.commit().await?;
        Ok(actor)
    }
}
