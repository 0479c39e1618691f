//! Taking events: each line judged by itself, all that are admitted appended in one transaction.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ken_remote::wire::{Answered, PUSH_BYTES_MAX, PUSH_EVENTS_MAX, Push, Pushed, Verdict};

use crate::api::App;
use crate::api::body::JsonBody;
use crate::api::caller::{InWorkspace, Records};
use crate::api::problem::{Kind, Problem};
use crate::away::away;
use crate::service::{self, Sent, look};

/// Takes events. Each is answered by itself: admitted, known, quarantined, or refused with the reason.
///
/// All that are admitted are written together, or none. The same push may be sent again: what is there is known. The body
/// may be packed with gzip.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/events", operation_id = "push_events", tag = "events",
    security(("token" = ["agent"])), request_body = Push,
    params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "What became of each event, in their order.", body = Pushed)))]
pub(super) async fn push_events(
    State(app): State<App>,
    it: InWorkspace<Records>,
    JsonBody(push): JsonBody<Push, PUSH_BYTES_MAX>,
) -> Result<Json<Pushed>, Problem> {
    if PUSH_EVENTS_MAX < push.events.len() {
        let detail = format!("a push holds at most {PUSH_EVENTS_MAX} events; send fewer at once");
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    let sent = Sent::by(&it.caller, app.world.now());
    let guard = Arc::clone(&app.guard);
    let lines = move || look(&guard, push.events.iter().map(|it| it.get()), &sent);
    let looked = away(lines).await?;
    let workspace = it.workspace;
    let (database, house) = (&app.database, app.house());
    let taken = service::take(database, &house, it.caller, workspace, looked).await?;
    let (answers, cursor) = (taken.answers, taken.cursor);
    if taken.is_new {
        app.watch.grew(workspace);
    }
    count(&app, &answers);
    if !answers.is_empty() && answers.iter().all(|it| it.verdict == Verdict::Refused) {
        let told = serde_json::to_value(&answers).expect("answers are plain data");
        let detail = "every event was refused; `events` says why for each, and nothing was written";
        return Err(Problem::new(Kind::Refused, detail).with("events", told));
    }
    Ok(Json(Pushed {
        events: answers,
        cursor,
    }))
}

fn count(app: &App, answers: &[Answered]) {
    for (verdict, name) in [
        (Verdict::Admitted, "admitted"),
        (Verdict::Known, "known"),
        (Verdict::Quarantined, "quarantined"),
        (Verdict::Refused, "refused"),
    ] {
        let these = answers.iter().filter(|it| it.verdict == verdict).count();
        if these > 0 {
            app.metrics.events(name, these as u64);
        }
    }
}
