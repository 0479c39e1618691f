//! Workspace endpoints. They show the pattern of every handler of this API:
//!
//! 1. [`RequireRole`] or [`RequireWorkspaceRole`] first: authentication, role and workspace;
//! 2. then validated input: [`PathParams`](super::body::PathParams), [`QueryParams`], [`JsonBody`];
//! 3. one tenant-scoped transaction, committed before the response is built;
//! 4. `Result<Json<…>, Problem>`, where `?` converts every error into an error response.
//!
//! Common error responses, `ETag` and idempotency are added around the handlers.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AppState;
use super::body::{JsonBody, QueryParams};
use super::caller::{AtLeastAdmin, AtLeastReader, RequireRole, RequireWorkspaceRole};
use super::page::{ListPage, PageParams};
use super::problem::{Kind, Problem};
use crate::database::audit::AuditAction;
use crate::database::{HubName, HubNameError, NameTaken, WorkspaceRow};
use crate::service;

/// A workspace.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkspaceResponse)]
pub(super) struct WorkspaceResponse {
    #[schema(format = "uuid")]
    id: String,
    #[schema(example = "shop-api")]
    name: String,
    /// Time of creation, in UTC.
    #[schema(example = "2026-11-14T22:51:03.120Z")]
    created_at: String,
    /// Number of events in its log.
    events: u64,
    /// Size of its log in bytes.
    bytes: u64,
    /// Time of the last append. Absent while the log is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    appended_at: Option<String>,
    /// True if its projections exist. Those of a cold workspace are rebuilt by the next read.
    warm: bool,
}

/// Request body for a new workspace.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateWorkspaceBody)]
pub(super) struct CreateWorkspaceBody {
    /// Its name.
    #[schema(pattern = "^[a-z0-9][a-z0-9._-]{0,62}$", example = "shop-api")]
    name: String,
}

impl WorkspaceResponse {
    pub(super) fn from_row(row: &WorkspaceRow) -> Self {
        Self {
            id: row.id.0.to_string(),
            name: row.name.to_string(),
            created_at: row.created_at.to_string(),
            events: row.events,
            bytes: row.bytes,
            appended_at: row.appended_at.map(|at| at.to_string()),
            warm: row.is_warm,
        }
    }
}

/// Parses the name of a workspace.
pub(super) fn parse_name(text: &str) -> Result<HubName, Problem> {
    text.parse()
        .map_err(|error: HubNameError| Problem::invalid(error.to_string()))
}

/// Returns the workspace routes.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_workspaces, create_workspace))
        .routes(routes!(get_workspace))
        .routes(routes!(evict_workspace))
}

/// Lists the workspaces the token can access, sorted by name.
#[utoipa::path(get, path = "/v1/workspaces", operation_id = "list_workspaces", tag = "workspaces",
    security(("token" = ["reader"])), params(PageParams),
    responses((status = 200, description = "A page of workspaces.", body = ListPage<WorkspaceResponse>)))]
async fn list_workspaces(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    QueryParams(paging): QueryParams<PageParams>,
) -> Result<Json<ListPage<WorkspaceResponse>>, Problem> {
    let after = paging
        .after
        .as_deref()
        .map(str::parse::<HubName>)
        .transpose();
    let after = after.map_err(|error| Problem::new(Kind::Malformed, error.to_string()))?;
    // One more than the limit shows whether there is a next page.
    let fetched_max = paging.limit + 1;
    let listed =
        service::list_workspaces(&app.database, &access.caller, after.as_ref(), fetched_max);
    let rows = listed.await?;
    let page = ListPage::from_items(rows, paging.limit, |row| row.name.to_string());
    Ok(Json(page.map(|row| WorkspaceResponse::from_row(&row))))
}

/// Creates a workspace.
#[utoipa::path(post, path = "/v1/workspaces", operation_id = "create_workspace", tag = "workspaces",
    security(("token" = ["admin"])), request_body = CreateWorkspaceBody,
    responses((status = 201, description = "The workspace was created.", body = WorkspaceResponse)))]
async fn create_workspace(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    JsonBody(body): JsonBody<CreateWorkspaceBody>,
) -> Result<(StatusCode, Json<WorkspaceResponse>), Problem> {
    let name = parse_name(&body.name)?;
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let max = app.settings.quotas.workspaces;
    // Locks the organization's row, so two requests cannot both use the last free place.
    tx.check_workspace_quota(max).await??;
    let Some(id) = tx.create_workspace(&name).await? else {
        let taken = tx.name_taken(&name).await?;
        return Err(taken.unwrap_or(NameTaken::Exists(name)).into());
    };
    tx.audit(&access.caller, AuditAction::WorkspaceCreated, &name)
        .await?;
    let row = tx.workspace(&id.0.to_string()).await?;
    let row = row.ok_or_else(|| Problem::not_found("workspace"))?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(WorkspaceResponse::from_row(&row))))
}

/// Returns a workspace.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}", operation_id = "get_workspace", tag = "workspaces",
    security(("token" = ["reader"])),
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "The workspace.", body = WorkspaceResponse)))]
async fn get_workspace(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
) -> Result<Json<WorkspaceResponse>, Problem> {
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let row = tx.workspace(&access.workspace.0.to_string()).await?;
    tx.commit().await?;
    let row = row.ok_or_else(|| Problem::not_found("workspace"))?;
    Ok(Json(WorkspaceResponse::from_row(&row)))
}

/// Evicts a workspace: deletes its projections and keeps its log. The next read rebuilds them.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/evict", operation_id = "evict_workspace", tag = "workspaces",
    security(("token" = ["admin"])),
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 204, description = "The workspace was evicted.")))]
async fn evict_workspace(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAdmin>,
) -> Result<StatusCode, Problem> {
    let (organization, workspace) = (access.caller.organization, access.workspace);
    let mut tx = app.database.begin_eviction(organization, workspace).await?;
    let act = AuditAction::WorkspaceEvicted;
    tx.audit(&access.caller, act, workspace.0).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
