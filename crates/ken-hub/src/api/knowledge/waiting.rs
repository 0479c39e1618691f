//! What waits for an approval: knowledge fit for the whole organisation, and what nobody is shown without one.

use axum::Json;
use axum::extract::State;
use ken_core::kind::Kind;
use ken_core::object::EntryObject;
use ken_mcp::ask::TEXT_BYTES_MAX;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::entries::EntryTold;
use super::{check_text, desk, parsed};
use crate::api::App;
use crate::api::body::{InPath, JsonBody, OptionalBody};
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

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_promotions))
        .routes(routes!(approve_promotion))
        .routes(routes!(reject_promotion))
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
    OptionalBody(body): OptionalBody<Rejection>,
) -> Result<Json<EntryTold>, Problem> {
    let reason = parsed("reason", body.reason.as_deref())?;
    let mut desk = desk(&app, it).await?;
    let entry = service::reject(&mut desk, &wanted, reason).await?;
    desk.finish().await?;
    EntryTold::new(&EntryObject::new(&entry)).map(Json)
}
