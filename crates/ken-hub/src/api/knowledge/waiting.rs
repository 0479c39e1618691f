//! What waits for an approval: knowledge fit for the whole organisation, and what nobody is shown without one.

use axum::Json;
use axum::extract::State;
use ken_core::entry::Entry;
use ken_core::facts::EntryFacts;
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
use crate::api::page::Page;
use crate::api::problem::Problem;
use crate::service::{self, Approving, Waiting};

/// An entry that waits for an approval.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Promotion, example = json!({"id": "L-7k2f5qm3", "ground": "fit", "kind": "learning",
    "statement": "Retry a payment once.", "artifact": "b3:…", "authors": ["agent:reviewer-1"], "sources": [],
    "confidence": 0.62, "independent": 2, "by_people": 0}))]
pub(super) struct PromotionTold {
    id: String,
    ground: GroundName,
    kind: &'static str,
    statement: String,
    /// The digest of what is approved.
    artifact: String,
    /// Who worded it: they may not approve it. Told where somebody asked for the approval.
    authors: Vec<String>,
    /// What it was made from.
    sources: Vec<String>,
    /// The mean of its posterior.
    confidence: f64,
    /// Who found it again: agents that had not seen it, and people.
    independent: u32,
    by_people: u32,
}

/// Why an entry waits: `held` before anybody is shown it (norms agents wrote, what was made from another memory),
/// `promoted` to everybody in a clone, or `fit` to reach the whole organisation by what came of it.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Ground)]
enum GroundName {
    Held,
    Promoted,
    Fit,
}

/// What somebody brings to approve an entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"artifact": "b3:…"}))]
pub(super) struct Approval {
    /// The digest of what they read, as it stands in the list and in the entry: refused where it reads otherwise now.
    #[schema(max_length = 128)]
    artifact: String,
    /// An SSH signature over it, for repositories that ask for one.
    #[serde(default)]
    #[schema(nullable = false, max_length = 8192)]
    signature: Option<String>,
    /// Whether they take upon themselves what is a matter of judgement: little confidence, too few who found it again,
    /// words of one task.
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

/// Lists what waits for an approval: what is held first, then what clones promoted, then what is fit, the surest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/promotions", operation_id = "list_promotions", tag = "waiting",
    security(("token" = ["curator"])), params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "What waits, at most two hundred on each ground: the rest comes up when they are settled.", body = Page<PromotionTold>)))]
async fn list_promotions(
    State(app): State<App>,
    it: InWorkspace<Curates>,
) -> Result<Json<Page<PromotionTold>>, Problem> {
    let mut desk = desk(&app, it).await?;
    let queue = service::queue(&mut desk).await?;
    let now = desk.now();
    desk.finish().await?;
    let asked = |ground| {
        move |it: &Waiting| {
            let facts = EntryFacts::of(&it.entry, None, now);
            PromotionTold {
                authors: it.authors.iter().map(ToString::to_string).collect(),
                ..PromotionTold::new(ground, &it.entry, &facts, &it.artifact)
            }
        }
    };
    let held = queue.waiting.iter().map(asked(GroundName::Held));
    let promoted = queue.promoted.iter().map(asked(GroundName::Promoted));
    let fit = queue.fit.iter();
    let fit = fit.map(|it| PromotionTold::new(GroundName::Fit, &it.entry, &it.facts, &it.artifact));
    Ok(Json(Page {
        items: held.chain(promoted).chain(fit).collect(),
        next: None,
    }))
}

impl PromotionTold {
    fn new(ground: GroundName, entry: &Entry, facts: &EntryFacts, artifact: &str) -> Self {
        let sources = entry.created.iter().flat_map(|it| &it.promoted_from);
        Self {
            id: entry.id.to_string(),
            ground,
            kind: entry.kind().map_or("", Kind::name),
            statement: entry.said().to_owned(),
            artifact: artifact.to_owned(),
            authors: Vec::new(),
            sources: sources.map(ToString::to_string).collect(),
            confidence: facts.posterior.mean(),
            independent: facts.confirmation.independent,
            by_people: facts.confirmation.manual,
        }
    }
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
    Ok(Json(EntryTold::new(&EntryObject::new(&entry))))
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
    Ok(Json(EntryTold::new(&EntryObject::new(&entry))))
}
