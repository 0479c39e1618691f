//! Operator commands on publications and peers.
//!
//! The key that signs is a file of the operator, outside of the database: a hub process serves what
//! was signed and can sign nothing itself.

use std::sync::Arc;

use ken_core::federation::{PeerPullReport, PublicationUpdate};
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_guard::Guard;
use ken_sign::PublisherKey;

use super::{Administration, AdministrationError};
use crate::config::DefaultQuotas;
use crate::database::audit::AuditAction;
use crate::ids::OrganizationId;
use crate::service::ServiceContext;
use crate::service::federation::{
    AddPeerRequest, HubFederationError, HubPublicationReview, ManifestSigner, NewHubPublication,
    PullOptions, add_peer, allow_exports, close_publication, create_publication, pull_peer,
    review_publication, update_publication,
};
use crate::store::{PeerRow, PublicationRow};

/// Reason of a suspension by an operator.
const SUSPENDED_BY_OPERATOR: &str = "an operator suspended it";

impl From<HubFederationError> for AdministrationError {
    fn from(error: HubFederationError) -> Self {
        Self::Federation(Box::new(error))
    }
}

impl Administration {
    /// Creates a publication; nothing is published yet.
    pub async fn create_publication(
        &self,
        organization: &str,
        new: NewHubPublication,
        key: &PublisherKey,
    ) -> Result<PublicationRow, AdministrationError> {
        self.person()?;
        let id = self.organization_id(organization).await?;
        let made = create_publication(&self.database, id, new, key, self.operator());
        Ok(made.await?)
    }

    /// Returns the publications of an organization, by name.
    pub async fn publications(
        &self,
        organization: &str,
    ) -> Result<Vec<PublicationRow>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(tx.publications().await?)
    }

    /// Returns what a publication would contain.
    pub async fn review_publication(
        &self,
        organization: &str,
        name: &str,
    ) -> Result<HubPublicationReview, AdministrationError> {
        let id = self.organization_id(organization).await?;
        let services = self.services();
        Ok(review_publication(&self.database, &services, id, name).await?)
    }

    /// Records that the operator, a person, approved the words of entries for a publication.
    pub async fn allow_exports(
        &self,
        (organization, name): (&str, &str),
        ids: &[EntryId],
    ) -> Result<Vec<EntryId>, AdministrationError> {
        let person = self.person()?;
        let id = self.organization_id(organization).await?;
        let services = self.services();
        let allowed = allow_exports(&self.database, &services, (id, name), ids, person);
        Ok(allowed.await?)
    }

    /// Signs and stores what is new, withdrawn or redacted.
    ///
    /// Needs no person, so that a timer can renew a publication: it signs only approved words.
    pub async fn update_publication(
        &self,
        (organization, name): (&str, &str),
        signer: &dyn ManifestSigner,
    ) -> Result<PublicationUpdate, AdministrationError> {
        let id = self.organization_id(organization).await?;
        let services = self.services();
        let place = (id, name);
        let updated = update_publication(&self.database, &services, place, signer, self.operator());
        Ok(updated.await?)
    }

    /// Takes back everything that a publication contains.
    pub async fn close_publication(
        &self,
        (organization, name): (&str, &str),
        signer: &dyn ManifestSigner,
    ) -> Result<PublicationUpdate, AdministrationError> {
        self.person()?;
        let id = self.organization_id(organization).await?;
        let closed = close_publication(&self.database, (id, name), signer, self.operator());
        Ok(closed.await?)
    }

    /// Adds a peer after comparing its key with a fingerprint.
    pub async fn add_peer(
        &self,
        organization: &str,
        request: AddPeerRequest,
        token: fn(&str) -> Option<String>,
    ) -> Result<PeerRow, AdministrationError> {
        self.person()?;
        let id = self.organization_id(organization).await?;
        let added = add_peer(&self.database, id, request, token, self.operator());
        Ok(added.await?)
    }

    /// Returns the peers of an organization, by name.
    pub async fn peers(&self, organization: &str) -> Result<Vec<PeerRow>, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(tx.peers().await?)
    }

    /// Returns one peer.
    pub async fn peer(
        &self,
        organization: &str,
        name: &str,
    ) -> Result<PeerRow, AdministrationError> {
        let mut tx = self.begin_organization(organization).await?;
        Ok(tx.peer(name).await?.ok_or_else(|| no_peer(name))?)
    }

    /// Receives what a peer published since the last pull.
    pub async fn pull_peer(
        &self,
        (organization, name): (&str, &str),
        options: PullOptions,
    ) -> Result<PeerPullReport, AdministrationError> {
        let id = self.organization_id(organization).await?;
        let guard = self.services().guard;
        Ok(pull_peer(&self.database, &guard, (id, name), options).await?)
    }

    /// Stops showing a peer's entries from the next request on, or ends that.
    pub async fn set_peer_suspended(
        &self,
        (organization, name): (&str, &str),
        is_suspended: bool,
    ) -> Result<(), AdministrationError> {
        self.person()?;
        let (why, act) = if is_suspended {
            (Some(SUSPENDED_BY_OPERATOR), AuditAction::PeerSuspended)
        } else {
            (None, AuditAction::PeerResumed)
        };
        let mut tx = self.begin_organization(organization).await?;
        let peer = tx.peer(name).await?.ok_or_else(|| no_peer(name))?;
        tx.set_peer_suspended(peer.id, why).await?;
        tx.audit(self.operator(), act, name).await?;
        Ok(tx.commit().await?)
    }

    /// Sets a person's own limit of a peer's weight.
    pub async fn limit_peer(
        &self,
        (organization, name): (&str, &str),
        max: Option<f64>,
    ) -> Result<(), AdministrationError> {
        self.person()?;
        let mut tx = self.begin_organization(organization).await?;
        let peer = tx.peer(name).await?.ok_or_else(|| no_peer(name))?;
        let max = max.map(|it| it.clamp(0.0, ken_core::federation::WEIGHT_MAX));
        tx.set_peer_weight_max(peer.id, max).await?;
        tx.audit(self.operator(), AuditAction::PeerLimited, name)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Removes a peer with everything it sent.
    pub async fn remove_peer(
        &self,
        organization: &str,
        name: &str,
    ) -> Result<(), AdministrationError> {
        self.person()?;
        let mut tx = self.begin_organization(organization).await?;
        let peer = tx.peer(name).await?.ok_or_else(|| no_peer(name))?;
        tx.delete_peer(peer.id).await?;
        tx.audit(self.operator(), AuditAction::PeerRemoved, name)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Returns the operator's name, which has to be that of a person.
    fn person(&self) -> Result<&Actor, AdministrationError> {
        let person = self.by.as_ref().filter(|it| it.is_human());
        person.ok_or_else(|| HubFederationError::PersonNeeded.into())
    }

    async fn organization_id(&self, name: &str) -> Result<OrganizationId, AdministrationError> {
        Ok(self.begin_organization(name).await?.id())
    }

    fn services(&self) -> ServiceContext {
        ServiceContext {
            clock: self.database.clock().clone(),
            guard: Arc::new(Guard::default()),
            quotas: DefaultQuotas::default(),
            signers: None,
        }
    }
}

fn no_peer(name: &str) -> HubFederationError {
    HubFederationError::NoPeer(name.to_owned())
}
