//! Brings the schema up to date: forward only, each step once, all of it or nothing.
//!
//! What was run is kept with a digest of its text, so that a file edited afterwards is noticed and not believed.

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::DatabaseError;
use crate::world::now;

/// One step of the schema.
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

/// Every step, the oldest first. A step that was released is never edited.
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
];

/// Makes two processes that migrate wait for each other.
const LOCK: i64 = 0x6b65_6e5f_6875_6200;

impl Migration {
    fn digest(&self) -> String {
        blake3::hash(self.sql.as_bytes()).to_hex().to_string()
    }
}

/// Runs those of `known` that were not run yet.
pub(super) async fn run(
    connection: &mut PgConnection,
    known: &'static [Migration],
) -> Result<Vec<&'static str>, DatabaseError> {
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(LOCK)
        .execute(&mut *connection)
        .await?;
    let done = run_locked(connection, known).await;
    // The lock would go with the connection; whoever waits should not have to wait for that.
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
    compare(&digests, MIGRATIONS)?;
    let mut names = Vec::new();
    for (at, migration) in known.iter().enumerate().skip(digests.len()) {
        step(connection, version(at), migration).await?;
        names.push(migration.name);
    }
    Ok(names)
}

/// Runs one step and notes it, in one transaction.
async fn step(
    connection: &mut PgConnection,
    version: i32,
    migration: &'static Migration,
) -> Result<(), DatabaseError> {
    let noted = format!(
        "INSERT INTO ken.migrations VALUES ({version}, '{}', '{}', {})",
        migration.name,
        migration.digest(),
        now().millis(),
    );
    let all = format!("BEGIN;\n{}\n;{noted};COMMIT", migration.sql);
    let ran = sqlx::raw_sql(AssertSqlSafe(all))
        .execute(&mut *connection)
        .await;
    if let Err(source) = ran {
        let _ = sqlx::raw_sql("ROLLBACK").execute(&mut *connection).await;
        let name = migration.name;
        return Err(DatabaseError::Migration { name, source });
    }
    Ok(())
}

/// Refuses a database that is not exactly at this build's version.
pub(super) async fn check(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    let rows = sqlx::query("SELECT digest FROM ken.migrations ORDER BY version")
        .fetch_all(connection)
        .await;
    let rows = match rows {
        Err(sqlx::Error::Database(said)) if is_missing(said.code().as_deref()) => Vec::new(),
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

/// Returns whether an error says that a table is not there, or not ours to read yet.
fn is_missing(code: Option<&str>) -> bool {
    matches!(code, Some("42P01" | "3F000" | "42501"))
}

/// Refuses a database that ran more than is known, or something else.
fn compare(ran: &[String], known: &'static [Migration]) -> Result<(), DatabaseError> {
    if known.len() < ran.len() {
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

/// Returns the version a database has after the migration at this place.
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
