//! Numbers of peers and of their entries, for pages: nothing of an entry is read.

use sqlx::Row as _;
use uuid::Uuid;

use super::{StoreError, column};
use crate::database::OrganizationTx;

/// Number of entries of a peer by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerEntryCounts {
    pub waiting: u64,
    pub approved: u64,
    pub rejected: u64,
    /// Taken back by the publisher, whatever a person had decided.
    pub withdrawn: u64,
    pub redacted: u64,
}

impl OrganizationTx {
    /// Returns whether the organization has a peer.
    pub async fn has_peers(&mut self) -> Result<bool, StoreError> {
        let query = "SELECT EXISTS (SELECT FROM ken.peers WHERE organization_id = $1)";
        let row = sqlx::query(query)
            .bind(self.id().0)
            .fetch_one(self.connection())
            .await?;
        column(&row, 0)
    }

    /// Counts the entries of a peer.
    pub async fn count_peer_entries(&mut self, peer: Uuid) -> Result<PeerEntryCounts, StoreError> {
        let query = "SELECT
                 count(*) FILTER (WHERE is_listed AND verdict = 'waiting'),
                 count(*) FILTER (WHERE is_listed AND verdict = 'approved'),
                 count(*) FILTER (WHERE is_listed AND verdict = 'rejected'),
                 count(*) FILTER (WHERE NOT is_published AND NOT is_redacted),
                 count(*) FILTER (WHERE is_redacted)
             FROM (SELECT verdict, is_published, is_redacted, is_published AND NOT is_redacted AS is_listed
                   FROM ken.peer_lines WHERE organization_id = $1 AND peer_id = $2) AS lines";
        let row = sqlx::query(query)
            .bind(self.id().0)
            .bind(peer)
            .fetch_one(self.connection())
            .await?;
        let count = |at: usize| -> Result<u64, StoreError> {
            let number: i64 = row.try_get(at)?;
            Ok(number.unsigned_abs())
        };
        Ok(PeerEntryCounts {
            waiting: count(0)?,
            approved: count(1)?,
            rejected: count(2)?,
            withdrawn: count(3)?,
            redacted: count(4)?,
        })
    }
}
