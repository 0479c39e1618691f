//! Middleware for every request: load limit, timeout, tracing, metrics, headers, panic handling.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state, map_request};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use tower_http::compression::CompressionLayer;
use tower_http::decompression::RequestDecompressionLayer;
use tracing::Instrument as _;

use super::listener::PeerConnection;
use crate::api::AppState;
use crate::api::health::{PROBE_ROUTES, READY_ROUTE};
use crate::api::problem::Problem;
use crate::limits::RequestSlot;
use crate::operator_log::ProblemLog;
use crate::operator_log::RequestLogLine;

/// Default content security policy: nothing is loaded.
const DEFAULT_CONTENT_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; base-uri 'none'");

/// Delay of a response that tells a client to come back later. A client that ignores `Retry-After`
/// would otherwise keep the hub busy with refusals.
const REFUSAL_DELAY: Duration = Duration::from_secs(1);

/// `Retry-After` of an overloaded hub.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Adds compression, limits, metrics and logging to a router.
pub(super) fn with_middleware(router: Router, app: AppState) -> Router {
    // The last layer is the outermost.
    router
        // Other encodings pass through: the body extractor answers them with a problem, while
        // the layer's own rejection is plain text.
        .layer(RequestDecompressionLayer::new().pass_through_unaccepted(true))
        .layer(map_request(normalize_content_encoding))
        .layer(from_fn_with_state(app, observe_request))
        // Outside of the ETag layer, so a tag does not depend on the compression.
        .layer(CompressionLayer::new())
}

/// Names the encoding of a body as the decompression layer expects it: codings are
/// case-insensitive, and `identity` means none (RFC 9110, 8.4).
async fn normalize_content_encoding(mut request: Request) -> Request {
    let headers = request.headers_mut();
    let mut values = headers.get_all(CONTENT_ENCODING).iter();
    let (Some(only), None) = (values.next(), values.next()) else {
        return request;
    };
    let coding = only.to_str().unwrap_or_default().trim();
    let is_gzip = ["gzip", "x-gzip"]
        .iter()
        .any(|it| coding.eq_ignore_ascii_case(it));
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    } else if coding.eq_ignore_ascii_case("identity") {
        headers.remove(CONTENT_ENCODING);
    }
    request
}

/// Runs a request and records its span, metrics, log line and response headers.
async fn observe_request(
    State(app): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let connection = request.extensions().get::<ConnectInfo<PeerConnection>>();
    let connection = connection.map(|ConnectInfo(connection)| connection.clone());
    // Bound to a name: the bytes of a body are told from those of a head until it is dropped.
    let _running = connection.as_ref().map(PeerConnection::begin_request);
    if let Some(connection) = connection {
        request.extensions_mut().insert(connection.address);
    }
    // The pattern, not the path: the number of metric labels must be bounded.
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or("none", MatchedPath::as_str).to_owned();
    let method = method_label(request.method());
    let has_body = !request.body().is_end_stream();
    let span = tracing::info_span!(
        "hub_request",
        route = route.as_str(),
        method,
        status = tracing::field::Empty
    );
    let slot = RequestSlot::default();
    let answering = run_limited(&app, &route, &slot, request, next).instrument(span.clone());
    let mut response = answering.await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    span.record("status", status);
    app.metrics.record_request(&route, method, status, took);
    if let Some(problem) = response.extensions().get::<ProblemLog>() {
        app.metrics.record_refusal(problem.slug);
    }
    let line = RequestLogLine {
        method,
        route: &route,
        status,
        took,
        organization: slot.organization(),
        token: slot.token(),
        problem: response.extensions().get::<ProblemLog>(),
    };
    log_request(&app, &line);
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        // After the permits were released: a delayed response takes no place from anybody.
        let _ = tokio::time::timeout(REFUSAL_DELAY, app.shutting_down.cancelled()).await;
    }
    let refused = response.status().is_client_error() || response.status().is_server_error();
    let headers = response.headers_mut();
    if has_body && refused {
        // A rejected body may be partly unread, and the client is still sending it. Closing the
        // connection keeps the rest from being parsed as the next request.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Web pages have a policy of their own: with this one, browsers send `Origin: null` with forms.
    headers
        .entry(REFERRER_POLICY)
        .or_insert(HeaderValue::from_static("no-referrer"));
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(DEFAULT_CONTENT_POLICY);
    response
}

/// Logs a request, and the state of the database if the request reveals it.
fn log_request(app: &AppState, line: &RequestLogLine<'_>) {
    let (log, now) = (&app.settings.log, app.clock.now());
    let is_probe = line.route == READY_ROUTE;
    let is_ending = app.shutting_down.is_cancelled();
    // While the process shuts down, 503 says nothing about the database.
    let is_away = line.status == 503 && !is_ending && (is_probe || line.is_internal_failure());
    // A known organization means that authentication reached the database.
    let was_asked = is_probe || line.organization.is_some();
    if is_away {
        log.log_database_state(now, true);
    } else if line.status < 500 && was_asked {
        log.log_database_state(now, false);
    }
    // Probes repeat every few seconds, and the change of state was logged above.
    if !(is_probe && is_away) {
        log.log_request(now, line);
    }
}

/// Runs a request within the load limit and the timeout, and converts a panic to an error response.
async fn run_limited(
    app: &AppState,
    route: &str,
    slot: &RequestSlot,
    mut request: Request,
    next: Next,
) -> Response {
    // Bound to a name, so the permit is held until the response is built.
    let permit = app.limiter.acquire_request();
    request.extensions_mut().insert(slot.clone());
    if permit.is_none() && !PROBE_ROUTES.contains(&route) {
        let detail = "the hub has reached its limit of concurrent requests; retry shortly";
        return Problem::unavailable(detail, RETRY_DELAY).into_response();
    }
    // Unwind safe: a transaction of a panicking handler is rolled back when it is dropped, and
    // shared locks recover from poison.
    let running = AssertUnwindSafe(next.run(request)).catch_unwind();
    let limit = app.limiter.limits().request_timeout;
    let ended = tokio::time::timeout(limit, running).await;
    // Before the body is sent: a slow download or a stream must not keep the organization's permit.
    slot.release();
    match ended {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            // The panic hook already logged the message, which may quote tenant data.
            let error = std::io::Error::other("a handler panicked");
            Problem::internal(&error).into_response()
        }
        Err(_) => {
            let seconds = limit.as_secs_f64();
            let detail = format!(
                "the request exceeded the timeout of {seconds} s and was canceled; send less at once, or retry"
            );
            Problem::unavailable(detail, RETRY_DELAY).into_response()
        }
    }
}

/// Returns the metric label of a method. Unknown methods share one label, so clients cannot create
/// new time series.
fn method_label(method: &Method) -> &'static str {
    [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
    ]
    .iter()
    .zip(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
    .find(|(known, _)| *known == method)
    .map_or("OTHER", |(_, name)| name)
}
