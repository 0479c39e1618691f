//! Advisory locks of PostgreSQL: what each number protects.
//!
//! A lock is a number and the id of an organization or a workspace. It ends with its transaction.
//! Functions of the migrations take locks with the same numbers, and hubs of two versions may
//! share a database: a number keeps its meaning forever.

use sqlx::PgConnection;
use uuid::Uuid;

/// What an advisory lock protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdvisoryLock {
    /// A workspace. Every transaction in it shares the lock; an eviction or a removal holds it
    /// alone.
    Workspace = 9,
    /// The search index of a workspace.
    SearchIndex = 11,
    /// The holds of a workspace or of an organization, and erasures there.
    Holds = 12,
    // 13 is the audit chain of a workspace, which only a trigger extends.
    /// The tokens of an organization.
    Tokens = 14,
    /// The signed checkpoints of an organization's audit log. Builds before this took the lock of
    /// tokens: of an old and a new hub that sign at once, one fails at the primary key.
    AuditCheckpoints = 15,
}

impl AdvisoryLock {
    /// Waits for the lock and holds it until the transaction ends.
    pub(crate) async fn take(
        self,
        connection: &mut PgConnection,
        of: Uuid,
    ) -> Result<(), sqlx::Error> {
        let lock = "SELECT pg_advisory_xact_lock(uuid_hash_extended($1, $2))";
        self.execute(lock, connection, of).await
    }

    /// As [`Self::take`], together with others that share the lock.
    pub(crate) async fn share(
        self,
        connection: &mut PgConnection,
        of: Uuid,
    ) -> Result<(), sqlx::Error> {
        let lock = "SELECT pg_advisory_xact_lock_shared(uuid_hash_extended($1, $2))";
        self.execute(lock, connection, of).await
    }

    /// Returns the statement that takes the lock, for a message of several statements.
    pub(crate) fn statement(self, of: Uuid) -> String {
        // The id is formatted from a number, so it cannot contain SQL.
        let (of, number) = (of.hyphenated(), self as i64);
        format!("SELECT pg_advisory_xact_lock(uuid_hash_extended('{of}', {number}));")
    }

    async fn execute(
        self,
        lock: &'static str,
        connection: &mut PgConnection,
        of: Uuid,
    ) -> Result<(), sqlx::Error> {
        let statement = sqlx::query(lock).bind(of).bind(self as i64);
        statement.execute(connection).await?;
        Ok(())
    }
}
