//! Hash chain of the audit log: one chain per workspace, and one for the organization itself.
//!
//! The database links every record when its transaction commits (migration `0022_audit_chain`): a
//! number without gaps, and a digest that covers the record and the digest before it. This module
//! computes the digests again, so a removed, altered or reordered row is found without trusting a
//! function of the database.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::ops::Range;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::audit::{AuditRecord, record_from_row};
use super::{DatabaseError, OrganizationTx};

/// Number of bytes of a digest.
pub const DIGEST_BYTES: usize = 32;

/// Records per query while a chain is read.
const PAGE_ROWS: u32 = 1_000;

/// Problems that a verification lists per chain; all are counted.
const PROBLEMS_MAX: usize = 100;

/// Digest of a record in its chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChainDigest([u8; DIGEST_BYTES]);

/// A record of the audit log with its place in a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainedRecord {
    /// Id of the workspace, or of the organization.
    pub chain: Uuid,
    pub number: u64,
    pub digest: ChainDigest,
    /// The record; `None` if its row is gone.
    pub record: Option<AuditRecord>,
    /// The digest computed from the row and the stored digest before it.
    computed: Option<ChainDigest>,
}

/// End of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainEnd {
    #[serde(with = "uuid_text")]
    pub chain: Uuid,
    /// Number of the last record.
    pub number: u64,
    pub digest: String,
}

/// What is wrong with a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainProblemKind {
    /// A number is missing.
    Gap,
    /// The record of a link is missing.
    RecordRemoved,
    /// The record, its place or the link is not what was written.
    Altered,
    /// Records that no link names.
    Unlinked,
    /// A checkpoint is missing.
    CheckpointMissing,
    /// A checkpoint's signature or its reference to the one before is wrong.
    CheckpointInvalid,
    /// A chain does not have the end that a checkpoint signed.
    CheckpointMismatch,
}

/// A problem of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainProblem {
    pub kind: ChainProblemKind,
    /// Id of the workspace or organization.
    pub chain: Uuid,
    /// Number of the record or checkpoint, or how many records there are.
    pub number: u64,
}

/// State of a chain after it was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedChain {
    /// Records that were verified.
    pub records: u64,
    /// At most `PROBLEMS_MAX`.
    pub problems: Vec<ChainProblem>,
    pub problem_count: u64,
    /// Digests at the numbers that were asked for.
    pub digests: BTreeMap<u64, ChainDigest>,
}

impl ChainDigest {
    /// Digest before the first record.
    pub const ZERO: Self = Self([0; DIGEST_BYTES]);

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for ChainDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainDigest({self})")
    }
}

impl ChainProblemKind {
    /// Returns the name of the problem in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::RecordRemoved => "record-removed",
            Self::Altered => "altered",
            Self::Unlinked => "unlinked",
            Self::CheckpointMissing => "checkpoint-missing",
            Self::CheckpointInvalid => "checkpoint-invalid",
            Self::CheckpointMismatch => "checkpoint-mismatch",
        }
    }
}

impl fmt::Display for ChainProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.kind {
            ChainProblemKind::Gap => write!(f, "record {number} is missing"),
            ChainProblemKind::RecordRemoved => write!(f, "record {number} was removed"),
            ChainProblemKind::Altered => write!(f, "record {number} was altered"),
            ChainProblemKind::Unlinked => write!(f, "records without a number: {number}"),
            ChainProblemKind::CheckpointMissing => write!(f, "checkpoint {number} is missing"),
            ChainProblemKind::CheckpointInvalid => {
                write!(f, "checkpoint {number} is not validly signed")
            }
            ChainProblemKind::CheckpointMismatch => {
                write!(f, "the chain differs from checkpoint {number}")
            }
        }
    }
}

impl VerifiedChain {
    pub(super) fn add(&mut self, kind: ChainProblemKind, chain: Uuid, number: u64) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            let problem = ChainProblem {
                kind,
                chain,
                number,
            };
            self.problems.push(problem);
        }
    }

    fn add_gap(&mut self, chain: Uuid, missing: Range<u64>) {
        let listed = missing.clone().take(PROBLEMS_MAX);
        listed.for_each(|number| self.add(ChainProblemKind::Gap, chain, number));
        // A forged number can be any, so the rest is counted without walking through it.
        let rest = missing.end.saturating_sub(missing.start);
        let rest = rest.saturating_sub(PROBLEMS_MAX as u64);
        self.problem_count = self.problem_count.saturating_add(rest);
    }
}

impl OrganizationTx {
    /// Returns the chains of the organization: its own, and those of its workspaces, erased ones
    /// included.
    pub async fn audit_chains(&mut self) -> Result<Vec<Uuid>, DatabaseError> {
        let own = self.id().0;
        // Erased workspaces are only in `audit_chains`. The others are named as well, so that a row
        // that is removed there hides no chain.
        let query = "SELECT $1 UNION SELECT id FROM ken.workspaces WHERE organization_id = $1
             UNION SELECT chain FROM ken.audit_chains WHERE organization_id = $1 ORDER BY 1";
        let found = sqlx::query_scalar(query).bind(own);
        Ok(found.fetch_all(self.connection()).await?)
    }

    /// Returns up to `limit` records of a chain of this organization after a number, in order.
    pub async fn chained_records(
        &mut self,
        chain: Uuid,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ChainedRecord>, DatabaseError> {
        self.enter_chain(chain).await?;
        // Outer joins: a link whose record or predecessor was removed must still be found and
        // reported.
        let query = "SELECT a.id, a.at, a.by, a.role, a.act, a.subject, a.token_id, a.address, a.outcome,
                 a.events, a.event_count, a.authors, a.entries, l.number, l.digest, b.digest
             FROM ken.audit_links l
             LEFT JOIN ken.audit a ON a.workspace_id = l.workspace_id AND a.id = l.record
             LEFT JOIN ken.audit_links b ON b.workspace_id = l.workspace_id AND b.number = l.number - 1
             WHERE l.workspace_id = $1 AND $2 < l.number ORDER BY l.number LIMIT $3";
        let rows = sqlx::query(query)
            .bind(chain)
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .bind(i64::from(limit))
            .fetch_all(self.connection())
            .await?;
        rows.iter().map(|row| chained_record(chain, row)).collect()
    }

    /// Returns the ends of all chains of the organization that have records.
    pub async fn audit_ends(&mut self) -> Result<Vec<ChainEnd>, DatabaseError> {
        let query = "SELECT chain, number, encode(digest, 'hex') FROM ken.audit_ends() ORDER BY 1";
        let found: Vec<(Uuid, i64, String)> =
            sqlx::query_as(query).fetch_all(self.connection()).await?;
        let end = |(chain, number, digest): (Uuid, i64, String)| ChainEnd {
            chain,
            number: number.unsigned_abs(),
            digest,
        };
        Ok(found.into_iter().map(end).collect())
    }

    /// Verifies every record of a chain, and returns its digests at the numbers `wanted`.
    pub async fn verify_chain(
        &mut self,
        chain: Uuid,
        wanted: &[u64],
    ) -> Result<VerifiedChain, DatabaseError> {
        let mut verified = VerifiedChain::default();
        let mut last = 0;
        loop {
            let page = self.chained_records(chain, last, PAGE_ROWS).await?;
            for it in &page {
                verified.add_gap(chain, last + 1..it.number);
                last = it.number;
                verified.records += 1;
                if it.record.is_none() {
                    verified.add(ChainProblemKind::RecordRemoved, chain, it.number);
                } else if it.computed.is_some_and(|computed| computed != it.digest) {
                    verified.add(ChainProblemKind::Altered, chain, it.number);
                }
                if wanted.contains(&it.number) {
                    // The stored digest, because that is the one a checkpoint signed. Whether the
                    // row still has it was checked above.
                    verified.digests.insert(it.number, it.digest);
                }
            }
            if page.len() < PAGE_ROWS as usize {
                break;
            }
        }
        // Rows that were inserted with the trigger switched off, or whose link was deleted.
        let query = "SELECT count(*) FROM ken.audit a WHERE a.workspace_id = $1 AND a.id NOT IN (
             SELECT l.record FROM ken.audit_links l WHERE l.workspace_id = $1)";
        let unlinked: i64 = sqlx::query_scalar(query)
            .bind(chain)
            .fetch_one(self.connection())
            .await?;
        if unlinked > 0 {
            verified.add(ChainProblemKind::Unlinked, chain, unlinked.unsigned_abs());
        }
        Ok(verified)
    }

    /// Lets this transaction see the records of a chain, which must be of this organization.
    async fn enter_chain(&mut self, chain: Uuid) -> Result<(), DatabaseError> {
        // Row-level security shows only the chain that was entered. The setting ends with the
        // transaction (`true`), so a pooled connection does not keep it.
        sqlx::query("SELECT set_config('ken.workspace', $1, true)")
            .bind(chain.to_string())
            .execute(self.connection())
            .await?;
        Ok(())
    }
}

/// Ids as text in JSON.
pub(super) mod uuid_text {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use uuid::Uuid;

    pub(in crate::database) fn serialize<S: Serializer>(
        id: &Uuid,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(in crate::database) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Uuid, D::Error> {
        let text = String::deserialize(from)?;
        Uuid::try_parse(&text).map_err(D::Error::custom)
    }
}

fn chained_record(chain: Uuid, row: &PgRow) -> Result<ChainedRecord, DatabaseError> {
    let number = row.try_get::<i64, _>(13)?;
    let stored: Vec<u8> = row.try_get(14)?;
    let before: Option<Vec<u8>> = row.try_get(15)?;
    // After a gap the digest before is unknown, and the gap is reported instead.
    let before = match before {
        Some(before) => ChainDigest::from_bytes(&before),
        None => (number == 1).then_some(ChainDigest::ZERO),
    };
    let is_there = row.try_get::<Option<Uuid>, _>(0)?.is_some();
    let computed = match before {
        Some(before) if is_there => Some(record_digest(chain, number, before, row)?),
        Some(_) | None => None,
    };
    let record = is_there.then(|| record_from_row(row)).transpose()?;
    Ok(ChainedRecord {
        chain,
        number: number.unsigned_abs(),
        digest: ChainDigest::from_bytes(&stored).unwrap_or(ChainDigest::ZERO),
        record,
        computed,
    })
}

/// Computes a record's digest; the same bytes as `ken.audit_digest` in the database.
fn record_digest(
    chain: Uuid,
    number: i64,
    before: ChainDigest,
    row: &PgRow,
) -> Result<ChainDigest, DatabaseError> {
    // Columns are read as they are stored, not through `AuditRecord`: a conversion there would
    // change the bytes, and every record would look altered.
    let text = |at| Ok::<_, sqlx::Error>(json!(row.try_get::<Option<String>, _>(at)?));
    let list = |at| Ok::<_, sqlx::Error>(json!(row.try_get::<Option<Vec<String>>, _>(at)?));
    let id = |it: Uuid| it.to_string();
    // The order is that of `ken.audit_digest`. Another order needs another version in the prefix.
    let fields = [
        json!(id(chain)),
        json!(id(row.try_get(0)?)),
        json!(row.try_get::<i64, _>(1)?),
        text(2)?,
        text(3)?,
        text(4)?,
        text(5)?,
        json!(row.try_get::<Option<Uuid>, _>(6)?.map(id)),
        text(7)?,
        text(8)?,
        json!(
            row.try_get::<Option<Vec<Uuid>>, _>(9)?
                .map(|ids| ids.into_iter().map(id).collect::<Vec<_>>())
        ),
        json!(row.try_get::<Option<i64>, _>(10)?),
        list(11)?,
        list(12)?,
    ];
    let mut text = format!("ken.audit.v1 {number} {before} [");
    for (at, field) in fields.iter().enumerate() {
        // PostgreSQL separates the members of the outer array with a space, those of inner ones
        // without.
        let separator = if at == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}{field}");
    }
    text.push(']');
    let mut bytes = [0; DIGEST_BYTES];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    Ok(ChainDigest(bytes))
}
