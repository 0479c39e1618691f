//! Liveness and readiness probes.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::AppState;
use super::problem::Problem;

/// Timeout of the readiness check's database query, also sent as `Retry-After`.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Result of a probe.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HealthResponse)]
pub(super) struct HealthResponse {
    /// `ok`
    status: &'static str,
}

const OK: Json<HealthResponse> = Json(HealthResponse { status: "ok" });

/// Reports that the process is alive.
///
/// Does not check the database: restarting the process does not repair a database outage.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "hub",
    responses((status = 200, description = "The process is alive.", body = HealthResponse)))]
pub(super) async fn healthz() -> Json<HealthResponse> {
    OK
}

/// Reports that the hub is ready: the database responds and the process is not shutting down.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "hub",
    responses((status = 200, description = "The hub is ready.", body = HealthResponse)))]
pub(super) async fn readyz(
    State(app): State<AppState>,
) -> Result<(StatusCode, Json<HealthResponse>), Problem> {
    let later = |detail: &str| Problem::unavailable(detail, DATABASE_TIMEOUT);
    // Load balancers must stop sending requests while those in flight still complete.
    if app.shutting_down.is_cancelled() {
        return Err(later("the hub is shutting down; use another instance"));
    }
    match tokio::time::timeout(DATABASE_TIMEOUT, app.database.pool().ping()).await {
        Ok(Ok(())) => Ok((StatusCode::OK, OK)),
        Ok(Err(_)) | Err(_) => Err(later("the database does not respond")),
    }
}
