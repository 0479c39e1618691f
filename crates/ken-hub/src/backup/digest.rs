//! Digests of a workspace's log and of its folded state.

use futures_util::TryStreamExt as _;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::{BackupError, WorkspaceDigest};

/// Returns the digest of every workspace, removed ones included. The role must see all of them.
pub(super) async fn digest_workspaces(
    connection: &mut PgConnection,
) -> Result<Vec<WorkspaceDigest>, BackupError> {
    let query = "SELECT w.organization_id, o.name::text, w.id, w.name::text, w.head, w.appended_at,
             w.folded IS NOT NULL
         FROM ken.workspaces w JOIN ken.organizations o ON o.id = w.organization_id ORDER BY w.id";
    let rows = sqlx::query(query).fetch_all(&mut *connection).await?;
    let mut digests = Vec::with_capacity(rows.len());
    for row in rows {
        let (organization, workspace): (Uuid, Uuid) = (row.try_get(0)?, row.try_get(2)?);
        let appended_at: Option<i64> = row.try_get(5)?;
        let mut digest = WorkspaceDigest {
            organization_id: organization.to_string(),
            organization: row.try_get(1)?,
            workspace_id: workspace.to_string(),
            workspace: row.try_get(3)?,
            head: row.try_get::<i64, _>(4)?.unsigned_abs(),
            events: 0,
            log: String::new(),
            entries: None,
            fold: None,
            last_event: None,
            appended_at: appended_at.map(i64::unsigned_abs),
        };
        fill(connection, (organization, workspace), &mut digest).await?;
        let is_warm: bool = row.try_get(6)?;
        if !is_warm {
            (digest.entries, digest.fold) = (None, None);
        }
        digests.push(digest);
    }
    Ok(digests)
}

/// Computes the digests of one workspace. For a role that row-level security restricts, too.
pub(super) async fn fill(
    connection: &mut PgConnection,
    (organization, workspace): (Uuid, Uuid),
    digest: &mut WorkspaceDigest,
) -> Result<(), BackupError> {
    sqlx::query(
        "SELECT set_config('ken.organization', $1, false), set_config('ken.workspace', $2, false)",
    )
    .bind(organization.to_string())
    .bind(workspace.to_string())
    .execute(&mut *connection)
    .await?;
    let from = |columns: &str, table: &str, order: &str| {
        format!(
            "COPY (SELECT {columns} FROM ken.{table} WHERE workspace_id = '{workspace}' ORDER BY {order}) TO STDOUT"
        )
    };
    let mut log = blake3::Hasher::new();
    let events = from("seq, id, line", "events", "seq");
    digest.events = hash_rows(connection, &events, &mut log).await?;
    digest.log = log.finalize().to_hex().to_string();
    let mut fold = blake3::Hasher::new();
    let entries = from("id, json", "entries", "id");
    digest.entries = Some(hash_rows(connection, &entries, &mut fold).await?);
    let state = from("json", "workspace_states", "workspace_id");
    hash_rows(connection, &state, &mut fold).await?;
    digest.fold = Some(fold.finalize().to_hex().to_string());
    let query = "SELECT id FROM ken.events WHERE workspace_id = $1 ORDER BY seq DESC LIMIT 1";
    let last: Option<Uuid> = sqlx::query_scalar(query)
        .bind(workspace)
        .fetch_optional(connection)
        .await?;
    digest.last_event = last.map(|id| id.to_string());
    Ok(())
}

/// Hashes the rows of a `COPY` statement and returns their number.
async fn hash_rows(
    connection: &mut PgConnection,
    copy: &str,
    hasher: &mut blake3::Hasher,
) -> Result<u64, BackupError> {
    let mut rows = connection.copy_out_raw(copy).await?;
    let mut count = 0;
    while let Some(row) = rows.try_next().await? {
        hasher.update(&row);
        count += 1;
    }
    Ok(count)
}
