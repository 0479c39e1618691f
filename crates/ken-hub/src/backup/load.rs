//! Loading a backup into an empty database.

use std::io::Read;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::archive::{ArchiveHeader, ArchivePart, ArchiveReader, TableHeader};
use super::catalog::{backed_up_tables, quoted, quoted_columns};
use super::{BackupError, WorkspaceDigest};
use crate::database::{HubDatabase, MIGRATIONS};

/// Bytes that are sent to the database at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Result of loading a backup.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreReport {
    /// When the snapshot was taken.
    pub taken_at: String,
    /// Rows of all tables.
    pub rows: u64,
    /// Content that the backup recorded, for the verification.
    pub workspaces: Vec<WorkspaceDigest>,
    pub duration: Duration,
}

/// Loads a backup into an empty database, as the owner, and migrates it to this build's version.
///
/// The checksums of the file are verified. Projections are missing afterwards: a hub rebuilds them
/// at the first read of each workspace, or [`verify_restored`](super::verify_restored) does.
pub async fn load_backup(url: &str, input: impl Read) -> Result<RestoreReport, BackupError> {
    let began = Instant::now();
    let (mut archive, header) = ArchiveReader::open(input)?;
    check_migrations(&header)?;
    let mut connection = HubDatabase::connect_owner(url).await?;
    check_empty(&mut connection, header.migrations.len()).await?;
    // Rows are loaded into the schema they came from, and migrated like any other database.
    HubDatabase::migrate_to(url, header.migrations.len()).await?;
    let loaded = load_tables(&mut connection, &mut archive).await;
    let _ = connection.close().await;
    let (rows, workspaces) = loaded?;
    HubDatabase::migrate(url).await?;
    analyze(url).await?;
    Ok(RestoreReport {
        taken_at: header.at,
        rows,
        workspaces,
        duration: began.elapsed(),
    })
}

/// Lets the planner know the loaded rows; the server would look at them minutes later.
async fn analyze(url: &str) -> Result<(), BackupError> {
    let mut connection = HubDatabase::connect_owner(url).await?;
    run(&mut connection, "ANALYZE").await?;
    let _ = connection.close().await;
    Ok(())
}

/// Refuses a backup with migrations that this build does not contain.
fn check_migrations(header: &ArchiveHeader) -> Result<(), BackupError> {
    let mut known = MIGRATIONS.iter().map(|it| it.name);
    for name in &header.migrations {
        if known.next() != Some(name) {
            return Err(BackupError::TooNew {
                found: header.migrations.len(),
                name: name.clone(),
            });
        }
    }
    Ok(())
}

/// Refuses a database that has an organization, or another schema version than the backup.
async fn check_empty(connection: &mut PgConnection, version: usize) -> Result<(), BackupError> {
    let query = "SELECT to_regclass('ken.organizations') IS NOT NULL";
    let exists: bool = sqlx::query_scalar(query)
        .fetch_one(&mut *connection)
        .await?;
    if !exists {
        return Ok(());
    }
    let query =
        "SELECT (SELECT count(*) FROM ken.organizations), (SELECT count(*) FROM ken.migrations)";
    let (organizations, migrations): (i64, i64) =
        sqlx::query_as(query).fetch_one(connection).await?;
    if organizations == 0 && migrations.unsigned_abs() == version as u64 {
        return Ok(());
    }
    Err(BackupError::NotEmpty)
}

/// Loads every table in one transaction.
async fn load_tables(
    connection: &mut PgConnection,
    archive: &mut ArchiveReader<impl Read>,
) -> Result<(u64, Vec<WorkspaceDigest>), BackupError> {
    run(connection, "BEGIN").await?;
    let known = backed_up_tables(connection).await?;
    let mut loaded: Vec<String> = Vec::new();
    let mut rows = 0;
    let end = loop {
        let table = match archive.next_part()? {
            ArchivePart::Table(table) => table,
            ArchivePart::End(end) => break end,
        };
        // Names from the file only select from the catalog.
        let is_known = known.contains(&table);
        if !is_known || loaded.contains(&table.table) {
            let message = format!("it has an unexpected table `{}`", table.table);
            return Err(BackupError::Damaged(message));
        }
        rows += load_table(connection, &table, archive).await?;
        loaded.push(table.table);
    };
    if let Some(missing) = known.iter().find(|it| !loaded.contains(&it.table)) {
        let message = format!("it lacks the table `{}`", missing.table);
        return Err(BackupError::Damaged(message));
    }
    run(connection, "COMMIT").await?;
    Ok((rows, end.workspaces))
}

async fn load_table(
    connection: &mut PgConnection,
    table: &TableHeader,
    archive: &mut ArchiveReader<impl Read>,
) -> Result<u64, BackupError> {
    let name = format!("ken.{}", quoted(&table.table));
    // Policies bind the owner, too, and `COPY` into a table with a policy is not possible. Triggers
    // keep rows of the audit log from being deleted, and count what is counted already.
    let open = format!(
        "ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY; ALTER TABLE {name} DISABLE TRIGGER USER;
         DELETE FROM {name}"
    );
    run(connection, &open).await?;
    let copy = format!("COPY {name} ({}) FROM STDIN", quoted_columns(table));
    let mut sink = connection.copy_in_raw(&copy).await?;
    let (mut rows, mut chunk) = (0, Vec::with_capacity(CHUNK_BYTES));
    let read = loop {
        match archive.next_row() {
            Ok(Some(row)) => {
                chunk.extend_from_slice(row);
                rows += 1;
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
        if chunk.len() >= CHUNK_BYTES {
            sink.send(chunk.as_slice()).await?;
            chunk.clear();
        }
    };
    if let Err(error) = read {
        let _ = sink.abort("the backup cannot be read").await;
        return Err(error);
    }
    sink.send(chunk.as_slice()).await?;
    let stored = sink.finish().await?;
    if stored != rows {
        let message = format!("{stored} of {rows} rows of `{}` were stored", table.table);
        return Err(BackupError::Damaged(message));
    }
    if table.table == "workspaces" {
        // Their projections are not in the backup.
        run(connection, "UPDATE ken.workspaces SET folded = NULL").await?;
    }
    let close = format!(
        "ALTER TABLE {name} ENABLE TRIGGER USER; ALTER TABLE {name} FORCE ROW LEVEL SECURITY"
    );
    run(connection, &close).await?;
    Ok(rows)
}

async fn run(connection: &mut PgConnection, statements: &str) -> Result<(), BackupError> {
    sqlx::raw_sql(AssertSqlSafe(statements.to_owned()))
        .execute(connection)
        .await?;
    Ok(())
}
