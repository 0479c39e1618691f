//! Writing a backup from one snapshot.

use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use sqlx::{Connection as _, PgConnection, Row as _};

use super::archive::{ArchiveEnd, ArchiveHeader, ArchiveWriter, TableHeader};
use super::catalog::{backed_up_tables, quoted, quoted_columns};
use super::digest::digest_workspaces;
use super::{BackupError, WorkspaceDigest};
use crate::clock::system_now;
use crate::database::HubDatabase;

/// One snapshot for all tables. `row_security = off` makes a query fail that would hide rows.
const SNAPSHOT: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL row_security = off;
    SET LOCAL search_path = pg_catalog";

/// Result of a backup.
#[derive(Clone, Debug, PartialEq)]
pub struct BackupReport {
    /// Rows of all tables.
    pub rows: u64,
    pub workspaces: Vec<WorkspaceDigest>,
    pub duration: Duration,
}

impl BackupReport {
    /// Returns the number of events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.workspaces.iter().map(|it| it.events).sum()
    }
}

/// Writes a backup of the database to `out`, while hubs serve.
///
/// The role must see every row: a superuser, or one with `BYPASSRLS` that may read all tables.
pub async fn write_backup<W: Write>(url: &str, out: W) -> Result<(BackupReport, W), BackupError> {
    let began = Instant::now();
    let mut connection = HubDatabase::connect_owner(url).await?;
    check_role(&mut connection).await?;
    let written = write_snapshot(&mut connection, out).await;
    let _ = connection.close().await;
    let (rows, workspaces, out) = written?;
    let report = BackupReport {
        rows,
        workspaces,
        duration: began.elapsed(),
    };
    Ok((report, out))
}

async fn write_snapshot<W: Write>(
    connection: &mut PgConnection,
    out: W,
) -> Result<(u64, Vec<WorkspaceDigest>, W), BackupError> {
    sqlx::raw_sql(SNAPSHOT).execute(&mut *connection).await?;
    let migrations = HubDatabase::executed_migrations(connection).await?;
    let header = ArchiveHeader::new(system_now().to_string(), migrations);
    let mut archive = ArchiveWriter::begin(out, header)?;
    let mut rows = 0;
    for table in backed_up_tables(connection).await? {
        rows += write_table(connection, table, &mut archive).await?;
    }
    let workspaces = digest_workspaces(connection).await?;
    let end = ArchiveEnd {
        workspaces: workspaces.clone(),
    };
    let out = archive.finish(end)?;
    sqlx::raw_sql("COMMIT").execute(connection).await?;
    Ok((rows, workspaces, out))
}

async fn write_table<W: Write>(
    connection: &mut PgConnection,
    table: TableHeader,
    archive: &mut ArchiveWriter<W>,
) -> Result<u64, BackupError> {
    // A query, because `COPY` of a partitioned table by its name is not possible.
    let columns = quoted_columns(&table);
    let copy = format!(
        "COPY (SELECT {columns} FROM ken.{}) TO STDOUT",
        quoted(&table.table)
    );
    archive.begin_table(table)?;
    let mut rows = connection.copy_out_raw(&copy).await?;
    while let Some(row) = rows.try_next().await? {
        archive.row(&row)?;
    }
    Ok(archive.end_table()?)
}

/// Refuses a role that does not see every row.
async fn check_role(connection: &mut PgConnection) -> Result<(), BackupError> {
    let query =
        "SELECT rolname::text, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user";
    let row = sqlx::query(query).fetch_one(connection).await?;
    if row.try_get(1)? {
        return Ok(());
    }
    Err(BackupError::Restricted(row.try_get(0)?))
}
