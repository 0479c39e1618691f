//! Schema migrations: forward only, each at most once, each in its own transaction.
//!
//! The database stores a digest of every executed migration, so a file that was edited afterwards
//! is detected.

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::DatabaseError;
use crate::clock::system_now;

/// A migration.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! migrations {
    ($($name:literal),* $(,)?) => {
        &[$(Migration {
            name: $name,
            sql: include_str!(concat!("../../migrations/", $name, ".sql")),
        }),*]
    };
}

/// All migrations, oldest first. A released migration is never edited.
pub const MIGRATIONS: &[Migration] = migrations![
    "0001_directory",
    "0002_log",
    "0003_entries",
    "0004_global",
    "0005_waiting",
    "0006_named",
    "0007_sessions",
    "0008_silent_runs",
    "0009_short_way",
    "0010_limits",
    "0011_pushers",
    "0012_search_index",
    "0013_overlays",
    "0014_removal",
];

/// Key of the advisory lock that serializes concurrent migrations; the bytes spell "ken_hub".
const LOCK: i64 = 0x6b65_6e5f_6875_6200;

impl Migration {
    fn digest(&self) -> String {
        blake3::hash(self.sql.as_bytes()).to_hex().to_string()
    }
}

/// Runs those of `known` that have not been executed yet.
pub(super) async fn run(
    connection: &mut PgConnection,
    known: &'static [Migration],
) -> Result<Vec<&'static str>, DatabaseError> {
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(LOCK)
        .execute(&mut *connection)
        .await?;
    let done = run_locked(connection, known).await;
    // The lock ends with the connection. Releasing it explicitly lets a waiting process continue at
    // once.
    sqlx::query("SELECT pg_advisory_unlock($1)")
        .bind(LOCK)
        .execute(&mut *connection)
        .await?;
    done
}

async fn run_locked(
    connection: &mut PgConnection,
    known: &'static [Migration],
) -> Result<Vec<&'static str>, DatabaseError> {
    let table = "CREATE SCHEMA IF NOT EXISTS ken;
         CREATE TABLE IF NOT EXISTS ken.migrations (
             version integer PRIMARY KEY, name text NOT NULL, digest text NOT NULL, run_at bigint NOT NULL
         )";
    sqlx::raw_sql(table).execute(&mut *connection).await?;
    let rows = sqlx::query("SELECT digest FROM ken.migrations ORDER BY version")
        .fetch_all(&mut *connection)
        .await?;
    let mut digests = Vec::with_capacity(rows.len());
    for row in rows {
        digests.push(row.try_get::<String, _>(0)?);
    }
    // Compared with all migrations of the build, even if only the first few are to be run.
    compare(&digests, MIGRATIONS)?;
    let mut names = Vec::new();
    for (at, migration) in known.iter().enumerate().skip(digests.len()) {
        apply_migration(connection, version(at), migration).await?;
        names.push(migration.name);
    }
    Ok(names)
}

/// Executes a migration and records it, in one transaction.
async fn apply_migration(
    connection: &mut PgConnection,
    version: i32,
    migration: &'static Migration,
) -> Result<(), DatabaseError> {
    let noted = format!(
        "INSERT INTO ken.migrations VALUES ({version}, '{}', '{}', {})",
        migration.name,
        migration.digest(),
        system_now().millis(),
    );
    // The simple protocol executes several statements per message, which a migration file contains.
    // Names and digests are constants of the build, so nothing needs to be escaped.
    let all = format!("BEGIN;\n{}\n;{noted};COMMIT", migration.sql);
    let ran = sqlx::raw_sql(AssertSqlSafe(all))
        .execute(&mut *connection)
        .await;
    if let Err(source) = ran {
        // The connection is used again to release the advisory lock, which fails inside an aborted
        // transaction.
        let _ = sqlx::raw_sql("ROLLBACK").execute(&mut *connection).await;
        let name = migration.name;
        return Err(DatabaseError::Migration { name, source });
    }
    Ok(())
}

/// Refuses a database whose schema is not exactly at this build's version.
pub(super) async fn ensure_current(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    let rows = sqlx::query("SELECT digest FROM ken.migrations ORDER BY version")
        .fetch_all(connection)
        .await;
    let rows = match rows {
        Err(sqlx::Error::Database(error)) if is_missing(error.code().as_deref()) => Vec::new(),
        rows => rows?,
    };
    let mut digests = Vec::with_capacity(rows.len());
    for row in rows {
        digests.push(row.try_get::<String, _>(0)?);
    }
    compare(&digests, MIGRATIONS)?;
    if digests.len() < MIGRATIONS.len() {
        return Err(DatabaseError::Behind {
            found: version(digests.len()) - 1,
            wanted: version(MIGRATIONS.len()) - 1,
        });
    }
    Ok(())
}

/// Returns whether an error code means that the table is missing or not yet readable for this role.
fn is_missing(code: Option<&str>) -> bool {
    matches!(code, Some("42P01" | "3F000" | "42501"))
}

/// Refuses a database with unknown or edited migrations.
fn compare(ran: &[String], known: &'static [Migration]) -> Result<(), DatabaseError> {
    if ran.len() > known.len() {
        return Err(DatabaseError::Ahead {
            found: version(ran.len()) - 1,
            known: version(known.len()) - 1,
        });
    }
    for (digest, migration) in ran.iter().zip(known) {
        if *digest != migration.digest() {
            let name = migration.name;
            return Err(DatabaseError::Edited { name });
        }
    }
    Ok(())
}

/// Returns the schema version after the migration at index `at`.
fn version(at: usize) -> i32 {
    i32::try_from(at + 1).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(count: usize) -> Vec<String> {
        MIGRATIONS
            .iter()
            .take(count)
            .map(Migration::digest)
            .collect()
    }

    #[test]
    fn what_was_run_is_compared_with_what_is_known() {
        for count in 0..=MIGRATIONS.len() {
            assert!(compare(&digests(count), MIGRATIONS).is_ok(), "{count}");
        }
        let mut edited = digests(2);
        edited[1] = "another".into();
        let found = compare(&edited, MIGRATIONS);
        assert!(matches!(
            found,
            Err(DatabaseError::Edited { name: "0002_log" })
        ));
        let mut more = digests(MIGRATIONS.len());
        more.push("newer".into());
        let found = compare(&more, MIGRATIONS);
        assert!(matches!(found, Err(DatabaseError::Ahead { .. })));
    }

    #[test]
    fn names_are_numbered_without_gaps() {
        for (at, migration) in MIGRATIONS.iter().enumerate() {
            assert!(migration.name.starts_with(&format!("{:04}_", at + 1)));
        }
    }
}
