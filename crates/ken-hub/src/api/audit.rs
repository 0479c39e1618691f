//! Audit log endpoints for admins, newest line first.

use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AppState;
use super::body::QueryParams;
use super::caller::{AtLeastAdmin, RequireRole, RequireWorkspaceRole};
use super::page::{self, ListPage, PageParams};
use super::problem::{Kind, Problem};
use crate::database::audit::{AuditFilter, AuditRecord};
use crate::identity::AuthenticatedCaller;
use crate::ids::WorkspaceId;

/// One line of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditLineResponse)]
pub(crate) struct AuditLineResponse {
    #[schema(format = "uuid")]
    id: String,
    at: String,
    /// Actor that performed the action: the pusher of events, who need not be their author.
    by: String,
    /// Role of the actor's token; `operator` for a command on the database.
    role: String,
    #[schema(example = "token.created")]
    act: String,
    /// Id or name of the changed object; for a token also its role and actor, for a push the
    /// number of events.
    subject: String,
    /// Id of the token; absent for an operator and for callers of an OpenID Connect issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid", nullable = false)]
    token: Option<String>,
    /// Address the request came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<String>,
    /// `done`, or the kind of refusal: `refused`, `quarantined`, `forbidden` or `quota`; `failed`
    /// for a verification with errors.
    outcome: String,
    /// Ids of the events, at most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<String>,
    /// Number of events, listed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    event_count: Option<u64>,
    /// Authors of the events, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authors: Vec<String>,
    /// Entries that the events are about, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<String>,
}

impl AuditLineResponse {
    pub(crate) fn from_record(line: AuditRecord) -> Self {
        Self {
            id: line.id.to_string(),
            at: line.at.to_string(),
            by: line.by,
            role: line.role,
            act: line.act,
            subject: line.subject,
            token: line.token.map(|it| it.to_string()),
            address: line.address,
            outcome: line.outcome,
            events: line.events.iter().map(ToString::to_string).collect(),
            event_count: Some(line.event_count).filter(|it| *it > 0),
            authors: line.authors,
            entries: line.entries,
        }
    }
}

/// Query parameters that select lines of the audit log.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditQuery {
    /// Start of the page: `next` of the previous page. Omit it for the first page.
    #[serde(default)]
    #[param(max_length = 128, nullable = false)]
    pub(crate) after: Option<String>,
    /// Maximum number of items.
    #[serde(
        default = "page::default_limit",
        deserialize_with = "page::deserialize_limit"
    )]
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    pub(crate) limit: u32,
    /// Actor that performed the action, such as `human:ada@example.org`.
    #[serde(default)]
    #[param(nullable = false, max_length = 256)]
    pub(crate) by: Option<String>,
    /// Action, such as `events.pushed`.
    #[serde(default)]
    #[param(nullable = false, max_length = 64)]
    pub(crate) act: Option<String>,
    /// Outcome: `done`, `refused`, `quarantined`, `forbidden`, `quota` or `failed`.
    #[serde(default)]
    #[param(nullable = false, max_length = 64)]
    pub(crate) outcome: Option<String>,
    /// Earliest time, such as `2026-01-31T08:00:00Z`.
    #[serde(default)]
    #[param(nullable = false, format = "date-time")]
    pub(crate) since: Option<String>,
    /// Time before which the lines were written.
    #[serde(default)]
    #[param(nullable = false, format = "date-time")]
    pub(crate) until: Option<String>,
    /// Id of a token.
    #[serde(default)]
    #[param(nullable = false, format = "uuid")]
    pub(crate) token: Option<String>,
    /// Id of an event that the line is about.
    #[serde(default)]
    #[param(nullable = false, max_length = 26)]
    pub(crate) event: Option<String>,
    /// Id of an entry that the line is about.
    #[serde(default)]
    #[param(nullable = false, max_length = 26)]
    pub(crate) entry: Option<String>,
}

impl AuditQuery {
    fn filter(&self) -> Result<AuditFilter, Problem> {
        Ok(AuditFilter {
            by: bounded("by", self.by.as_deref(), 256)?,
            act: bounded("act", self.act.as_deref(), 64)?,
            outcome: bounded("outcome", self.outcome.as_deref(), 64)?,
            since: parsed("since", self.since.as_deref())?,
            until: parsed("until", self.until.as_deref())?,
            token: parsed("token", self.token.as_deref())?,
            event: parsed("event", self.event.as_deref())?,
            entry: parsed("entry", self.entry.as_deref())?,
        })
    }

    fn paging(&self) -> PageParams {
        PageParams {
            after: self.after.clone(),
            limit: self.limit,
        }
    }
}

/// Returns the parameter `name` if it has at most `max` characters, as the description says.
fn bounded(name: &str, text: Option<&str>, max: usize) -> Result<Option<String>, Problem> {
    if text.is_some_and(|it| it.chars().count() > max) {
        let detail = format!("`{name}` has more than {max} characters");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    Ok(text.map(str::to_owned))
}

/// Parses the parameter `name`.
fn parsed<T: FromStr>(name: &str, text: Option<&str>) -> Result<Option<T>, Problem> {
    let wrong = |_| Problem::new(Kind::Malformed, format!("`{name}` is not valid"));
    text.map(str::parse).transpose().map_err(wrong)
}

/// Returns the audit routes.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_audit))
        .routes(routes!(list_workspace_audit))
}

/// Lists changes to the organization: workspaces created, tokens created and revoked, quotas.
#[utoipa::path(get, path = "/v1/audit", operation_id = "list_audit", tag = "audit",
    security(("token" = ["admin"])), params(AuditQuery),
    responses((status = 200, description = "A page of the audit log.", body = ListPage<AuditLineResponse>)))]
async fn list_audit(
    State(app): State<AppState>,
    access: RequireRole<AtLeastAdmin>,
    QueryParams(query): QueryParams<AuditQuery>,
) -> Result<Json<ListPage<AuditLineResponse>>, Problem> {
    let page = load_audit(&app, &access.caller, None, &query).await?;
    Ok(Json(page.map(AuditLineResponse::from_record)))
}

/// Loads a page of the audit log of a workspace, or of the organization.
pub(crate) async fn load_audit(
    app: &AppState,
    caller: &AuthenticatedCaller,
    workspace: Option<WorkspaceId>,
    query: &AuditQuery,
) -> Result<ListPage<AuditRecord>, Problem> {
    let (filter, paging) = (query.filter()?, query.paging());
    // The list is sorted newest first, so `after` in the list means before in time.
    let before = paging.after_id()?;
    // One more than the limit shows whether there is a next page.
    let limit = paging.limit + 1;
    let found = match workspace {
        None => {
            let mut tx = app.database.begin_organization(caller.organization).await?;
            let found = tx.list_audit_records(&filter, before, limit).await?;
            tx.commit().await?;
            found
        }
        Some(workspace) => {
            let mut tx = app
                .database
                .begin_log(caller.organization, workspace)
                .await?;
            let found = tx.list_audit_records(&filter, before, limit).await?;
            tx.commit().await?;
            found
        }
    };
    Ok(ListPage::from_items(found, paging.limit, |line| {
        line.id.to_string()
    }))
}

/// Lists changes to a workspace: pushes, evictions, releases from quarantine, approvals.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/audit", operation_id = "list_workspace_audit", tag = "audit",
    security(("token" = ["admin"])),
    params(("workspace" = String, Path, description = "Name or id of the workspace."), AuditQuery),
    responses((status = 200, description = "A page of the audit log.", body = ListPage<AuditLineResponse>)))]
async fn list_workspace_audit(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAdmin>,
    QueryParams(query): QueryParams<AuditQuery>,
) -> Result<Json<ListPage<AuditLineResponse>>, Problem> {
    let page = load_audit(&app, &access.caller, Some(access.workspace), &query).await?;
    Ok(Json(page.map(AuditLineResponse::from_record)))
}
