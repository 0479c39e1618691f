//! Approval endpoints: pending entries, and entries eligible for the whole organization.

use axum::Json;
use axum::extract::State;
use ken_core::json::EntryJson;
use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::EntryFacts;
use ken_core::values::kind::EntryKind;
use ken_mcp::ask::TEXT_BYTES_MAX;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::entries::EntryResponse;
use super::{check_length, open_session, parse_optional};
use crate::api::AppState;
use crate::api::body::{JsonBody, OptionalJsonBody, PathParams};
use crate::api::caller::{AtLeastCurator, RequireWorkspaceRole};
use crate::api::page::ListPage;
use crate::api::problem::Problem;
use crate::service::{self, ApprovalQueueItem, ApprovalRequest};

/// An entry that is pending approval.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Promotion, example = json!({"id": "L-7k2f5qm3", "ground": "fit", "kind": "learning",
    "statement": "Retry a payment once.", "artifact": "b3:…", "authors": ["agent:reviewer-1"], "sources": [],
    "confidence": 0.62, "independent": 2, "by_people": 0}))]
pub(super) struct PromotionResponse {
    id: String,
    ground: PendingReason,
    kind: &'static str,
    statement: String,
    /// Digest of the content to approve.
    artifact: String,
    /// Authors of the content, who cannot approve it. Empty unless an approval was requested.
    authors: Vec<String>,
    /// Entries it was made from.
    sources: Vec<String>,
    /// Posterior mean of the probability that using it helps.
    confidence: f64,
    /// Number of independent confirmations by agents.
    independent: u32,
    /// Number of confirmations by people.
    by_people: u32,
}

/// Reason for the approval. `held`: quarantined until approved (norms written by agents, entries
/// made from another memory). `promoted`: promoted to the organization in a clone. `fit`: eligible
/// for the whole organization because of its outcomes.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PendingReason)]
enum PendingReason {
    Held,
    Promoted,
    Fit,
}

/// Request body of an approval.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovalBody, example = json!({"artifact": "b3:…"}))]
pub(super) struct ApprovalBody {
    /// Digest of the content the approver read, from the list or the entry. The approval is
    /// refused if the content has changed since.
    #[schema(max_length = 128)]
    artifact: String,
    /// SSH signature over the digest, for repositories that require one.
    #[serde(default)]
    #[schema(nullable = false, max_length = 8192)]
    signature: Option<String>,
    /// Approves despite overridable objections: low confidence, too few confirmations,
    /// a statement about a single task.
    #[serde(default)]
    despite: bool,
}

/// Reason for a rejection.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RejectionBody, example = json!({"reason": "true for this service only"}))]
pub(super) struct RejectionBody {
    #[serde(default)]
    #[schema(nullable = false)]
    reason: Option<String>,
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_promotions))
        .routes(routes!(approve_promotion))
        .routes(routes!(reject_promotion))
}

/// Lists pending entries: quarantined ones, then those promoted in clones, then eligible ones by
/// confidence.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/promotions", operation_id = "list_promotions", tag = "inbox",
    security(("token" = ["curator"])), params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "Pending entries, at most 200 per reason. The remaining ones are listed after you decide on these.", body = ListPage<PromotionResponse>)))]
async fn list_promotions(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastCurator>,
) -> Result<Json<ListPage<PromotionResponse>>, Problem> {
    let mut session = open_session(&app, access).await?;
    let queue = service::load_approval_queue(&mut session).await?;
    let now = session.now();
    session.commit().await?;
    let requested = |ground| {
        move |pending: &ApprovalQueueItem| {
            let facts = EntryFacts::from_entry(&pending.entry, None, now);
            PromotionResponse {
                authors: pending.authors.iter().map(ToString::to_string).collect(),
                ..PromotionResponse::new(ground, &pending.entry, &facts, &pending.artifact)
            }
        }
    };
    let held = queue.pending.iter().map(requested(PendingReason::Held));
    let promoted = queue
        .promoted
        .iter()
        .map(requested(PendingReason::Promoted));
    let fit = queue.candidates.iter();
    let fit = fit
        .map(|it| PromotionResponse::new(PendingReason::Fit, &it.entry, &it.facts, &it.artifact));
    // One page without a cursor: each group is bounded, and deciding some entries makes room.
    Ok(Json(ListPage {
        items: held.chain(promoted).chain(fit).collect(),
        next: None,
    }))
}

impl PromotionResponse {
    fn new(ground: PendingReason, entry: &Entry, facts: &EntryFacts, artifact: &str) -> Self {
        let sources = entry
            .created
            .iter()
            .flat_map(|created| &created.promoted_from);
        Self {
            id: entry.id.to_string(),
            ground,
            kind: entry.kind().map_or("", EntryKind::name),
            statement: entry.statement_text().to_owned(),
            artifact: artifact.to_owned(),
            authors: Vec::new(),
            sources: sources.map(ToString::to_string).collect(),
            confidence: facts.posterior.mean(),
            independent: facts.confirmation.independent,
            by_people: facts.confirmation.manual,
        }
    }
}

/// Approves an entry: a pending one becomes visible, an eligible one reaches the organization.
///
/// Requires a person: the token of an agent is refused in any role.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/promotions/{entry}/approve", operation_id = "approve_promotion",
    tag = "inbox", security(("token" = ["curator"])), request_body = ApprovalBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The updated entry.", body = EntryResponse)))]
async fn approve_promotion(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastCurator>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<ApprovalBody>,
) -> Result<Json<EntryResponse>, Problem> {
    check_length("artifact", &body.artifact, TEXT_BYTES_MAX)?;
    let signature = body.signature.as_deref().unwrap_or_default();
    check_length("signature", signature, TEXT_BYTES_MAX)?;
    let approving = ApprovalRequest {
        artifact: body.artifact,
        signature: body.signature,
        overrides: body.despite,
    };
    let mut session = open_session(&app, access).await?;
    let entry = service::approve(&mut session, &wanted, approving).await?;
    session.commit().await?;
    Ok(Json(EntryResponse::new(&EntryJson::new(&entry))))
}

/// Rejects an approval. The entry keeps its scope; one that is pending is retracted.
///
/// Requires a person.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/promotions/{entry}/reject", operation_id = "reject_promotion",
    tag = "inbox", security(("token" = ["curator"])), request_body = RejectionBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The updated entry.", body = EntryResponse)))]
async fn reject_promotion(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastCurator>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    OptionalJsonBody(body): OptionalJsonBody<RejectionBody>,
) -> Result<Json<EntryResponse>, Problem> {
    let reason = parse_optional("reason", body.reason.as_deref())?;
    let mut session = open_session(&app, access).await?;
    let entry = service::reject(&mut session, &wanted, reason).await?;
    session.commit().await?;
    Ok(Json(EntryResponse::new(&EntryJson::new(&entry))))
}
