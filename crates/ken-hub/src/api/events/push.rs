//! Taking events: each line judged by itself, all that are admitted appended in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ken_core::event::{Body, Recorded};
use ken_core::id::EventId;
use ken_core::tombstone::Stones;
use ken_remote::wire::{Answered, Cursor, PUSH_BYTES_MAX, PUSH_EVENTS_MAX, Push, Pushed, Verdict};
use uuid::Uuid;

use super::judge::{Judged, Looked, Sent, Stored, decide, look};
use crate::api::App;
use crate::api::body::JsonBody;
use crate::api::caller::{InWorkspace, Records};
use crate::api::problem::{Kind, Problem};
use crate::database::Tenant;
use crate::identity::audit::Act;
use crate::store::{Outcome, StoreError};

/// Events that may wait in a workspace: more than anybody will look at.
const HELD_MAX: i64 = 10_000;

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
    let sent = Sent {
        actor: it.caller.actor.clone(),
        role: it.caller.role,
        now: app.world.now(),
    };
    let (guard, sender) = (Arc::clone(&app.guard), sent.clone());
    let lines = move || look(&guard, push.events.iter().map(|it| it.get()), &sender);
    let looked = blocking(lines).await?;
    let Pushed {
        events: answers,
        cursor,
    } = write(&app, &it, looked, &sent).await?;
    count(&app, &answers);
    if !answers.is_empty() && answers.iter().all(|it| it.verdict == Verdict::Refused) {
        let told = serde_json::to_value(&answers).unwrap_or_default();
        let detail = "every event was refused; `events` says why for each, and nothing was written";
        return Err(Problem::new(Kind::Refused, detail).with("events", told));
    }
    Ok(Json(Pushed {
        events: answers,
        cursor,
    }))
}

/// Runs what takes longer than a moment where nobody waits for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Problem::failed(&error))
}

/// Judges and writes in one transaction that holds the workspace's row from the beginning: what the hub has of an event
/// does not change between the judgement and the write. Answers in the order of the push.
async fn write(
    app: &App,
    it: &InWorkspace<Records>,
    looked: Vec<Looked>,
    sent: &Sent,
) -> Result<Pushed, Problem> {
    if looked.is_empty() {
        return Ok(told(Vec::new(), None));
    }
    let organisation = it.caller.organisation;
    let mut tenant = app.database.tenant(organisation, it.workspace).await?;
    tenant.lock().await?;
    let judged = judged(&mut tenant, looked, sent).await?;
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
    if copies.is_empty() && holds.is_empty() {
        let end = tenant.cursor().await?;
        tenant.rollback().await?;
        return Ok(told(answers, Some(end)));
    }
    hold(it, &mut tenant, &holds).await?;
    let end = if copies.is_empty() {
        tenant.cursor().await?
    } else {
        // What blanks makes nothing larger for long, and a full workspace must not keep a leak.
        let is_order = |copy: &Recorded| matches!(copy.event.body, Body::EventBlanked(_));
        let takes_room = !copies.iter().all(is_order);
        let appended = tenant.append(copies).await?;
        for ((n, id, quarantined), outcome) in places.iter().zip(&appended.outcomes) {
            answers[*n] = Some(appended_answer(*id, *quarantined, *outcome));
        }
        if takes_room && appended.outcomes.iter().any(|it| *it != Outcome::Known) {
            let room = tenant.room().await?;
            app.settings.quotas.check(&room)?;
        }
        appended.cursor
    };
    let subject = match places.len() + holds.len() {
        1 => "1 event".to_owned(),
        count => format!("{count} events"),
    };
    let act = Act::EventsPushed;
    tenant.audit(&it.caller, act, subject).await?;
    tenant.commit().await?;
    app.watch.grew(it.workspace);
    Ok(told(answers, Some(end)))
}

fn told(answers: Vec<Option<Answered>>, cursor: Option<Cursor>) -> Pushed {
    Pushed {
        events: answers.into_iter().flatten().collect(),
        cursor,
    }
}

/// Compares every line with what the hub has.
async fn judged(
    tenant: &mut Tenant,
    looked: Vec<Looked>,
    sent: &Sent,
) -> Result<Vec<Judged>, Problem> {
    let ids = looked.iter().filter_map(|line| match line {
        Looked::Event(copy, _) => Some(copy.event.id),
        Looked::Unreadable(_) => None,
    });
    let ids: Vec<EventId> = ids.collect();
    let stored = stored(tenant, &ids).await?;
    let proposes = |line: &Looked| match line {
        Looked::Event(copy, _) => {
            matches!(copy.event.body, Body::Proposed(_)) && !copy.event.by.is_human()
        }
        Looked::Unreadable(_) => false,
    };
    let stones = match looked.iter().any(proposes) {
        true => Stones::new(tenant.tombstones().await?),
        false => Stones::default(),
    };
    let nothing = Stored::default();
    let one = |line: Looked| {
        let known = match &line {
            Looked::Event(copy, _) => stored.get(&copy.event.id),
            Looked::Unreadable(_) => None,
        };
        decide(line, known.unwrap_or(&nothing), &stones, sent)
    };
    Ok(looked.into_iter().map(one).collect())
}

/// Asks what the hub has of these events.
async fn stored(
    tenant: &mut Tenant,
    events: &[EventId],
) -> Result<BTreeMap<EventId, Stored>, Problem> {
    let mut stored: BTreeMap<EventId, Stored> = BTreeMap::new();
    let ids: Vec<Uuid> = events
        .iter()
        .map(|id| Uuid::from_bytes(id.to_bytes()))
        .collect();
    let key = tenant.workspace_id().0;
    for (table, column) in [("events", "id"), ("held", "event")] {
        let query = format!(
            "SELECT {column}, line FROM ken.{table} WHERE workspace_id = $1 AND {column} = ANY ($2)"
        );
        let rows: Vec<(Uuid, String)> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(key)
            .bind(&ids)
            .fetch_all(tenant.connection())
            .await?;
        for (id, line) in rows {
            let one = stored
                .entry(EventId::from_bytes(id.into_bytes()))
                .or_default();
            if table == "held" {
                one.held = Some(line);
            } else {
                let copy = Recorded::parse(line.as_bytes());
                one.logged = Some(copy.map_err(|error| StoreError::Damaged(error.to_string()))?);
            }
        }
    }
    Ok(stored)
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
        // Only a curator's other form comes as far as this; the one that waited is not what it said it was.
        tenant.discard(copy.event.id).await?;
        tenant.hold(copy, why, &by).await?;
    }
    Ok(())
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
