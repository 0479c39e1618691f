//! The restore drill: a backup is restored into a temporary database, verified and deleted again.

use std::io::Read;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _};

use super::{BackupError, RestoreReport, VerificationReport, load_backup, verify_restored};
use crate::clock::random_u128;
use crate::database::HubDatabase;

/// Result of a drill.
#[derive(Clone, Debug, PartialEq)]
pub struct DrillReport {
    pub restored: RestoreReport,
    pub verified: VerificationReport,
    /// Time from an empty server to a verified database.
    pub recovery: Duration,
}

/// Restores a backup into a new database on the server of `url`, verifies it and deletes it, also
/// after an error. The role needs the right to create databases. `progress` receives the number of
/// verified workspaces and the total.
pub async fn run_drill(
    url: &str,
    input: impl Read,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<DrillReport, BackupError> {
    let began = Instant::now();
    let name = format!("ken_drill_{:016x}", random_u128() >> 64);
    let scratch = with_database(url, &name).ok_or(BackupError::NoDatabase)?;
    administer(url, &format!("CREATE DATABASE {name}")).await?;
    let done = restore_and_verify(&scratch, input, progress).await;
    let recovery = began.elapsed();
    let dropped = administer(url, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    let (restored, verified) = done?;
    dropped?;
    Ok(DrillReport {
        restored,
        verified,
        recovery,
    })
}

async fn restore_and_verify(
    url: &str,
    input: impl Read,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(RestoreReport, VerificationReport), BackupError> {
    let restored = load_backup(url, input).await?;
    let verified = verify_restored(url, &restored, progress).await?;
    Ok((restored, verified))
}

async fn administer(url: &str, statement: &str) -> Result<(), BackupError> {
    let mut connection = HubDatabase::connect_owner(url).await?;
    let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .execute(&mut connection)
        .await;
    let _ = connection.close().await;
    done?;
    Ok(())
}

/// Returns a database URL with another database.
fn with_database(url: &str, name: &str) -> Option<String> {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, format!("?{query}")),
        None => (url, String::new()),
    };
    let (scheme, rest) = address.split_once("://")?;
    let host = rest.split('/').next()?;
    Some(format!("{scheme}://{host}/{name}{query}"))
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn a_url_gets_another_database() {
        for (url, expected) in [
            ("postgres://u:p@h:1/ken", "postgres://u:p@h:1/x"),
            ("postgres://u@h", "postgres://u@h/x"),
            (
                "postgres://u@h/ken?sslmode=verify-full",
                "postgres://u@h/x?sslmode=verify-full",
            ),
            ("postgres://u@h?a=b", "postgres://u@h/x?a=b"),
        ] {
            assert_eq!(with_database(url, "x").as_deref(), Some(expected));
        }
        assert_eq!(with_database("ken", "x"), None);
    }
}
