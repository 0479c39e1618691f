//! The audit log, for admins: who did what to the hub, the latest first.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::App;
use super::body::InQuery;
use super::caller::{Administers, As, InWorkspace};
use super::page::{Page, Paging};
use super::problem::Problem;
use crate::database::Audited;

/// Something somebody did.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditLine {
    #[schema(format = "uuid")]
    id: String,
    at: String,
    /// In whose name.
    by: String,
    /// With which role.
    role: String,
    #[schema(example = "token.created")]
    act: String,
    /// The id or name of what it was done to; of a token also its role and actor, of a push how many events.
    subject: String,
}

impl AuditLine {
    fn told(line: Audited) -> Self {
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

/// Returns the routes of this file.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_audit))
        .routes(routes!(list_workspace_audit))
}

/// Lists what was done to the organisation: workspaces and tokens that were made and ended.
#[utoipa::path(get, path = "/v1/audit", operation_id = "list_audit", tag = "audit",
    security(("token" = ["admin"])), params(Paging),
    responses((status = 200, description = "A page of the log.", body = Page<AuditLine>)))]
async fn list_audit(
    State(app): State<App>,
    it: As<Administers>,
    InQuery(paging): InQuery<Paging>,
) -> Result<Json<Page<AuditLine>>, Problem> {
    let before = paging.id()?;
    let mut tx = app.database.organisation(it.caller.organisation).await?;
    let found = tx.audited(before, paging.limit + 1).await?;
    tx.commit().await?;
    Ok(Json(page(found, paging.limit)))
}

/// Lists what was done to a workspace: pushes in other people's names, releases, approvals.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/audit", operation_id = "list_workspace_audit", tag = "audit",
    security(("token" = ["admin"])),
    params(("workspace" = String, Path, description = "Its name or its id."), Paging),
    responses((status = 200, description = "A page of the log.", body = Page<AuditLine>)))]
async fn list_workspace_audit(
    State(app): State<App>,
    it: InWorkspace<Administers>,
    InQuery(paging): InQuery<Paging>,
) -> Result<Json<Page<AuditLine>>, Problem> {
    let before = paging.id()?;
    let organisation = it.caller.organisation;
    let mut tx = app.database.log(organisation, it.workspace).await?;
    let found = tx.audited(before, paging.limit + 1).await?;
    tx.commit().await?;
    Ok(Json(page(found, paging.limit)))
}

fn page(found: Vec<Audited>, limit: u32) -> Page<AuditLine> {
    Page::of(found, limit, |line| line.id.to_string()).map(AuditLine::told)
}
