//! What lies around every request: a place, a time limit, a span, counting, headers, and a net under it.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CONNECTION, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use tower_http::compression::CompressionLayer;
use tower_http::decompression::RequestDecompressionLayer;
use tracing::Instrument as _;

use crate::api::App;
use crate::api::problem::{Problem, Trouble};
use crate::serve::limits::Slot;
use crate::serve::log::Line;

/// What pages that say nothing else may load: nothing.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; base-uri 'none'");

/// Addresses that are answered however much is under way: who asks them decides whether the hub is well.
const ALWAYS: [&str; 2] = ["/healthz", READY];

/// Where is asked whether the database answers.
const READY: &str = "/readyz";

/// When somebody comes again who found no place.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// Lays limits, counting and packing around a router.
pub(super) fn around(router: Router, app: App) -> Router {
    router
        // What is packed in another way goes on as it is, and is refused with a problem.
        .layer(RequestDecompressionLayer::new().pass_through_unaccepted(true))
        .layer(from_fn_with_state(app, watched))
        .layer(CompressionLayer::new())
}

async fn watched(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("none", MatchedPath::as_str).to_owned();
    let method = known_method(request.method());
    let has_body = !request.body().is_end_stream();
    let span = tracing::info_span!(
        "hub_request",
        route = route.as_str(),
        method,
        status = tracing::field::Empty
    );
    let slot = Slot::default();
    let answering = answered(&app, &route, &slot, request, next).instrument(span.clone());
    let mut response = answering.await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    span.record("status", status);
    app.metrics.answered(&route, method, status, took);
    let line = Line {
        method,
        route: &route,
        status,
        took,
        organisation: slot.organisation(),
        trouble: response.extensions().get::<Trouble>(),
    };
    tell(&app, &line);
    let refused = response.status().is_client_error() || response.status().is_server_error();
    let headers = response.headers_mut();
    if has_body && refused {
        // What was not read of the body would be taken for the next request: the sender is told to begin anew.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    response
}

/// Writes a request down, and whether the database answers, where this one shows it.
fn tell(app: &App, line: &Line<'_>) {
    let (log, now) = (&app.settings.log, app.world.now());
    let is_probe = line.route == READY;
    let is_ending = app.ending.is_cancelled();
    let is_away = line.status == 503 && !is_ending && (is_probe || line.is_databases());
    let was_asked = is_probe || line.organisation.is_some();
    if is_away {
        log.database(now, true);
    } else if line.status < 500 && was_asked {
        log.database(now, false);
    }
    // Whoever asks this asks it every few seconds; that the database went was said.
    if !(is_probe && is_away) {
        log.answered(now, line);
    }
}

async fn answered(
    app: &App,
    route: &str,
    slot: &Slot,
    mut request: Request,
    next: Next,
) -> Response {
    let place = app.load.request();
    request.extensions_mut().insert(slot.clone());
    if place.is_none() && !ALWAYS.contains(&route) {
        let detail = "more requests are under way than the hub can take; come again shortly";
        return Problem::unavailable(detail, COME_AGAIN).into_response();
    }
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
    let limit = app.load.limits().request;
    let answer = tokio::time::timeout(limit, answer).await;
    slot.free();
    match answer {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            // What the panic said is in the log already, by the hook; it may quote anything.
            let error = std::io::Error::other("a handler panicked");
            Problem::failed(&error).into_response()
        }
        Err(_) => {
            let seconds = limit.as_secs_f64();
            let detail = format!(
                "the request took longer than {seconds} s and was given up; send less at once, or come again"
            );
            Problem::unavailable(detail, COME_AGAIN).into_response()
        }
    }
}

/// Names a method by one of the words we know, so that nobody can make up metrics.
fn known_method(method: &Method) -> &'static str {
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
