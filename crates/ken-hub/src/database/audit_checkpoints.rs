//! Signed checkpoints of the audit log: the ends of all chains of an organization.
//!
//! A chain alone shows what somebody changed who cannot compute it anew. A checkpoint is signed
//! with a key that the database does not have, so a superuser who rewrites a chain is found by the
//! checkpoints, above all by copies of them outside the database.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::audit_chain::{ChainEnd, ChainProblem, ChainProblemKind, VerifiedChain, uuid_text};
use super::{AdvisoryLock, DatabaseError, HubDatabase, OrganizationTx};
use crate::config::{AuditPublicKey, AuditSigningKey};
use crate::ids::OrganizationId;

/// Schema of a checkpoint's body.
const SCHEMA: &str = "ken.audit-checkpoint.v1";

/// Name under which the signed positions of chains are stored; no export has it.
const SIGNED: &str = "";

/// Problems that a verification lists; all are counted.
const PROBLEMS_MAX: usize = 100;

/// A signed checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCheckpoint {
    /// JSON text that is signed.
    pub body: String,
    /// Ed25519 signature of the body in base64.
    pub signature: String,
}

/// Body of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
struct CheckpointBody {
    schema: String,
    #[serde(with = "uuid_text")]
    organization: Uuid,
    number: u64,
    at: String,
    /// SHA-256 of the body before; zeros in the first.
    previous: String,
    /// Ends of the chains that grew since the checkpoint before.
    chains: Vec<ChainEnd>,
}

/// Result of verifying the audit log of an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditVerification {
    pub chains: u64,
    pub records: u64,
    pub checkpoints: u64,
    /// Whether the signatures were verified: a key was given and there are checkpoints.
    pub is_signed: bool,
    /// At most `PROBLEMS_MAX`.
    pub problems: Vec<ChainProblem>,
    pub problem_count: u64,
}

impl HubDatabase {
    /// Returns the organizations whose audit log is to be signed.
    pub async fn audited_organizations(&self) -> Result<Vec<OrganizationId>, DatabaseError> {
        let mut lease = self.pool().acquire_live().await?;
        let found: Vec<Uuid> = sqlx::query_scalar("SELECT ken.audited_organizations()")
            .fetch_all(lease.connection())
            .await?;
        lease.release();
        Ok(found.into_iter().map(OrganizationId).collect())
    }
}

impl OrganizationTx {
    /// Signs the ends of the chains that grew since the last checkpoint. Returns `None` if none
    /// did.
    pub async fn sign_audit_checkpoint(
        &mut self,
        key: &AuditSigningKey,
    ) -> Result<Option<AuditCheckpoint>, DatabaseError> {
        // Two hubs must not sign the same number.
        let organization = self.id().0;
        AdvisoryLock::AuditCheckpoints
            .take(self.connection(), organization)
            .await?;
        let signed = self.audit_positions(SIGNED).await?;
        let is_new = |end: &ChainEnd| signed.get(&end.chain).is_none_or(|it| *it < end.number);
        let ends = self.audit_ends().await?;
        let chains: Vec<ChainEnd> = ends.into_iter().filter(is_new).collect();
        if chains.is_empty() {
            return Ok(None);
        }
        let before = self.last_audit_checkpoint().await?;
        let number = before.as_ref().map_or(0, |(number, _)| *number) + 1;
        for end in &chains {
            self.set_audit_position(SIGNED, end.chain, end.number)
                .await?;
        }
        let body = CheckpointBody {
            schema: SCHEMA.to_owned(),
            organization: self.id().0,
            number,
            at: self.now().to_string(),
            previous: previous_digest(before.as_ref().map(|(_, it)| it)),
            chains,
        };
        let body = serde_json::to_string(&body).unwrap_or_default();
        // The text is stored as it was signed. A body that is parsed and encoded again could have
        // other bytes after an update, and no signature would hold.
        let signature = key.sign(&body);
        let insert = "INSERT INTO ken.audit_checkpoints VALUES ($1, $2, $3, $4)";
        sqlx::query(insert)
            .bind(self.id().0)
            .bind(i64::try_from(number).unwrap_or(i64::MAX))
            .bind(&body)
            .bind(&signature)
            .execute(self.connection())
            .await?;
        Ok(Some(AuditCheckpoint { body, signature }))
    }

    async fn last_audit_checkpoint(
        &mut self,
    ) -> Result<Option<(u64, AuditCheckpoint)>, DatabaseError> {
        let query = "SELECT number, body, signature FROM ken.audit_checkpoints
             WHERE organization_id = $1 ORDER BY number DESC LIMIT 1";
        let found: Option<(i64, String, String)> = sqlx::query_as(query)
            .bind(self.id().0)
            .fetch_optional(self.connection())
            .await?;
        Ok(found.map(|(number, body, signature)| {
            (number.unsigned_abs(), AuditCheckpoint { body, signature })
        }))
    }

    /// Returns the checkpoints after a number, in order.
    pub async fn audit_checkpoints(
        &mut self,
        after: u64,
    ) -> Result<Vec<AuditCheckpoint>, DatabaseError> {
        let query = "SELECT body, signature FROM ken.audit_checkpoints
             WHERE organization_id = $1 AND $2 < number ORDER BY number";
        let found: Vec<(String, String)> = sqlx::query_as(query)
            .bind(self.id().0)
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .fetch_all(self.connection())
            .await?;
        let checkpoint = |(body, signature)| AuditCheckpoint { body, signature };
        Ok(found.into_iter().map(checkpoint).collect())
    }

    /// Verifies the chains of the organization, its checkpoints, and copies of checkpoints that
    /// were kept elsewhere.
    pub async fn verify_audit(
        &mut self,
        key: Option<&AuditPublicKey>,
        copies: &[AuditCheckpoint],
    ) -> Result<AuditVerification, DatabaseError> {
        let stored = self.audit_checkpoints(0).await?;
        let mut found = VerifiedChain::default();
        let mut ends = check_sequence(self.id().0, &stored, key, &mut found);
        ends.extend(self.check_copies(&stored, copies, key, &mut found));
        let mut chains = self.audit_chains().await?;
        // A chain that only a checkpoint names was removed as a whole.
        chains.extend(ends.iter().map(|(_, end)| end.chain));
        chains.sort_unstable();
        chains.dedup();
        let mut verification = AuditVerification {
            chains: chains.len() as u64,
            checkpoints: stored.len() as u64,
            is_signed: key.is_some() && !(stored.is_empty() && copies.is_empty()),
            ..AuditVerification::default()
        };
        for chain in chains {
            let of_chain = || ends.iter().filter(|(_, end)| end.chain == chain);
            let wanted: Vec<u64> = of_chain().map(|(_, end)| end.number).collect();
            let mut verified = self.verify_chain(chain, &wanted).await?;
            for (checkpoint, end) in of_chain() {
                let actual = verified.digests.get(&end.number).map(ToString::to_string);
                if actual.as_deref() != Some(&end.digest) {
                    let kind = ChainProblemKind::CheckpointMismatch;
                    verified.add(kind, chain, *checkpoint);
                }
            }
            verification.records += verified.records;
            verification.extend(verified);
        }
        verification.extend(found);
        Ok(verification)
    }

    /// Compares copies of checkpoints with the stored ones, and returns the chain ends they sign.
    fn check_copies(
        &self,
        stored: &[AuditCheckpoint],
        copies: &[AuditCheckpoint],
        key: Option<&AuditPublicKey>,
        found: &mut VerifiedChain,
    ) -> Vec<(u64, ChainEnd)> {
        let mut ends = Vec::new();
        for copy in copies {
            let Ok(body) = serde_json::from_str::<CheckpointBody>(&copy.body) else {
                found.add(ChainProblemKind::CheckpointInvalid, self.id().0, 0);
                continue;
            };
            // A file of copies may have those of several organizations.
            if body.organization != self.id().0 {
                continue;
            }
            if key.is_some_and(|key| !key.has_signed(&copy.body, &copy.signature)) {
                found.add(
                    ChainProblemKind::CheckpointInvalid,
                    self.id().0,
                    body.number,
                );
                continue;
            }
            let at = usize::try_from(body.number).unwrap_or(usize::MAX);
            let kept = at.checked_sub(1).and_then(|at| stored.get(at));
            // A checkpoint that differs from its copy was replaced, so the signed one is missing.
            if kept.is_none_or(|it| it.body != copy.body) {
                found.add(
                    ChainProblemKind::CheckpointMissing,
                    self.id().0,
                    body.number,
                );
            }
            // Also if it is missing in the database: the copy still says how the chains ended.
            ends.extend(body.chains.into_iter().map(|end| (body.number, end)));
        }
        ends
    }
}

impl AuditVerification {
    fn extend(&mut self, verified: VerifiedChain) {
        self.problem_count = self.problem_count.saturating_add(verified.problem_count);
        let left = PROBLEMS_MAX.saturating_sub(self.problems.len());
        self.problems
            .extend(verified.problems.into_iter().take(left));
    }
}

/// Checks numbers, references and signatures of the stored checkpoints, and returns the chain ends
/// they sign.
fn check_sequence(
    organization: Uuid,
    stored: &[AuditCheckpoint],
    key: Option<&AuditPublicKey>,
    found: &mut VerifiedChain,
) -> Vec<(u64, ChainEnd)> {
    let mut ends = Vec::new();
    for (at, checkpoint) in stored.iter().enumerate() {
        let number = at as u64 + 1;
        let body = serde_json::from_str::<CheckpointBody>(&checkpoint.body);
        let before = at.checked_sub(1).and_then(|at| stored.get(at));
        match body {
            // What follows a gap cannot be compared with its predecessor.
            Ok(body) if body.number != number => {
                found.add(ChainProblemKind::CheckpointMissing, organization, number);
                return ends;
            }
            Ok(body)
                if body.organization == organization
                    && body.previous == previous_digest(before)
                    && key.is_none_or(|key| {
                        key.has_signed(&checkpoint.body, &checkpoint.signature)
                    }) =>
            {
                ends.extend(body.chains.into_iter().map(|end| (number, end)));
            }
            Ok(_) | Err(_) => found.add(ChainProblemKind::CheckpointInvalid, organization, number),
        }
    }
    ends
}

/// Returns the reference to the checkpoint before.
fn previous_digest(before: Option<&AuditCheckpoint>) -> String {
    let Some(before) = before else {
        return "0".repeat(64);
    };
    let digest = digest(&SHA256, before.body.as_bytes());
    digest
        .as_ref()
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
