//! Whether the hub lives, and whether it can answer.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::problem::Problem;

/// How long the database may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// How the hub is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`
    status: &'static str,
}

const OK: Json<Health> = Json(Health { status: "ok" });

/// The process lives.
///
/// Says nothing about the database: a process that cannot reach it is not made better by being started again.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "hub",
    responses((status = 200, description = "It lives.", body = Health)))]
pub(super) async fn healthz() -> Json<Health> {
    OK
}

/// The hub can answer: its database does, and it is not ending.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "hub",
    responses((status = 200, description = "It can answer.", body = Health)))]
pub(super) async fn readyz(State(app): State<App>) -> Result<(StatusCode, Json<Health>), Problem> {
    let later = |detail: &str| Problem::unavailable(detail, PATIENCE);
    if app.ending.is_cancelled() {
        return Err(later("the hub is ending; ask another one"));
    }
    match tokio::time::timeout(PATIENCE, app.database.pool().check()).await {
        Ok(Ok(())) => Ok((StatusCode::OK, OK)),
        Ok(Err(_)) | Err(_) => Err(later("the database does not answer")),
    }
}
