//! Probe listener: metrics, liveness and readiness, without a token.
//!
//! It has a thread, a runtime and a database connection of its own, so that a probe never waits
//! behind the work of a tenant. It must not be public.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::serve_on;
use crate::api::AppState;
use crate::api::health::{READY_ROUTE, healthz, readyz};
use crate::metrics::ScrapedCounts;

/// Serves probes on a thread of their own until `ending` is canceled. The result arrives when the
/// listener has ended.
pub(super) fn spawn(
    app: &AppState,
    listener: TcpListener,
    ending: CancellationToken,
) -> io::Result<oneshot::Receiver<io::Result<()>>> {
    let mut app = app.clone();
    // A connection belongs to the runtime that opened it.
    app.readiness = Arc::new(app.database.readiness_probe());
    let listener = listener.into_std()?;
    let (ended, receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name("ken-probes".to_owned());
    thread.spawn(move || {
        // The receiver is gone when the process gave up waiting; nothing is left to report then.
        let _ = ended.send(run(app, listener, ending));
    })?;
    Ok(receiver)
}

fn run(
    app: AppState,
    listener: std::net::TcpListener,
    ending: CancellationToken,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        let limits = *app.limiter.limits();
        serve_on(listener, router(app), limits, ending).await
    })
}

fn router(app: AppState) -> Router {
    Router::new()
        .route("/metrics", get(get_metrics))
        .route("/healthz", get(healthz))
        .route(READY_ROUTE, get(readyz))
        .with_state(app)
}

async fn get_metrics(State(app): State<AppState>) -> impl IntoResponse {
    let pool = app.database.pool();
    let text = app.metrics.render(ScrapedCounts {
        requests_in_flight: app.limiter.in_flight(),
        connections: pool.count(),
        connection_waits: pool.waits(),
        key_failures: app.identity.key_failures(),
    });
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
