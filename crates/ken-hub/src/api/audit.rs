//! Audit log endpoints for admins, newest line first.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AppState;
use super::body::QueryParams;
use super::caller::{AtLeastAdmin, RequireRole, RequireWorkspaceRole};
use super::page::{ListPage, PageParams};
use super::problem::Problem;
use crate::database::audit::AuditRecord;

/// One line of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditLineResponse)]
pub(super) struct AuditLineResponse {
    #[schema(format = "uuid")]
    id: String,
    at: String,
    /// Actor that performed the action.
    by: String,
    /// Role of the actor's token.
    role: String,
    #[schema(example = "token.created")]
    act: String,
    /// Id or name of the changed object; for a token also its role and actor, for a push the
    /// number of events.
    subject: String,
}

impl AuditLineResponse {
    fn from_record(line: AuditRecord) -> Self {
        Self {
            id: line.id.to_string(),
            at: line.at.to_string(),
            by: line.by,
            role: line.role,
            act: line.act,
            subject: line.subject,
        }
    }
}

/// Returns the audit routes.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_audit))
        .routes(routes!(list_workspace_audit))
}

/// Lists changes to the organization: workspaces created, tokens created and revoked, quotas.
#[utoipa::path(get, path = "/v1/audit", operation_id = "list_audit", tag = "audit",
    security(("token" = ["admin"])), params(PageParams),
    responses((status = 200, description = "A page of the audit log.", body = ListPage<AuditLineResponse>)))]
async fn list_audit(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    QueryParams(paging): QueryParams<PageParams>,
) -> Result<Json<ListPage<AuditLineResponse>>, Problem> {
    // The list is sorted newest first, so `after` in the list means before in time.
    let before = paging.after_id()?;
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    // One more than the limit shows whether there is a next page.
    let found = tx.list_audit_records(before, paging.limit + 1).await?;
    tx.commit().await?;
    Ok(Json(to_page(found, paging.limit)))
}

/// Lists changes to a workspace: pushes, evictions, releases from quarantine, approvals.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/audit", operation_id = "list_workspace_audit", tag = "audit",
    security(("token" = ["admin"])),
    params(("workspace" = String, Path, description = "Name or id of the workspace."), PageParams),
    responses((status = 200, description = "A page of the audit log.", body = ListPage<AuditLineResponse>)))]
async fn list_workspace_audit(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAdmin>,
    QueryParams(paging): QueryParams<PageParams>,
) -> Result<Json<ListPage<AuditLineResponse>>, Problem> {
    let before = paging.after_id()?;
    let organization = access.caller.organization;
    let mut tx = app
        .database
        .begin_log(organization, access.workspace)
        .await?;
    let found = tx.list_audit_records(before, paging.limit + 1).await?;
    tx.commit().await?;
    Ok(Json(to_page(found, paging.limit)))
}

fn to_page(found: Vec<AuditRecord>, limit: u32) -> ListPage<AuditLineResponse> {
    ListPage::from_items(found, limit, |line| line.id.to_string())
        .map(AuditLineResponse::from_record)
}
