//! Taking events: each line judged by itself, all that are admitted appended in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ken_core::event::Recorded;
use ken_core::id::EventId;
use ken_remote::wire::{Answered, PUSH_BYTES_MAX, PUSH_EVENTS_MAX, Push, Pushed, Verdict};
use uuid::Uuid;

use super::judge::{Judged, Read, Sent, judge, read};
use crate::api::App;
use crate::api::body::JsonBody;
use crate::api::caller::{InWorkspace, Records};
use crate::api::problem::{Kind, Problem};
use crate::api::quota;
use crate::database::Tenant;
use crate::identity::Role;
use crate::identity::audit::Act;
use crate::store::Outcome;

/// Events that may wait in a workspace: more than anybody will look at.
const HELD_MAX: i64 = 10_000;

/// What the hub has of the events of a push.
#[derive(Debug, Default)]
struct Stored {
    events: BTreeMap<EventId, Recorded>,
    held: BTreeSet<EventId>,
}

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
    let lines = blocking(move || read(push.events.iter().map(|it| it.get()))).await?;
    let stored = stored(&app, &it, &lines).await?;
    let sent = Sent {
        role: it.caller.role,
        now: app.world.now(),
    };
    let guard = Arc::clone(&app.guard);
    let judged = blocking(move || judge(&guard, lines, &stored.events, &stored.held, sent)).await?;
    let answers = write(&app, &it, judged).await?;
    count(&app, &answers);
    if !answers.is_empty() && answers.iter().all(|it| it.verdict == Verdict::Refused) {
        let told = serde_json::to_value(&answers).unwrap_or_default();
        let detail = "every event was refused; `events` says why for each, and nothing was written";
        return Err(Problem::new(Kind::Refused, detail).with("events", told));
    }
    Ok(Json(Pushed { events: answers }))
}

/// Runs what takes longer than a moment where nobody waits for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Problem::failed(&error))
}

/// Asks what the hub has of these events, in a transaction of its own: the guard takes its time.
async fn stored(app: &App, it: &InWorkspace<Records>, lines: &[Read]) -> Result<Stored, Problem> {
    let events: Vec<EventId> = lines
        .iter()
        .filter_map(|line| match line {
            Read::Event(copy) => Some(copy.event.id),
            Read::Refused(_) => None,
        })
        .collect();
    let mut stored = Stored::default();
    if events.is_empty() {
        return Ok(stored);
    }
    let ids: Vec<Uuid> = events
        .iter()
        .map(|id| Uuid::from_bytes(id.to_bytes()))
        .collect();
    let organisation = it.caller.organisation;
    let mut tenant = app.database.log(organisation, it.workspace).await?;
    let found: Vec<String> =
        sqlx::query_scalar("SELECT line FROM ken.events WHERE workspace_id = $1 AND id = ANY ($2)")
            .bind(it.workspace.0)
            .bind(&ids)
            .fetch_all(tenant.connection())
            .await?;
    stored.held = tenant.held_among(&events).await?.into_iter().collect();
    tenant.commit().await?;
    let copies = found
        .iter()
        .filter_map(|line| Recorded::parse(line.as_bytes()).ok());
    stored.events = copies.map(|copy| (copy.event.id, copy)).collect();
    Ok(stored)
}

/// Writes what was judged, in one transaction, and answers in the order of the push.
async fn write(
    app: &App,
    it: &InWorkspace<Records>,
    judged: Vec<Judged>,
) -> Result<Vec<Answered>, Problem> {
    let mut answers: Vec<Option<Answered>> = Vec::with_capacity(judged.len());
    let (mut copies, mut places, mut holds) = (Vec::new(), Vec::new(), Vec::new());
    for (n, one) in judged.into_iter().enumerate() {
        match one {
            Judged::Settled(answer) => answers.push(Some(answer)),
            Judged::Append(copy) => {
                places.push((n, copy.event.id, copy.event.is_quarantined()));
                copies.push(*copy);
                answers.push(None);
            }
            Judged::Hold(copy, why) => {
                answers.push(Some(Answered {
                    id: Some(copy.event.id),
                    verdict: Verdict::Quarantined,
                    reason: Some(format!("it waits for a curator of this hub: {why}")),
                }));
                holds.push((copy, why));
            }
        }
    }
    if !copies.is_empty() || !holds.is_empty() {
        let organisation = it.caller.organisation;
        let mut tenant = app.database.tenant(organisation, it.workspace).await?;
        hold(it, &mut tenant, &holds).await?;
        if !copies.is_empty() {
            let appended = tenant.append(copies).await?;
            for ((n, id, quarantined), outcome) in places.iter().zip(&appended.outcomes) {
                answers[*n] = Some(appended_answer(*id, *quarantined, *outcome));
            }
            let new = |outcome: &&Outcome| **outcome == Outcome::New;
            let grown = appended.outcomes.iter().filter(new).count();
            room(app, &mut tenant, grown).await?;
        }
        // Events carry who wrote them; who sent them in other people's names is noted here.
        if Role::Curator <= it.caller.role {
            let (by, count) = (it.caller.actor.to_string(), places.len() + holds.len());
            let subject = format!("{count} events");
            let act = Act::EventsPushed.name();
            tenant.audit((&by, it.caller.role), act, &subject).await?;
        }
        tenant.commit().await?;
        app.watch.grew(it.workspace);
    }
    Ok(answers.into_iter().flatten().collect())
}

fn appended_answer(id: EventId, quarantined: bool, outcome: Outcome) -> Answered {
    let (verdict, reason) = match outcome {
        Outcome::Known => (Verdict::Known, None),
        Outcome::New | Outcome::Better if quarantined => {
            let reason = "it was quarantined where it was written; a person has to look at it";
            (Verdict::Quarantined, Some(reason.to_owned()))
        }
        Outcome::New | Outcome::Better => (Verdict::Admitted, None),
    };
    Answered {
        id: Some(id),
        verdict,
        reason,
    }
}

/// Keeps events beside the log until a curator looked at them.
async fn hold(
    it: &InWorkspace<Records>,
    tenant: &mut Tenant,
    holds: &[(Box<Recorded>, String)],
) -> Result<(), Problem> {
    if holds.is_empty() {
        return Ok(());
    }
    let waiting: i64 = sqlx::query_scalar("SELECT count(*) FROM ken.held WHERE workspace_id = $1")
        .bind(it.workspace.0)
        .fetch_one(tenant.connection())
        .await?;
    if HELD_MAX < waiting + i64::try_from(holds.len()).unwrap_or(i64::MAX) {
        let detail = format!(
            "{waiting} events wait for a curator here; they have to be looked at before more may wait"
        );
        return Err(Problem::new(Kind::Quota, detail));
    }
    let by = it.caller.actor.to_string();
    for (copy, why) in holds {
        tenant.hold(copy, why, &by).await?;
    }
    Ok(())
}

/// Undoes a push that would make the workspace larger than it may be; the row is held since the append.
async fn room(app: &App, tenant: &mut Tenant, grown: usize) -> Result<(), Problem> {
    if grown == 0 {
        return Ok(());
    }
    let (organisation, workspace) = (tenant.organisation().0, tenant.workspace_id().0);
    let (events, own): (i64, Option<i64>) = sqlx::query_as(
        "SELECT w.events, o.events_max FROM ken.workspaces w
         JOIN ken.organisations o ON o.id = w.organisation_id
         WHERE w.organisation_id = $1 AND w.id = $2",
    )
    .bind(organisation)
    .bind(workspace)
    .fetch_one(tenant.connection())
    .await?;
    let max = own.map_or(app.settings.quotas.events, i64::unsigned_abs);
    quota::refuse_beyond("events in this workspace", events.unsigned_abs(), max)
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
