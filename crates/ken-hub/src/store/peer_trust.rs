//! Observations about peers, from which the trust in them follows.

use ken_core::federation::PeerTrust;
use ken_core::values::actor::Actor;
use ken_core::values::time::Timestamp;
use uuid::Uuid;

use super::peers::reason;
use super::{StoreError, column};
use crate::database::{OrganizationTx, millis, without_nul};

/// One observation about a peer, in thousandths.
#[derive(Clone, Debug)]
pub struct PeerObservation {
    pub alpha_milli: u32,
    pub beta_milli: u32,
    pub by: Actor,
    pub why: String,
}

impl OrganizationTx {
    /// Adds observations about a peer and computes its trust anew.
    pub async fn observe_peer(
        &mut self,
        peer: Uuid,
        observations: &[PeerObservation],
    ) -> Result<PeerTrust, StoreError> {
        let milli = |it: u32| i32::try_from(it).unwrap_or(i32::MAX);
        for it in observations {
            sqlx::query(
                "INSERT INTO ken.peer_observations VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(self.id().0)
            .bind(peer)
            .bind(crate::clock::new_uuid_at(self.now()))
            .bind(millis(self.now()))
            .bind(milli(it.alpha_milli))
            .bind(milli(it.beta_milli))
            .bind(without_nul(&it.by.to_string()))
            .bind(reason(&it.why))
            .execute(self.connection())
            .await?;
        }
        let query = "SELECT alpha_milli, beta_milli FROM ken.peer_observations
             WHERE organization_id = $1 AND peer_id = $2 ORDER BY id";
        let rows = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .fetch_all(self.connection())
            .await?;
        // In their order, because older observations fade.
        let mut trust = PeerTrust::default();
        for row in &rows {
            let (alpha, beta): (i32, i32) = (column(row, 0)?, column(row, 1)?);
            trust.observe(alpha.unsigned_abs(), beta.unsigned_abs());
        }
        sqlx::query(
            "UPDATE ken.peers SET trust = $3, mean = $4 WHERE organization_id = $1 AND id = $2",
        )
        .bind(self.id().0)
        .bind(peer)
        .bind(trust.score())
        .bind(trust.mean())
        .execute(self.connection())
        .await?;
        Ok(trust)
    }

    /// Returns whether an observation with this reason was made since a time.
    pub async fn has_observation_since(
        &mut self,
        peer: Uuid,
        why: &str,
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        let query = "SELECT EXISTS (SELECT FROM ken.peer_observations
             WHERE organization_id = $1 AND peer_id = $2 AND why = $3 AND $4 <= at)";
        let row = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .bind(reason(why))
            .bind(millis(since))
            .fetch_one(self.connection())
            .await?;
        column(&row, 0)
    }
}
