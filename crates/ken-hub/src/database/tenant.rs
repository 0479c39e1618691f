//! Transactions confined to one workspace or one organization.

use ken_core::values::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::transaction::Transaction;
use super::{AdvisoryLock, DatabaseError, HubDatabase};
use crate::ids::{OrganizationId, WorkspaceId};

/// The caller that brings events to the hub. The author of an event may be another actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPusher {
    pub actor: String,
    /// The token's id; `None` for a caller of an OpenID Connect issuer, whom the actor names.
    pub token: Option<Uuid>,
}

/// A transaction on one workspace, which also sees the organization's shared rows.
///
/// Rolled back unless [`commit`](Self::commit) succeeds.
#[derive(Debug)]
pub struct WorkspaceTx {
    transaction: Transaction,
    organization: OrganizationId,
    workspace: WorkspaceId,
    /// Start of the transaction; the timestamp of all its writes.
    now: Timestamp,
    /// Stored with every event that this transaction adds.
    pusher: Option<EventPusher>,
    /// True if the transaction may have written.
    wrote: bool,
    /// Rows of the query in the first message; invalid as soon as anything is written.
    eager_rows: Option<EagerRows>,
}

/// Rows of a query that was sent with the message that began the transaction.
#[derive(Debug)]
struct EagerRows {
    /// Identifies the query.
    key: String,
    rows: Vec<PgRow>,
}

/// A query sent with the message that begins a transaction.
#[derive(Debug, Default)]
pub(crate) struct EagerQuery {
    /// Identifies the query.
    pub(crate) key: String,
    /// Must be safe SQL text.
    pub(crate) sql: String,
    /// The `PREPARE` statement it needs, if it executes a prepared one.
    pub(crate) prepare: Option<&'static str>,
}

/// A transaction on one organization, outside its workspaces.
#[derive(Debug)]
pub struct OrganizationTx {
    transaction: Transaction,
    organization: OrganizationId,
    now: Timestamp,
}

/// State of a workspace's projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectionState {
    Warm,
    /// Evicted: only the log exists.
    Cold,
}

impl WorkspaceTx {
    pub(crate) async fn begin(
        database: &HubDatabase,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<(Self, ProjectionState), DatabaseError> {
        let no_query = EagerQuery::default();
        let entered = Self::enter(database, organization, workspace, ("", &no_query));
        let (tx, warmth, _) = entered.await?;
        Ok((tx, warmth))
    }

    /// Begins with a query in the same message; [`take_eager_rows`](Self::take_eager_rows) returns
    /// its rows. Returns `None` if the workspace was evicted.
    pub(crate) async fn begin_with_query(
        database: &HubDatabase,
        organization: OrganizationId,
        workspace: WorkspaceId,
        query: EagerQuery,
    ) -> Result<Option<Self>, DatabaseError> {
        let entered = Self::enter(database, organization, workspace, ("", &query)).await?;
        match entered {
            (mut tx, ProjectionState::Warm, rows) => {
                let key = query.key;
                tx.eager_rows = Some(EagerRows { key, rows });
                Ok(Some(tx))
            }
            (tx, ProjectionState::Cold, _) => {
                tx.rollback().await?;
                Ok(None)
            }
        }
    }

    /// Begins with exclusive access to the workspace: waits for other transactions and keeps new
    /// ones out.
    pub(crate) async fn begin_exclusive(
        database: &HubDatabase,
        organization: OrganizationId,
        workspace: WorkspaceId,
    ) -> Result<Self, DatabaseError> {
        let lock = AdvisoryLock::Workspace.statement(workspace.0);
        let no_query = EagerQuery::default();
        let entered = Self::enter(database, organization, workspace, (&lock, &no_query));
        let (tx, ..) = entered.await?;
        Ok(tx)
    }

    /// Begins a transaction that enters a workspace, with a statement before and a query after
    /// that. Returns the query's rows.
    async fn enter(
        database: &HubDatabase,
        organization: OrganizationId,
        workspace: WorkspaceId,
        (before, query): (&str, &EagerQuery),
    ) -> Result<(Self, ProjectionState, Vec<PgRow>), DatabaseError> {
        // The ids are formatted from numbers, so they cannot contain SQL.
        let enter = format!(
            "{before} SELECT ken.enter('{}', '{}') AS entered; {}",
            organization.0.hyphenated(),
            workspace.0.hyphenated(),
            query.sql
        );
        let begun = Transaction::begin(database.pool(), &enter, query.prepare);
        let (transaction, mut rows) = begun.await?;
        // The rows of all statements arrive in one list. Rows before the one with the column
        // `entered` belong to `before`.
        let entered_at = rows
            .iter()
            .position(|row| row.try_get::<&str, _>("entered").is_ok());
        let remaining = entered_at.map(|at| rows.split_off(at)).unwrap_or_default();
        let mut remaining = remaining.into_iter();
        let state: String = match remaining.next() {
            Some(row) => row.try_get(0)?,
            None => String::new(),
        };
        let tx = Self {
            transaction,
            organization,
            workspace,
            now: database.clock().now(),
            pusher: None,
            wrote: false,
            eager_rows: None,
        };
        match state.as_str() {
            "warm" => Ok((tx, ProjectionState::Warm, remaining.collect())),
            // The query ran against empty projections, so its rows mean nothing.
            "cold" => Ok((tx, ProjectionState::Cold, Vec::new())),
            _ => Err(DatabaseError::NoWorkspace),
        }
    }

    /// Returns the connection, for statements without a method here. Counts as a write.
    pub fn connection(&mut self) -> &mut PgConnection {
        self.wrote = true;
        self.eager_rows = None;
        self.transaction.connection()
    }

    /// Returns whether rows of the first message's query are available and still valid.
    pub(crate) fn has_eager_rows(&self) -> bool {
        self.eager_rows.is_some()
    }

    /// Returns the first row of the first message's query, if it has any.
    pub(crate) fn first_eager_row(&self) -> Option<&PgRow> {
        self.eager_rows.as_ref()?.rows.first()
    }

    /// Returns the rows of the first message's query if its key is `key`; at most once.
    pub(crate) fn take_eager_rows(&mut self, key: &str) -> Option<Vec<PgRow>> {
        let foreseen = self.eager_rows.take()?;
        (foreseen.key == key).then_some(foreseen.rows)
    }

    /// Returns the connection for reading, on which the `PREPARE` statement was executed.
    pub(crate) async fn prepared_connection(
        &mut self,
        statement: &'static str,
    ) -> Result<&mut PgConnection, sqlx::Error> {
        self.transaction.prepare(statement).await?;
        Ok(self.read_connection())
    }

    /// Returns the connection for a query that changes nothing.
    pub(crate) fn read_connection(&mut self) -> &mut PgConnection {
        self.transaction.connection()
    }

    /// Returns the start of the transaction.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the pusher of the events that this transaction adds.
    pub(crate) fn pusher(&self) -> Option<&EventPusher> {
        self.pusher.as_ref()
    }

    /// Sets the pusher of the events that this transaction adds, and returns the previous one.
    pub fn set_pusher(&mut self, pusher: Option<EventPusher>) -> Option<EventPusher> {
        std::mem::replace(&mut self.pusher, pusher)
    }

    /// Returns the organization.
    #[must_use]
    pub fn organization(&self) -> OrganizationId {
        self.organization
    }

    /// Returns the workspace.
    #[must_use]
    pub fn workspace_id(&self) -> WorkspaceId {
        self.workspace
    }

    /// Commits the transaction.
    ///
    /// [`DatabaseError::Uncertain`] means that the commit may have succeeded; repeating the request
    /// is safe.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        if self.wrote {
            self.transaction.commit().await
        } else {
            // A read-only transaction needs no commit; dropping it ends it in the background.
            Ok(())
        }
    }

    /// Rolls the transaction back.
    pub async fn rollback(self) -> Result<(), DatabaseError> {
        Ok(self.transaction.rollback().await?)
    }

    /// Returns the workspace's key, as stored in every row.
    pub(crate) fn key(&self) -> Uuid {
        self.workspace.0
    }
}

impl OrganizationTx {
    pub(super) async fn begin(
        database: &HubDatabase,
        organization: OrganizationId,
    ) -> Result<Self, DatabaseError> {
        let set = format!(
            "SELECT set_config('ken.organization', '{}', true)",
            organization.0.hyphenated()
        );
        let (transaction, _) = Transaction::begin(database.pool(), &set, None).await?;
        Ok(Self {
            transaction,
            organization,
            now: database.clock().now(),
        })
    }

    /// Returns the connection, for statements without a method here.
    pub fn connection(&mut self) -> &mut PgConnection {
        self.transaction.connection()
    }

    /// Returns the start of the transaction.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the organization.
    #[must_use]
    pub fn id(&self) -> OrganizationId {
        self.organization
    }

    /// Commits the transaction.
    ///
    /// [`DatabaseError::Uncertain`] means that the commit may have succeeded; repeating the request
    /// is safe.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        self.transaction.commit().await
    }

    /// Rolls the transaction back.
    pub async fn rollback(self) -> Result<(), DatabaseError> {
        Ok(self.transaction.rollback().await?)
    }
}
