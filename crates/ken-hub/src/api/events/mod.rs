//! Events of a workspace: taken ([`push`]), given by the page, and followed as they come ([`stream`]).

mod push;
mod query;
mod stream;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use ken_remote::wire::Pulled;
use serde_json::value::RawValue;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::App;
use super::body::InQuery;
use super::caller::{InWorkspace, Reads};
use super::problem::Problem;
use crate::store::{Page, StoreError};
use query::PullQuery;

pub(crate) use stream::Watch;

/// Returns the routes of this folder.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(push::push_events, pull_events))
        .routes(routes!(stream::stream_events))
}

/// Returns a page of events, in the order the hub took them, each the line it is.
///
/// An event whose stored form changed later stands again behind the others. Whoever goes on from the cursor of the page
/// before misses nothing.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/events", operation_id = "pull_events", tag = "events",
    security(("token" = ["reader"])),
    params(("workspace" = String, Path, description = "Its name or its id."), PullQuery),
    responses(
        (status = 200, description = "A page of events.", body = Pulled),
        (status = 409, description = "the hub does not know that place", body = super::problem::ProblemBody, content_type = "application/problem+json"),
    ))]
async fn pull_events(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InQuery(query): InQuery<PullQuery>,
) -> Result<Response, Problem> {
    let organisation = it.caller.organisation;
    let mut tenant = app.database.log(organisation, it.workspace).await?;
    let page = tenant.events_after(query.after, query.limit).await?;
    tenant.commit().await?;
    let pulled = pulled(page)?;
    let body = serde_json::to_string(&pulled).map_err(|error| Problem::failed(&error))?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

fn pulled(page: Page) -> Result<Pulled, Problem> {
    let raw = |line: String| RawValue::from_string(line).map_err(StoreError::damaged);
    let events = page.events.into_iter().map(|it| raw(it.line));
    Ok(Pulled {
        events: events.collect::<Result<_, _>>()?,
        cursor: page.cursor,
        more: page.more,
    })
}
