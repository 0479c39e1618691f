//! Push endpoint: decides each line separately and appends all admitted events in one transaction.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ken_remote::wire::{EventVerdict, PushRequest, PushResponse, PushVerdict};

use ken_sign::AllowedSigners;

use crate::api::AppState;
use crate::api::body::JsonBody;
use crate::api::caller::{AtLeastAgent, RequireWorkspaceRole};
use crate::api::problem::{Kind, Problem};
use crate::blocking::run_blocking;
use crate::identity::AuthenticatedCaller;
use crate::service::{self, Pusher, screen_lines};

/// Route of a push, which may have a larger body than other requests.
pub(in crate::api) const PUSH_ROUTE: &str = "/v1/workspaces/{workspace}/events";

/// Accepts events. Each event gets its own verdict: admitted, known, quarantined or refused.
///
/// All admitted events are written in one transaction. A push can be repeated safely: events the
/// hub already has are answered as known. The body may be compressed with gzip.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/events", operation_id = "push_events", tag = "events",
    security(("token" = ["agent"])), request_body = PushRequest,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "One outcome per event, in request order.", body = PushResponse)))]
pub(super) async fn push_events(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    JsonBody(push): JsonBody<PushRequest>,
) -> Result<Json<PushResponse>, Problem> {
    let lines = push.events.iter().map(|line| line.get());
    let signers = load_signers(&app, &access.caller, lines).await?;
    let sender = Pusher::new(&access.caller, app.clock.now()).with_signers(signers.clone());
    let guard = Arc::clone(&app.guard);
    // Parsing and scanning up to 8 MiB is CPU-bound and would block the other requests of an async
    // worker thread. It also happens before the transaction, so no database lock is held meanwhile.
    let screen = move || screen_lines(&guard, push.events.iter().map(|line| line.get()), &sender);
    let screened = run_blocking(screen).await?;
    let workspace = access.workspace;
    let (database, mut context) = (&app.database, app.service_context());
    context.signers = signers;
    let outcome =
        service::add_decision(database, &context, access.caller, workspace, screened).await?;
    let (answers, cursor) = (outcome.answers, outcome.cursor);
    // After the commit: a stream woken earlier would not see the new events yet.
    if outcome.log_changed {
        app.log_notifier.notify(workspace);
    }
    count_verdicts(&app, &answers);
    // `all` is true of an empty push, which succeeds.
    if !answers.is_empty() && answers.iter().all(|it| it.verdict == PushVerdict::Refused) {
        let events = serde_json::to_value(&answers).expect("verdicts serialize to JSON");
        let detail = "every event was refused and nothing was written; `events` has the reasons";
        return Err(Problem::new(Kind::Refused, detail).with_member("events", events));
    }
    Ok(Json(PushResponse {
        events: answers,
        cursor,
    }))
}

/// Loads the signers of the caller's organization if an event of the push is signed.
async fn load_signers(
    app: &AppState,
    caller: &AuthenticatedCaller,
    mut lines: impl Iterator<Item = &str>,
) -> Result<Option<Arc<AllowedSigners>>, Problem> {
    // The mark of every SSH signature; most pushes have none and need no query.
    if !lines.any(|line| line.contains("BEGIN SSH SIGNATURE")) {
        return Ok(None);
    }
    let mut tx = app.database.begin_organization(caller.organization).await?;
    let text = tx.signers().await?;
    tx.commit().await?;
    Ok(text.map(|text| Arc::new(AllowedSigners::parse(&text))))
}

/// Adds the verdicts of a push to the metrics.
fn count_verdicts(app: &AppState, answers: &[EventVerdict]) {
    for (verdict, name) in [
        (PushVerdict::Admitted, "admitted"),
        (PushVerdict::Known, "known"),
        (PushVerdict::Quarantined, "quarantined"),
        (PushVerdict::Refused, "refused"),
    ] {
        let count = answers.iter().filter(|it| it.verdict == verdict).count();
        if count > 0 {
            app.metrics.record_events(name, count as u64);
        }
    }
}
