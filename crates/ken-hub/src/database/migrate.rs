//! Schema migrations: forward only, each at most once, each in its own transaction.
//!
//! The database stores a digest of every executed migration, so a file that was edited afterwards
//! is detected.

use sqlx::{AssertSqlSafe, PgConnection};

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
    "0015_sign_ins",
    "0020_compatibility",
    "0021_people",
    "0022_audit_chain",
    "0023_retention",
    "0024_opaque_people",
    "0025_federation",
    "0026_forgotten_words",
];

/// Statement with which a migration says that older hubs cannot serve beside it. The name of the
/// oldest migration that a hub must contain follows, quoted.
const CONTRACT: &str = "UPDATE ken.compatibility SET oldest_hub = '";

/// Key of the advisory lock that serializes concurrent migrations; the bytes spell "ken_hub".
const LOCK: i64 = 0x6b65_6e5f_6875_6200;

/// State of a schema that a hub can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaState {
    Current,
    /// The database has this newer version, which is compatible with this build.
    Newer(i32),
}

impl Migration {
    /// Returns the oldest migration that a hub must contain to serve after this one; `None` if
    /// every hub that serves before it can.
    ///
    /// A migration *expands* (adds what older hubs ignore) or *contracts* (removes what only older
    /// hubs use). A contracting one names the oldest hub in its own text.
    #[must_use]
    pub fn oldest_hub(&self) -> Option<&'static str> {
        let (_, rest) = self.sql.split_once(CONTRACT)?;
        rest.split_once('\'').map(|(name, _)| name)
    }

    /// Returns `expand` or `contract`.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self.oldest_hub() {
            None => "expand",
            Some(_) => "contract",
        }
    }

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
    let digests = executed_digests(connection).await?;
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

/// Refuses a database that this build cannot serve: an older schema, or a newer one that is not
/// compatible.
pub(super) async fn ensure_compatible(
    connection: &mut PgConnection,
) -> Result<SchemaState, DatabaseError> {
    let digests = executed_digests(connection).await?;
    let (ran, known) = (digests.len(), MIGRATIONS.len());
    compare(&digests[..ran.min(known)], MIGRATIONS)?;
    if ran < known {
        return Err(DatabaseError::Behind {
            found: version(ran) - 1,
            wanted: version(known) - 1,
        });
    }
    if ran == known {
        return Ok(SchemaState::Current);
    }
    let found = version(ran) - 1;
    // Exists, because this build contains the migration that creates it.
    let oldest: String = sqlx::query_scalar("SELECT oldest_hub FROM ken.compatibility")
        .fetch_one(connection)
        .await?;
    if MIGRATIONS.iter().any(|it| it.name == oldest) {
        return Ok(SchemaState::Newer(found));
    }
    let known = version(known) - 1;
    Err(DatabaseError::TooOld {
        found,
        known,
        oldest,
    })
}

/// Refuses a database without a schema, or with another one than this build's migrations make.
pub(super) async fn ensure_known(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    let digests = executed_digests(connection).await?;
    if digests.is_empty() {
        return Err(DatabaseError::Behind {
            found: 0,
            wanted: version(MIGRATIONS.len()) - 1,
        });
    }
    compare(&digests[..digests.len().min(MIGRATIONS.len())], MIGRATIONS)
}

/// Returns the migrations of this build that have not been executed.
pub(super) async fn pending(
    connection: &mut PgConnection,
) -> Result<&'static [Migration], DatabaseError> {
    let digests = executed_digests(connection).await?;
    compare(&digests, MIGRATIONS)?;
    Ok(&MIGRATIONS[digests.len()..])
}

/// Returns the digests of the executed migrations; none if the schema does not exist.
async fn executed_digests(connection: &mut PgConnection) -> Result<Vec<String>, DatabaseError> {
    let rows = sqlx::query_scalar("SELECT digest FROM ken.migrations ORDER BY version")
        .fetch_all(connection)
        .await;
    match rows {
        Err(sqlx::Error::Database(error)) if is_missing(error.code().as_deref()) => Ok(Vec::new()),
        rows => Ok(rows?),
    }
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

    /// Name of the first migration that follows the rule of [`Migration::oldest_hub`].
    const FIRST_RULED: &str = "0020_compatibility";

    /// Statements that a running older hub may not survive.
    const CONTRACTING: [&str; 13] = [
        "DROP TABLE",
        "DROP COLUMN",
        "DROP FUNCTION",
        "DROP POLICY",
        "DROP CONSTRAINT",
        "DROP SCHEMA",
        "DROP TRIGGER",
        "RENAME TO",
        "RENAME COLUMN",
        "SET NOT NULL",
        " TYPE ",
        // Not the event of a trigger, which is `TRUNCATE ON`.
        "TRUNCATE TABLE",
        "TRUNCATE KEN.",
    ];

    /// Returns the contracting statements of the migration, without comments.
    ///
    /// A check that is dropped and added again under its name is replaced, which is how one allows
    /// more values. That it does not allow fewer is for the reviewer.
    fn contracting_statements(migration: &Migration) -> Vec<&'static str> {
        let lines = migration.sql.lines();
        let code: Vec<&str> = lines
            .map(|it| it.split("--").next().unwrap_or_default())
            .collect();
        let code = code.join(" ").to_uppercase();
        let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut parts = code.split("DROP CONSTRAINT ");
        let mut rest = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let name = part.split([' ', ';', ',']).next().unwrap_or_default();
            if !code.contains(&format!("ADD CONSTRAINT {name} CHECK")) {
                rest.push_str("DROP CONSTRAINT ");
            }
            rest.push_str(part);
        }
        let code = rest;
        let found = CONTRACTING.into_iter();
        found.filter(|statement| code.contains(statement)).collect()
    }

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
    fn names_are_numbered_in_order() {
        let numbers = MIGRATIONS.iter().map(|it| {
            let (number, _) = it.name.split_once('_').expect("a number");
            assert_eq!(number.len(), 4, "{}", it.name);
            number.parse::<u32>().expect("a number")
        });
        let numbers: Vec<u32> = numbers.collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    }

    #[test]
    fn a_migration_that_contracts_names_the_oldest_hub_that_can_serve() {
        let ruled = MIGRATIONS.iter().filter(|it| it.name >= FIRST_RULED);
        for migration in ruled {
            let statements = contracting_statements(migration);
            assert!(
                statements.is_empty() || migration.oldest_hub().is_some(),
                "{}: {statements:?} may break a hub that runs; expand now and contract in a later \
                 version, or end the migration with `{CONTRACT}NAME';`",
                migration.name
            );
            if let Some(oldest) = migration.oldest_hub() {
                let known = MIGRATIONS.iter().find(|it| it.name == oldest);
                let known = known.unwrap_or_else(|| panic!("{oldest} is not a migration"));
                assert!(known.name <= migration.name, "{oldest} comes later");
            }
        }
    }

    #[test]
    fn the_rule_sees_contracting_statements_and_no_comments() {
        for (sql, contracts) in [
            ("ALTER TABLE ken.x\n    DROP COLUMN y;", true),
            ("alter table ken.x alter y set not null;", true),
            ("ALTER TABLE ken.x ALTER COLUMN y TYPE bigint;", true),
            ("ALTER TABLE ken.x RENAME COLUMN a TO b;", true),
            (
                "-- DROP TABLE ken.x is for a later version\nCREATE TABLE ken.y ();",
                false,
            ),
            ("ALTER TABLE ken.x ADD COLUMN y text;", false),
            ("ALTER TABLE ken.x DROP CONSTRAINT y;", true),
            (
                "ALTER TABLE ken.x DROP CONSTRAINT y;\nALTER TABLE ken.x ADD CONSTRAINT y CHECK (z < 9);",
                false,
            ),
            (
                "ALTER TABLE ken.x DROP CONSTRAINT y;\nALTER TABLE ken.x ADD CONSTRAINT w CHECK (z < 9);",
                true,
            ),
            ("truncate ken.x;", true),
            (
                "CREATE TRIGGER t BEFORE TRUNCATE ON ken.x FOR EACH STATEMENT EXECUTE FUNCTION ken.f();",
                false,
            ),
        ] {
            let migration = Migration { name: "x", sql };
            assert_eq!(
                !contracting_statements(&migration).is_empty(),
                contracts,
                "{sql}"
            );
        }
        let sql =
            "DROP TABLE ken.x;\nUPDATE ken.compatibility SET oldest_hub = '0020_compatibility';";
        let migration = Migration { name: "x", sql };
        assert_eq!(migration.oldest_hub(), Some("0020_compatibility"));
        assert_eq!(migration.kind_name(), "contract");
    }
}
