//! An organisation's workspaces. The pattern of every handler of this API is here to be copied:
//!
//! 1. [`As`] or [`InWorkspace`] first: who calls, with the role it takes, and where;
//! 2. [`InPath`], [`InQuery`], then [`JsonBody`] last: what came, or a problem;
//! 3. one transaction that sees one tenant, committed before anything is told;
//! 4. `Result<Json<…>, Problem>`; `?` turns what the world did to us into a problem.
//!
//! Which problems an operation has that every one has, `ETag` and idempotency are added around it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::App;
use super::body::{InQuery, JsonBody};
use super::caller::{Administers, As, InWorkspace, Reads};
use super::page::{Page, Paging};
use super::problem::{Kind, Problem};
use crate::database::{Name, WorkspaceRow};
use crate::identity::audit::Act;

/// A workspace.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Workspace {
    #[schema(format = "uuid")]
    id: String,
    #[schema(example = "shop-api")]
    name: String,
    /// When it was made, in UTC.
    #[schema(example = "2026-11-14T22:51:03.120Z")]
    created_at: String,
    /// Events of its log.
    events: u64,
    /// Bytes of its log.
    bytes: u64,
    /// When its log last grew; absent while it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    appended_at: Option<String>,
    /// Whether its entries are at hand; those of a cold workspace are made again from the log when somebody asks.
    warm: bool,
}

/// A workspace that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewWorkspace {
    /// What it is called from now on.
    #[schema(pattern = "^[a-z0-9][a-z0-9._-]{0,62}$", example = "shop-api")]
    name: String,
}

impl Workspace {
    fn told(row: &WorkspaceRow) -> Self {
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

/// Returns the routes of this file.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_workspaces, create_workspace))
        .routes(routes!(get_workspace))
        .routes(routes!(evict_workspace))
}

/// Lists the workspaces the token reaches, by name.
#[utoipa::path(get, path = "/v1/workspaces", operation_id = "list_workspaces", tag = "workspaces",
    security(("token" = ["reader"])), params(Paging),
    responses((status = 200, description = "A page of workspaces.", body = Page<Workspace>)))]
async fn list_workspaces(
    State(app): State<App>,
    it: As<Reads>,
    InQuery(paging): InQuery<Paging>,
) -> Result<Json<Page<Workspace>>, Problem> {
    let after = paging.after.as_deref().map(str::parse::<Name>).transpose();
    let after = after.map_err(|error| Problem::new(Kind::Malformed, error.to_string()))?;
    let asked = paging.limit + 1;
    let mut tx = app.database.organisation(it.caller.organisation).await?;
    let rows = match &it.caller.workspaces {
        None => tx.workspaces(after.as_ref(), asked).await?,
        Some(these) => {
            let mut rows = Vec::with_capacity(these.len());
            for id in these {
                rows.extend(tx.workspace(&id.0.to_string()).await?);
            }
            rows.retain(|row| after.as_ref().is_none_or(|after| *after < row.name));
            rows.sort_by(|a, b| a.name.cmp(&b.name));
            rows.truncate(asked as usize);
            rows
        }
    };
    tx.commit().await?;
    let page = Page::of(rows, paging.limit, |row| row.name.to_string());
    Ok(Json(page.map(|row| Workspace::told(&row))))
}

/// Makes a workspace.
#[utoipa::path(post, path = "/v1/workspaces", operation_id = "create_workspace", tag = "workspaces",
    security(("token" = ["admin"])), request_body = NewWorkspace,
    responses((status = 201, description = "It was made.", body = Workspace)))]
async fn create_workspace(
    State(app): State<App>,
    it: As<Administers>,
    JsonBody(new): JsonBody<NewWorkspace>,
) -> Result<(StatusCode, Json<Workspace>), Problem> {
    let name: Name = new.name.parse().map_err(|error| {
        let error: crate::database::NameError = error;
        Problem::invalid(error.to_string())
    })?;
    let mut tx = app.database.organisation(it.caller.organisation).await?;
    let max = app.settings.quotas.workspaces;
    tx.room_for_workspace(max).await??;
    let Some(id) = tx.create_workspace(&name).await? else {
        return Err(Problem::new(
            Kind::Conflict,
            format!("there is a workspace `{name}` already; use it or choose another name"),
        ));
    };
    tx.audit(&it.caller, Act::WorkspaceCreated, &name).await?;
    let row = tx.workspace(&id.0.to_string()).await?;
    let row = row.ok_or_else(|| Problem::not_found("workspace"))?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(Workspace::told(&row))))
}

/// Returns a workspace.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}", operation_id = "get_workspace", tag = "workspaces",
    security(("token" = ["reader"])),
    params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "The workspace.", body = Workspace)))]
async fn get_workspace(
    State(app): State<App>,
    it: InWorkspace<Reads>,
) -> Result<Json<Workspace>, Problem> {
    let mut tx = app.database.organisation(it.caller.organisation).await?;
    let row = tx.workspace(&it.workspace.0.to_string()).await?;
    tx.commit().await?;
    let row = row.ok_or_else(|| Problem::not_found("workspace"))?;
    Ok(Json(Workspace::told(&row)))
}

/// Puts a workspace away: its log stays, its entries are made again when somebody asks.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/evict", operation_id = "evict_workspace", tag = "workspaces",
    security(("token" = ["admin"])),
    params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 204, description = "It is cold.")))]
async fn evict_workspace(
    State(app): State<App>,
    it: InWorkspace<Administers>,
) -> Result<StatusCode, Problem> {
    let (organisation, workspace) = (it.caller.organisation, it.workspace);
    let mut tx = app.database.evicting(organisation, workspace).await?;
    let act = Act::WorkspaceEvicted;
    tx.audit(&it.caller, act, workspace.0).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
