//! Admission middleware: authenticates a request, receives its body, then waits for a place.
//!
//! In this order a slow sender occupies a place for receiving only, of which its token has a share,
//! and never a place that leads to the database. A body has a deadline that grows with the bytes
//! that arrived, and its decompressed size counts against the caller's rate.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ken_core::retrieval::ranking::SearchQuery;
use ken_remote::wire::PUSH_BYTES_MAX;
use tokio::time::Instant;

use super::AppState;
use super::body::{BODY_BYTES_MAX, BodyReader};
use super::caller::authenticate;
use super::events::PUSH_ROUTE;
use super::health::PROBE_ROUTES;
use super::problem::{Kind, Problem};
use crate::limits::{CallerKey, LimitExceeded, LimitScope, RequestSlot, RequestStage, StagePermit};
use crate::service::is_expensive;

/// Middleware of every route with an authenticated caller.
pub(super) async fn admit_request(
    State(app): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    // Probes need no token. A request without one is answered by its handler, which has not read
    // anything of its body.
    let is_probe = PROBE_ROUTES.contains(&route_of(&request));
    if is_probe || !request.headers().contains_key(AUTHORIZATION) {
        return next.run(request).await;
    }
    match admit(&app, request).await {
        Ok(admitted) => next.run(admitted).await,
        Err(problem) => problem.into_response(),
    }
}

/// Authenticates a request, receives its body and takes a place for it, held by its
/// [`RequestSlot`].
pub(crate) async fn admit(app: &AppState, request: Request) -> Result<Request, Problem> {
    let max = if route_of(&request) == PUSH_ROUTE {
        PUSH_BYTES_MAX
    } else {
        BODY_BYTES_MAX
    };
    let (mut parts, mut body) = request.into_parts();
    authenticate(&mut parts, app).await?;
    let caller = parts.extensions.get::<CallerKey>().copied();
    let caller = caller.expect("authentication adds the key of the caller");
    let mut reading = None;
    if !body.is_end_stream() {
        reading = Some(acquire_stage(app, caller, RequestStage::Reading).await?);
        body = Body::from(receive_body(app, caller, body, max).await?);
    }
    let running = acquire_stage(app, caller, RequestStage::Running).await?;
    // Only now: a body that waits for its turn takes memory, too.
    drop(reading);
    if let Some(slot) = parts.extensions.get::<RequestSlot>() {
        slot.hold(running);
    }
    Ok(Request::from_parts(parts, body))
}

/// Waits for a place if a search is expensive. Its permit is held while the search runs.
///
/// One expensive search keeps a processor of the database busy, so an organization has few of these
/// places, and further ones wait without a database connection.
pub(crate) async fn admit_search(
    app: &AppState,
    caller: CallerKey,
    search: &SearchQuery,
) -> Result<Option<StagePermit>, Problem> {
    if !is_expensive(search) {
        return Ok(None);
    }
    Ok(Some(admit_expensive_search(app, caller).await?))
}

/// Waits for a place of an expensive search, such as one in many workspaces.
pub(crate) async fn admit_expensive_search(
    app: &AppState,
    caller: CallerKey,
) -> Result<StagePermit, Problem> {
    acquire_stage(app, caller, RequestStage::ExpensiveSearch).await
}

/// Returns the pattern of the route, which is empty for a path without one.
fn route_of(request: &Request) -> &str {
    let matched = request.extensions().get::<MatchedPath>();
    matched.map_or("", MatchedPath::as_str)
}

async fn receive_body(
    app: &AppState,
    caller: CallerKey,
    body: Body,
    max: usize,
) -> Result<Bytes, Problem> {
    let mut reader = BodyReader::new(body, max);
    let limits = app.limiter.limits();
    let pace = f64::from(limits.body_bytes_per_second.max(1));
    let began = Instant::now();
    let received = loop {
        let arriving = Duration::from_secs_f64(reader.length() as f64 / pace);
        let due = began + limits.body_grace + arriving;
        match tokio::time::timeout_at(due, reader.read_chunk()).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => break reader.take(),
            Ok(Err(problem)) => break Err(problem),
            Err(_) => {
                let detail = "the body arrived too slowly; send the request again";
                break Err(Problem::new(Kind::Timeout, detail));
            }
        }
    };
    // A refused body took as much work as one that was received.
    app.limiter.charge_bytes(caller, reader.length());
    received
}

async fn acquire_stage(
    app: &AppState,
    caller: CallerKey,
    stage: RequestStage,
) -> Result<StagePermit, Problem> {
    let acquired = app.limiter.acquire_stage(caller, stage).await;
    acquired.map_err(|exceeded| {
        let whose = limit_owner(&exceeded);
        let detail = format!("{whose} has reached its limit of concurrent requests; retry shortly");
        Problem::too_many(detail, exceeded.wait)
    })
}

/// Returns whose limit was exceeded, as the subject of a sentence.
pub(super) fn limit_owner(exceeded: &LimitExceeded) -> &'static str {
    match exceeded.scope {
        LimitScope::Token(_) => "your token",
        LimitScope::Organization(_) => "your organization",
    }
}
