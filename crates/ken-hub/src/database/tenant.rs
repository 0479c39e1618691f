//! Transactions that see one tenant.

use ken_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::transaction::Transaction;
use super::{Database, DatabaseError};
use crate::identity::{OrganisationId, WorkspaceId};

/// Times a workspace is brought back for everybody: somebody may evict it again in between.
const REBUILDS_MAX: u32 = 2;

/// A transaction that sees one workspace, and of its organisation what everybody there may see.
///
/// What it did is undone unless [`commit`](Self::commit) returns.
#[derive(Debug)]
pub struct Tenant {
    transaction: Transaction,
    organisation: OrganisationId,
    workspace: WorkspaceId,
    /// When it began: the same for everything that is done in it.
    now: Timestamp,
    /// Whether there may be something to be kept.
    wrote: bool,
    /// What was answered to a question the first message asked already; stale as soon as anything is written.
    foreseen: Option<Foreseen>,
}

/// A question that was asked before anybody needed the answer.
#[derive(Debug)]
struct Foreseen {
    /// What tells the question from others.
    key: String,
    rows: Vec<PgRow>,
}

/// A question that is asked with the message that begins a transaction.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    /// What tells it from others.
    pub(crate) key: String,
    /// Must be safe to be read as SQL.
    pub(crate) sql: String,
    /// Whether it names the statement that stands ready on connections.
    pub(crate) is_ready_made: bool,
}

/// A transaction that sees what belongs to one organisation and to none of its workspaces.
#[derive(Debug)]
pub struct OrganisationTx {
    transaction: Transaction,
    organisation: OrganisationId,
    now: Timestamp,
}

/// Whether a workspace's entries are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warmth {
    Warm,
    /// Evicted: only the log is there.
    Cold,
}

impl Tenant {
    pub(super) async fn begin(
        database: &Database,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<(Self, Warmth), DatabaseError> {
        let nothing = Asking::default();
        let entered = Self::enter(database, organisation, workspace, ("", &nothing));
        let (tenant, warmth, _) = entered.await?;
        Ok((tenant, warmth))
    }

    /// Begins with a question in the same message; [`foreseen`](Self::foreseen) has the answer by its key.
    pub(crate) async fn begin_asking(
        database: &Database,
        organisation: OrganisationId,
        workspace: WorkspaceId,
        asking: Asking,
    ) -> Result<Self, DatabaseError> {
        let entered = Self::enter(database, organisation, workspace, ("", &asking)).await?;
        match entered {
            (mut tenant, Warmth::Warm, rows) => {
                let key = asking.key;
                tenant.foreseen = Some(Foreseen { key, rows });
                Ok(tenant)
            }
            (tenant, Warmth::Cold, _) => {
                tenant.rollback().await?;
                Self::begin_warm(database, organisation, workspace).await
            }
        }
    }

    /// Begins once nobody else is in the workspace, and keeps others out of it.
    pub(crate) async fn begin_alone(
        database: &Database,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<Self, DatabaseError> {
        let lock = format!(
            "SELECT pg_advisory_xact_lock(uuid_hash_extended('{}', 9)); ",
            workspace.0.hyphenated()
        );
        let nothing = Asking::default();
        let entered = Self::enter(database, organisation, workspace, (&lock, &nothing));
        let (tenant, ..) = entered.await?;
        Ok(tenant)
    }

    /// Enters, with one statement before and a question behind; returns what that was answered.
    async fn enter(
        database: &Database,
        organisation: OrganisationId,
        workspace: WorkspaceId,
        (before, asking): (&str, &Asking),
    ) -> Result<(Self, Warmth, Vec<PgRow>), DatabaseError> {
        // Both ids are printed from numbers, so there is nothing in them to be read as SQL.
        let enter = format!(
            "{before}SELECT ken.enter('{}', '{}') AS entered; {}",
            organisation.0.hyphenated(),
            workspace.0.hyphenated(),
            asking.sql
        );
        let begun = Transaction::begin(database.pool(), &enter, asking.is_ready_made);
        let (transaction, mut rows) = begun.await?;
        // What stands before answers with nothing anybody reads.
        let at = rows
            .iter()
            .position(|row| row.try_get::<&str, _>("entered").is_ok());
        let answers = at.map(|at| rows.split_off(at)).unwrap_or_default();
        let mut answers = answers.into_iter();
        let said: String = match answers.next() {
            Some(row) => row.try_get(0)?,
            None => String::new(),
        };
        let tenant = Self {
            transaction,
            organisation,
            workspace,
            now: database.world().now(),
            wrote: false,
            foreseen: None,
        };
        match said.as_str() {
            "warm" => Ok((tenant, Warmth::Warm, answers.collect())),
            "cold" => Ok((tenant, Warmth::Cold, Vec::new())),
            _ => Err(DatabaseError::NoWorkspace),
        }
    }

    pub(super) async fn begin_warm(
        database: &Database,
        organisation: OrganisationId,
        workspace: WorkspaceId,
    ) -> Result<Self, DatabaseError> {
        for _ in 0..REBUILDS_MAX {
            let (tenant, warmth) = Self::begin(database, organisation, workspace).await?;
            match warmth {
                Warmth::Warm => return Ok(tenant),
                Warmth::Cold => tenant.rollback().await?,
            }
            database.warm_up(organisation, workspace).await?;
        }
        // Somebody evicts it as often as it comes back: then this transaction has it for itself.
        let (mut tenant, warmth) = Self::begin(database, organisation, workspace).await?;
        if warmth == Warmth::Cold {
            let rebuilt = tenant.rebuild().await;
            rebuilt.map_err(|error| DatabaseError::Rebuild(Box::new(error)))?;
        }
        Ok(tenant)
    }

    /// Returns the connection, to ask what no function here asks.
    pub fn connection(&mut self) -> &mut PgConnection {
        self.wrote = true;
        self.foreseen = None;
        self.transaction.connection()
    }

    /// Returns whether a question was asked when the transaction began and what it says still holds.
    pub(crate) fn has_foreseen(&self) -> bool {
        self.foreseen.is_some()
    }

    /// Returns what was answered to the question with this key, where it was asked when the transaction began; once.
    pub(crate) fn foreseen(&mut self, key: &str) -> Option<Vec<PgRow>> {
        let foreseen = self.foreseen.take()?;
        (foreseen.key == key).then_some(foreseen.rows)
    }

    /// Returns the connection, for the question that stands ready on it.
    pub(crate) async fn reading_ready(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.transaction.make_ready().await?;
        Ok(self.reading())
    }

    /// Returns the connection, for a question that changes nothing.
    pub(crate) fn reading(&mut self) -> &mut PgConnection {
        self.transaction.connection()
    }

    /// Returns when the transaction began, by the database's one clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns whose the workspace is.
    #[must_use]
    pub fn organisation(&self) -> OrganisationId {
        self.organisation
    }

    /// Returns which workspace is seen.
    #[must_use]
    pub fn workspace_id(&self) -> WorkspaceId {
        self.workspace
    }

    /// Makes what was done last.
    ///
    /// [`DatabaseError::Uncertain`] means that it may have been made to last; whoever asks again loses nothing by it.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        if self.wrote {
            self.transaction.commit().await
        } else {
            // Nobody has to wait for the end of a transaction that only read.
            Ok(())
        }
    }

    /// Undoes what was done.
    pub async fn rollback(self) -> Result<(), DatabaseError> {
        Ok(self.transaction.rollback().await?)
    }

    /// Returns the workspace's key as it stands in every row.
    pub(crate) fn key(&self) -> Uuid {
        self.workspace.0
    }
}

impl OrganisationTx {
    pub(super) async fn begin(
        database: &Database,
        organisation: OrganisationId,
    ) -> Result<Self, DatabaseError> {
        let set = format!(
            "SELECT set_config('ken.organisation', '{}', true)",
            organisation.0.hyphenated()
        );
        let (transaction, _) = Transaction::begin(database.pool(), &set, false).await?;
        Ok(Self {
            transaction,
            organisation,
            now: database.world().now(),
        })
    }

    /// Returns the connection, to ask what no function here asks.
    pub fn connection(&mut self) -> &mut PgConnection {
        self.transaction.connection()
    }

    /// Returns when the transaction began, by the database's one clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns which organisation is seen.
    #[must_use]
    pub fn id(&self) -> OrganisationId {
        self.organisation
    }

    /// Makes what was done last.
    ///
    /// [`DatabaseError::Uncertain`] means that it may have been made to last; whoever asks again loses nothing by it.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        self.transaction.commit().await
    }

    /// Undoes what was done.
    pub async fn rollback(self) -> Result<(), DatabaseError> {
        Ok(self.transaction.rollback().await?)
    }
}
