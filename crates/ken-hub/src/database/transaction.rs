//! A transaction that says in one round trip what it is for, and that is never left open.
//!
//! Beginning, naming the tenant and asking whether it exists are one message: the library's own transactions take
//! another for each, and give a connection back as it is where the first statement fails.

use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection};

use super::pool::{Pool, Taken};
use super::{DatabaseError, Settings};

/// How long ending an abandoned transaction may take before its connection is closed instead.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(5);

/// Connections that may turn out to be dead before one is believed: as many as a pool has by default.
const ATTEMPTS_MAX: u32 = Settings::CONNECTIONS;

/// An open transaction; undone unless [`commit`](Self::commit) returns.
#[derive(Debug)]
pub(super) struct Transaction {
    /// There until the transaction has ended.
    connection: Option<Taken>,
}

impl Transaction {
    /// Begins, runs `statement`, which must be safe to be read as SQL, and returns its rows; `is_ready_made` says that it
    /// names what has to be [made ready](Self::make_ready).
    pub(super) async fn begin(
        pool: &Pool,
        statement: &str,
        is_ready_made: bool,
    ) -> Result<(Self, Vec<PgRow>), sqlx::Error> {
        let sql = format!("BEGIN; {statement}");
        let mut attempts = 0;
        loop {
            let connection = Some(pool.take().await?);
            let mut transaction = Self { connection };
            match transaction.say(&sql, is_ready_made).await {
                Ok(rows) => return Ok((transaction, rows)),
                Err(error) if is_dead(&error) && attempts < ATTEMPTS_MAX => {
                    attempts += 1;
                    transaction.close().await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn say(&mut self, sql: &str, is_ready_made: bool) -> Result<Vec<PgRow>, sqlx::Error> {
        if is_ready_made {
            self.make_ready().await?;
        }
        let said = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        said.fetch_all(self.connection()).await
    }

    pub(super) fn connection(&mut self) -> &mut PgConnection {
        self.taken().connection()
    }

    /// Makes ready what is asked most.
    pub(super) async fn make_ready(&mut self) -> Result<(), sqlx::Error> {
        self.taken().make_ready().await
    }

    fn taken(&mut self) -> &mut Taken {
        let taken = self.connection.as_mut();
        taken.expect("the connection is there until the transaction ended")
    }

    /// Makes what was done last.
    ///
    /// A `COMMIT` after a statement failed says nothing and undoes everything; the statement before it says so.
    pub(super) async fn commit(mut self) -> Result<(), DatabaseError> {
        let committed = sqlx::raw_sql("SELECT 1; COMMIT").execute(self.connection());
        match committed.await {
            Ok(_) => {
                self.end();
                Ok(())
            }
            Err(error) if is_dead(&error) => {
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
        if let Some(taken) = self.connection.take() {
            taken.give_back();
        }
    }

    async fn close(mut self) {
        if let Some(taken) = self.connection.take() {
            taken.close().await;
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(mut taken) = self.connection.take() else {
            return;
        };
        // What it locked must not stay locked until somebody happens to take this connection.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let undo = sqlx::raw_sql("ROLLBACK").execute(taken.connection());
            let undone = tokio::time::timeout(ROLLBACK_TIMEOUT, undo).await;
            if matches!(undone, Ok(Ok(_))) {
                taken.give_back();
            }
        });
    }
}

/// Returns whether the connection is of no use any more: the server went away, or ended it.
pub(crate) fn is_dead(error: &sqlx::Error) -> bool {
    let is_lost = matches!(
        error,
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed
    );
    let code = error.as_database_error().and_then(|said| said.code());
    is_lost || matches!(code.as_deref(), Some("57P01" | "57P02" | "25P03" | "57P05"))
}

/// Returns whether a row is there already.
pub(crate) fn is_twice(error: &sqlx::Error) -> bool {
    let said = error.as_database_error();
    said.is_some_and(|it| it.is_unique_violation())
}
