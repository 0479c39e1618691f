//! Event endpoints of a workspace: [`push`], pull by page, and [`stream`].

mod push;
mod query;
mod stream;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use ken_remote::wire::PullResponse;
use serde_json::value::RawValue;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AppState;
use super::body::QueryParams;
use super::caller::{AtLeastReader, RequireWorkspaceRole};
use super::problem::Problem;
use crate::store::{LogPage, StoreError};
use query::PullQuery;

pub(super) use push::PUSH_ROUTE;
pub(crate) use stream::LogNotifier;

/// Returns the event routes.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(push::push_events, pull_events))
        .routes(routes!(stream::stream_events))
}

/// Returns a page of events in the order the hub accepted them, each as its stored JSON line.
///
/// An event whose stored form changed later is listed again at the end. A client that continues
/// from the cursor of the previous page misses nothing.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/events", operation_id = "pull_events", tag = "events",
    security(("token" = ["reader"])),
    params(("workspace" = String, Path, description = "Name or id of the workspace."), PullQuery),
    responses(
        (status = 200, description = "A page of events.", body = PullResponse),
        (status = 409, description = "unknown cursor", body = super::problem::ProblemBody, content_type = "application/problem+json"),
    ))]
async fn pull_events(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    QueryParams(query): QueryParams<PullQuery>,
) -> Result<Response, Problem> {
    let organization = access.caller.organization;
    // The log needs no projections, so a cold workspace is not rebuilt for a pull.
    let mut tenant = app
        .database
        .begin_log(organization, access.workspace)
        .await?;
    let page = tenant.events_after(query.after, query.limit).await?;
    tenant.commit().await?;
    let pulled = to_pull_response(page)?;
    let body = serde_json::to_string(&pulled).map_err(|error| Problem::internal(&error))?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

fn to_pull_response(page: LogPage) -> Result<PullResponse, Problem> {
    // `RawValue` keeps the bytes of the line: parsing and rewriting it would break its checksum.
    let raw = |line: String| RawValue::from_string(line).map_err(StoreError::damaged);
    let events = page.events.into_iter().map(|logged| raw(logged.line));
    Ok(PullResponse {
        events: events.collect::<Result<_, _>>()?,
        cursor: page.cursor,
        more: page.more,
    })
}
