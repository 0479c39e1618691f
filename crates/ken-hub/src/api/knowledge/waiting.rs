//! What waits for a person: knowledge fit for the whole organisation, what needs an approval, lines the hub held back.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ken_core::id::EventId;
use ken_core::kind::Kind;
use ken_core::object::EntryObject;
use ken_mcp::ask::TEXT_BYTES_MAX;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::entries::EntryTold;
use super::{check_text, desk, parsed};
use crate::api::App;
use crate::api::body::{InPath, JsonBody};
use crate::api::caller::{Curates, InWorkspace};
use crate::api::problem::Problem;
use crate::service::{self, Approving};

/// What waits for a person, `ken.promotions.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Promotions, example = json!({"schema": "ken.promotions.v1", "fit": [{"id": "L-7k2f5qm3", "kind": "learning",
    "statement": "Retry a payment once.", "confidence": 0.62, "independent": 2, "by_people": 0}], "waiting": []}))]
pub(super) struct PromotionsTold {
    schema: &'static str,
    /// Fit to reach the whole organisation, the surest first.
    fit: Vec<FitTold>,
    /// Waiting for an approval before anybody is shown it.
    waiting: Vec<WaitingTold>,
}

/// An entry fit to reach the whole organisation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Fit)]
pub(super) struct FitTold {
    id: String,
    kind: &'static str,
    statement: String,
    /// The digest of what is approved.
    artifact: String,
    /// The mean of its posterior.
    confidence: f64,
    /// Who found it again: agents that had not seen it, and people.
    independent: u32,
    by_people: u32,
}

/// An entry that waits for an approval, `ken.waiting.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Waiting)]
pub(super) struct WaitingTold {
    schema: &'static str,
    id: String,
    kind: &'static str,
    statement: String,
    /// What it was made from.
    sources: Vec<String>,
    /// Who worded it: they may not approve it.
    authors: Vec<String>,
    /// The digest of what is approved.
    artifact: String,
}

/// What somebody brings to approve an entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"artifact": "b3:…"}))]
pub(super) struct Approval {
    /// The digest of what they read, as it stands in the queue: refused where it reads otherwise now.
    #[schema(max_length = 128)]
    artifact: String,
    /// An SSH signature over it, for repositories that ask for one.
    #[serde(default)]
    #[schema(nullable = false, max_length = 8192)]
    signature: Option<String>,
    /// Whether they take upon themselves what is a matter of judgement.
    #[serde(default)]
    despite: bool,
}

/// Why something is rejected.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "holds for this service only"}))]
pub(super) struct Rejection {
    #[serde(default)]
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Lines that wait, the oldest first, `ken.hub_held.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HeldLines)]
pub(super) struct HeldTold {
    schema: &'static str,
    held: Vec<HeldLine>,
}

/// A line the hub held back: it is in no log until somebody lets it in.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HeldLine {
    /// The event's id.
    id: String,
    /// Why it was held.
    why: String,
    /// Whose token brought it.
    by: String,
    at: String,
    /// The event.
    #[schema(value_type = Object)]
    event: Value,
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_promotions))
        .routes(routes!(approve_promotion))
        .routes(routes!(reject_promotion))
        .routes(routes!(list_held))
        .routes(routes!(release_held))
        .routes(routes!(discard_held))
}

/// Lists what waits for a person.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/promotions", operation_id = "list_promotions", tag = "waiting",
    security(("token" = ["curator"])), params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "What waits, at most two hundred of either sort.", body = PromotionsTold)))]
async fn list_promotions(
    State(app): State<App>,
    it: InWorkspace<Curates>,
) -> Result<Json<PromotionsTold>, Problem> {
    let mut desk = desk(&app, it).await?;
    let queue = service::queue(&mut desk).await?;
    desk.finish().await?;
    let fit = queue.fit.iter().map(|it| FitTold {
        id: it.entry.id.to_string(),
        kind: it.entry.kind().map_or("", Kind::name),
        statement: it.entry.said().to_owned(),
        artifact: it.artifact.clone(),
        confidence: it.facts.posterior.mean(),
        independent: it.facts.confirmation.independent,
        by_people: it.facts.confirmation.manual,
    });
    let waiting = queue.waiting.iter().map(|it| {
        let created = it.entry.created.iter();
        let sources = created.flat_map(|it| &it.promoted_from);
        WaitingTold {
            schema: "ken.waiting.v1",
            id: it.entry.id.to_string(),
            kind: it.entry.kind().map_or("", Kind::name),
            statement: it.entry.said().to_owned(),
            sources: sources.map(ToString::to_string).collect(),
            authors: it.authors.iter().map(ToString::to_string).collect(),
            artifact: it.artifact.clone(),
        }
    });
    Ok(Json(PromotionsTold {
        schema: "ken.promotions.v1",
        fit: fit.collect(),
        waiting: waiting.collect(),
    }))
}

/// Lets an entry reach the whole organisation, or out to agents where it waits for an approval. For people: a token that
/// speaks for an agent is refused, whatever its role.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/promotions/{entry}/approve", operation_id = "approve_promotion",
    tag = "waiting", security(("token" = ["curator"])), request_body = Approval, params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("entry" = String, Path, description = "Its id, an unambiguous beginning, or its alias.")),
    responses((status = 200, description = "The entry as it is now.", body = EntryTold)))]
async fn approve_promotion(
    State(app): State<App>,
    it: InWorkspace<Curates>,
    InPath((_, wanted)): InPath<(String, String)>,
    JsonBody(body): JsonBody<Approval>,
) -> Result<Json<EntryTold>, Problem> {
    check_text("artifact", &body.artifact, TEXT_BYTES_MAX)?;
    let signature = body.signature.as_deref().unwrap_or_default();
    check_text("signature", signature, TEXT_BYTES_MAX)?;
    let approving = Approving {
        artifact: body.artifact,
        signature: body.signature,
        despite: body.despite,
    };
    let mut desk = desk(&app, it).await?;
    let entry = service::approve(&mut desk, &wanted, approving).await?;
    desk.finish().await?;
    EntryTold::new(&EntryObject::new(&entry)).map(Json)
}

/// Says that an entry stays where it is; one that waits for an approval is taken back. For people.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/promotions/{entry}/reject", operation_id = "reject_promotion",
    tag = "waiting", security(("token" = ["curator"])), request_body = Rejection, params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("entry" = String, Path, description = "Its id, an unambiguous beginning, or its alias.")),
    responses((status = 200, description = "The entry as it is now.", body = EntryTold)))]
async fn reject_promotion(
    State(app): State<App>,
    it: InWorkspace<Curates>,
    InPath((_, wanted)): InPath<(String, String)>,
    JsonBody(body): JsonBody<Rejection>,
) -> Result<Json<EntryTold>, Problem> {
    let reason = parsed("reason", body.reason.as_deref())?;
    let mut desk = desk(&app, it).await?;
    let entry = service::reject(&mut desk, &wanted, reason).await?;
    desk.finish().await?;
    EntryTold::new(&EntryObject::new(&entry)).map(Json)
}

/// Lists lines the hub held back, the oldest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/held", operation_id = "list_held", tag = "waiting",
    security(("token" = ["curator"])), params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "What waits.", body = HeldTold)))]
async fn list_held(
    State(app): State<App>,
    it: InWorkspace<Curates>,
) -> Result<Json<HeldTold>, Problem> {
    let mut desk = desk(&app, it).await?;
    let held = service::held(&mut desk).await?;
    desk.finish().await?;
    let told = held.into_iter().map(|it| HeldLine {
        id: it.copy.event.id.to_string(),
        why: it.why,
        by: it.by,
        at: it.at.to_string(),
        event: serde_json::from_str(it.copy.line()).unwrap_or_default(),
    });
    Ok(Json(HeldTold {
        schema: "ken.hub_held.v1",
        held: told.collect(),
    }))
}

/// Lets a line into the log as it was written. For people; what today's rules refuse outright stays out.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/held/{event}/release", operation_id = "release_held",
    tag = "waiting", security(("token" = ["curator"])), params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("event" = String, Path, description = "The event's id.")),
    responses((status = 204, description = "It is in the log.")))]
async fn release_held(
    State(app): State<App>,
    it: InWorkspace<Curates>,
    InPath((_, event)): InPath<(String, String)>,
) -> Result<StatusCode, Problem> {
    let id = event_id(&event)?;
    let mut desk = desk(&app, it).await?;
    service::release(&mut desk, id).await?;
    desk.finish().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Throws a line away. For people; whoever pushes it again brings it back.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/held/{event}/discard", operation_id = "discard_held",
    tag = "waiting", security(("token" = ["curator"])), params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("event" = String, Path, description = "The event's id.")),
    responses((status = 204, description = "It is gone.")))]
async fn discard_held(
    State(app): State<App>,
    it: InWorkspace<Curates>,
    InPath((_, event)): InPath<(String, String)>,
) -> Result<StatusCode, Problem> {
    let id = event_id(&event)?;
    let mut desk = desk(&app, it).await?;
    service::discard(&mut desk, id).await?;
    desk.finish().await?;
    Ok(StatusCode::NO_CONTENT)
}

fn event_id(text: &str) -> Result<EventId, Problem> {
    let id = text.to_ascii_uppercase().parse();
    id.map_err(|_| Problem::not_found("line that waits"))
}
