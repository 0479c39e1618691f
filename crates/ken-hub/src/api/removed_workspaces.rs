//! Endpoints that remove, rename, restore and purge workspaces, for admins.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AppState;
use super::body::{JsonBody, PathParams};
use super::caller::{
    AtLeastAdmin, RequireRole, RequireWorkspaceRole, ensure_unrestricted, is_workspace_reference,
};
use super::problem::{Kind, Problem};
use super::workspaces::{WorkspaceResponse, parse_name};
use crate::database::{DatabaseError, NameTaken, OrganizationTx, RemovedWorkspace};

/// A removed workspace.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemovedWorkspaceResponse)]
pub(super) struct RemovedWorkspaceResponse {
    workspace: WorkspaceResponse,
    /// Time of the removal, in UTC.
    #[schema(example = "2026-11-14T22:51:03.120Z")]
    removed_at: String,
    /// Time from which it is erased. Until then it can be restored and keeps its name.
    erase_at: String,
}

/// The removed workspaces of an organization.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemovedWorkspacesResponse)]
pub(super) struct RemovedWorkspacesResponse {
    items: Vec<RemovedWorkspaceResponse>,
}

/// Request body that confirms a removal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RemoveWorkspaceBody)]
pub(super) struct RemoveWorkspaceBody {
    /// The workspace's name once more.
    #[schema(example = "shop-api")]
    confirm: String,
}

/// Request body with a new name.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RenameWorkspaceBody)]
pub(super) struct RenameWorkspaceBody {
    /// The new name.
    #[schema(pattern = "^[a-z0-9][a-z0-9._-]{0,62}$", example = "shop-api")]
    name: String,
}

impl RemovedWorkspaceResponse {
    fn from_removed(removed: &RemovedWorkspace) -> Self {
        Self {
            workspace: WorkspaceResponse::from_row(&removed.workspace),
            removed_at: removed.removed_at.to_string(),
            erase_at: removed.erase_at.to_string(),
        }
    }
}

impl From<NameTaken> for Problem {
    fn from(taken: NameTaken) -> Self {
        Self::new(Kind::Conflict, taken.to_string())
    }
}

/// Returns the routes of this module.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(remove_workspace))
        .routes(routes!(rename_workspace))
        .routes(routes!(list_removed_workspaces))
        .routes(routes!(restore_workspace))
        .routes(routes!(purge_workspace))
}

/// Removes a workspace: every request finds it missing from now on.
///
/// It can be restored for 30 days. After that its data is erased; only its audit log stays. It
/// counts against the quota of workspaces and keeps its name until then.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/remove", operation_id = "remove_workspace", tag = "workspaces",
    security(("token" = ["admin"])), request_body = RemoveWorkspaceBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "The workspace was removed.", body = RemovedWorkspaceResponse)))]
async fn remove_workspace(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<RemoveWorkspaceBody>,
) -> Result<Json<RemovedWorkspaceResponse>, Problem> {
    ensure_unrestricted(&access.caller)?;
    let mut tx = app
        .database
        .begin_organization(access.caller.organization)
        .await?;
    let row = tx.workspace(&access.workspace.0.to_string()).await?;
    let row = row.ok_or(DatabaseError::NoWorkspace)?;
    // The address may be an id, and one name of many is easily mistaken for another.
    if row.name.as_str() != body.confirm {
        return Err(Problem::invalid(
            "`confirm` must be the name of the workspace to remove",
        ));
    }
    let removed = tx.remove_workspace((&access.caller).into(), &row).await?;
    tx.commit().await?;
    Ok(Json(RemovedWorkspaceResponse::from_removed(&removed)))
}

/// Renames a workspace. Its id, its data and the tokens that are restricted to it stay.
///
/// For 30 days a request with the former name gets a problem of the type `renamed`, and no other
/// workspace can have that name.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/rename", operation_id = "rename_workspace", tag = "workspaces",
    security(("token" = ["admin"])), request_body = RenameWorkspaceBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "The workspace was renamed.", body = WorkspaceResponse)))]
async fn rename_workspace(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<RenameWorkspaceBody>,
) -> Result<Json<WorkspaceResponse>, Problem> {
    ensure_unrestricted(&access.caller)?;
    let name = parse_name(&body.name)?;
    let caller = &access.caller;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let id = access.workspace.0.to_string();
    let row = tx.workspace(&id).await?.ok_or(DatabaseError::NoWorkspace)?;
    tx.rename_workspace(caller.into(), &row, &name).await??;
    let row = tx.workspace(&id).await?.ok_or(DatabaseError::NoWorkspace)?;
    tx.commit().await?;
    app.workspace_cache.forget(caller.organization);
    Ok(Json(WorkspaceResponse::from_row(&row)))
}

/// Lists removed workspaces that are not erased yet, sorted by name.
#[utoipa::path(get, path = "/v1/removed-workspaces", operation_id = "list_removed_workspaces", tag = "workspaces",
    security(("token" = ["admin"])),
    responses((status = 200, description = "The removed workspaces.", body = RemovedWorkspacesResponse)))]
async fn list_removed_workspaces(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
) -> Result<Json<RemovedWorkspacesResponse>, Problem> {
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let removed = tx.removed_workspaces().await?;
    tx.commit().await?;
    let items = removed.iter().map(RemovedWorkspaceResponse::from_removed);
    Ok(Json(RemovedWorkspacesResponse {
        items: items.collect(),
    }))
}

/// Restores a removed workspace. The next read rebuilds its projections.
#[utoipa::path(post, path = "/v1/removed-workspaces/{removed}/restore", operation_id = "restore_workspace", tag = "workspaces",
    security(("token" = ["admin"])),
    params(("removed" = String, Path, description = "Name or id of the removed workspace.")),
    responses((status = 200, description = "The workspace was restored.", body = WorkspaceResponse)))]
async fn restore_workspace(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    PathParams(named): PathParams<String>,
) -> Result<Json<WorkspaceResponse>, Problem> {
    let caller = &access.caller;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let removed = find_removed(&mut tx, &named).await?;
    if !tx.restore_workspace(caller.into(), &removed).await? {
        return Err(Problem::new(
            Kind::Conflict,
            "the grace period of the workspace has ended, and its data is being erased",
        ));
    }
    tx.commit().await?;
    // Rebuilds in the background what other workspaces see of it, even if this takes longer than
    // a request may.
    let (database, id) = (app.database.clone(), removed.workspace.id);
    let organization = caller.organization;
    tokio::spawn(async move {
        if let Err(error) = database.begin_workspace(organization, id).await {
            tracing::warn!(%error, "a restored workspace is rebuilt by its next read");
        }
    });
    Ok(Json(WorkspaceResponse::from_row(&removed.workspace)))
}

/// Ends the grace period of a removed workspace: the hub erases its data within minutes.
#[utoipa::path(post, path = "/v1/removed-workspaces/{removed}/purge", operation_id = "purge_workspace", tag = "workspaces",
    security(("token" = ["admin"])),
    params(("removed" = String, Path, description = "Name or id of the removed workspace.")),
    responses((status = 202, description = "The workspace will be erased.")))]
async fn purge_workspace(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    PathParams(named): PathParams<String>,
) -> Result<StatusCode, Problem> {
    let caller = &access.caller;
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let removed = find_removed(&mut tx, &named).await?;
    tx.purge_workspace(caller.into(), &removed).await?;
    tx.commit().await?;
    app.erasure_due.notify_one();
    Ok(StatusCode::ACCEPTED)
}

async fn find_removed(tx: &mut OrganizationTx, named: &str) -> Result<RemovedWorkspace, Problem> {
    let missing = || Problem::not_found("removed workspace");
    if !is_workspace_reference(named) {
        return Err(missing());
    }
    tx.removed_workspace(named).await?.ok_or_else(missing)
}
