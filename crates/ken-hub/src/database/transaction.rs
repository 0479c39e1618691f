//! Transaction that begins with its first query in one round trip and is never left open.
//!
//! Beginning, setting the tenant and checking that it exists travel in one message. sqlx's
//! transactions need a message for each, and return a connection to the pool as it is if the first
//! statement fails.

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection};

use super::pool::{ConnectionPool, LeasedConnection};
use super::{DatabaseError, DatabaseSettings};

/// Maximum duration of rolling back a dropped transaction, before its connection is closed instead.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(5);

/// Dead connections that are replaced before an error is returned: the default pool size, since all
/// idle ones may be dead.
const ATTEMPTS_MAX: u32 = DatabaseSettings::CONNECTIONS;

/// An open transaction; rolled back unless [`commit`](Self::commit) succeeds.
#[derive(Debug)]
pub(super) struct Transaction {
    /// `Some` until the transaction has ended.
    connection: Option<LeasedConnection>,
}

impl Transaction {
    /// Begins a transaction, executes `statement`, which must be safe SQL text, and returns its
    /// rows. `prepare` is the `PREPARE` statement it needs, if any.
    pub(super) async fn begin(
        pool: &ConnectionPool,
        statement: &str,
        prepare: Option<&'static str>,
    ) -> Result<(Self, Vec<PgRow>), sqlx::Error> {
        let sql = format!("BEGIN; {statement}");
        let mut attempts = 0;
        loop {
            let connection = Some(pool.acquire().await?);
            let mut transaction = Self { connection };
            match transaction.send(&sql, prepare).await {
                Ok(rows) => return Ok((transaction, rows)),
                // Retrying is safe: nothing has been written, since a lost transaction is rolled
                // back by the server.
                Err(error) if is_connection_lost(&error) && attempts < ATTEMPTS_MAX => {
                    attempts += 1;
                    transaction.close().await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn send(
        &mut self,
        sql: &str,
        prepare: Option<&'static str>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        if let Some(prepare) = prepare {
            self.prepare(prepare).await?;
        }
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        statement.fetch_all(self.connection()).await
    }

    pub(super) fn connection(&mut self) -> &mut PgConnection {
        self.lease().connection()
    }

    /// Executes a `PREPARE` statement, unless the connection already has.
    pub(super) async fn prepare(&mut self, statement: &'static str) -> Result<(), sqlx::Error> {
        self.lease().prepare(statement).await
    }

    fn lease(&mut self) -> &mut LeasedConnection {
        let lease = self.connection.as_mut();
        lease.expect("the connection exists until the transaction ends")
    }

    /// Commits the transaction.
    ///
    /// `COMMIT` in an aborted transaction reports success and rolls back. The `SELECT` before it
    /// reports the error.
    pub(super) async fn commit(mut self) -> Result<(), DatabaseError> {
        let committed = sqlx::raw_sql("SELECT 1; COMMIT").execute(self.connection());
        match committed.await {
            Ok(_) => {
                self.end();
                Ok(())
            }
            Err(error) if is_connection_lost(&error) => {
                self.close().await;
                Err(DatabaseError::Uncertain(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn rollback(mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("ROLLBACK").execute(self.connection()).await?;
        self.end();
        Ok(())
    }

    fn end(&mut self) {
        if let Some(lease) = self.connection.take() {
            lease.release();
        }
    }

    async fn close(mut self) {
        if let Some(lease) = self.connection.take() {
            lease.close().await;
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(mut lease) = self.connection.take() else {
            return;
        };
        // Its locks must not stay until the connection is reused, so the rollback starts now, in
        // the background.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let undo = sqlx::raw_sql("ROLLBACK").execute(lease.connection());
            let undone = tokio::time::timeout(ROLLBACK_TIMEOUT, undo).await;
            if matches!(undone, Ok(Ok(_))) {
                lease.release();
            }
        });
    }
}

/// Returns whether the connection is unusable: lost, or terminated by the server.
pub(crate) fn is_connection_lost(error: &sqlx::Error) -> bool {
    let is_lost = matches!(
        error,
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed
    );
    let code = error.as_database_error().and_then(|it| it.code());
    // Admin shutdown, crash shutdown, idle-in-transaction timeout and idle-session timeout.
    is_lost || matches!(code.as_deref(), Some("57P01" | "57P02" | "25P03" | "57P05"))
}

/// Returns whether a statement failed because a row exists already.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    let database_error = error.as_database_error();
    database_error.is_some_and(|it| it.is_unique_violation())
}
