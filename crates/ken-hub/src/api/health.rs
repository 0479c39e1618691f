//! Liveness and readiness probes.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::AppState;
use super::problem::Problem;

/// Route of the readiness probe.
pub(crate) const READY_ROUTE: &str = "/readyz";

/// Routes of the probes, which need no token and are exempt from the load limits: an orchestrator
/// would restart a busy hub as a dead one.
pub(crate) const PROBE_ROUTES: [&str; 2] = ["/healthz", READY_ROUTE];

/// Timeout of the readiness check's database query, also sent as `Retry-After`.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Result of a probe.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HealthResponse)]
pub(crate) struct HealthResponse {
    /// `ok`
    status: &'static str,
}

const OK: Json<HealthResponse> = Json(HealthResponse { status: "ok" });

/// Reports that the process is alive.
///
/// Does not check the database: restarting the process does not repair a database outage.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "hub",
    responses((status = 200, description = "The process is alive.", body = HealthResponse)))]
pub(crate) async fn healthz() -> Json<HealthResponse> {
    OK
}

/// Reports that the hub is ready: the database responds and the process is not shutting down.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "hub",
    responses((status = 200, description = "The hub is ready.", body = HealthResponse)))]
pub(crate) async fn readyz(
    State(app): State<AppState>,
) -> Result<(StatusCode, Json<HealthResponse>), Problem> {
    let later = |detail: &str| Problem::unavailable(detail, DATABASE_TIMEOUT);
    // Load balancers must stop sending requests while those in flight still complete.
    if app.shutting_down.is_cancelled() {
        return Err(later("the hub is shutting down; use another instance"));
    }
    match tokio::time::timeout(DATABASE_TIMEOUT, app.readiness.check()).await {
        Ok(Ok(())) => Ok((StatusCode::OK, OK)),
        Ok(Err(_)) | Err(_) => Err(later("the database does not respond")),
    }
}
