//! Federation endpoints: the files of publications for other organizations, and the review of what
//! peers sent.

use axum::Json;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use ken_core::federation::{DECISIONS_MAX, RejectReason};
use ken_core::ledger::event::Feedback;
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::AppState;
use super::body::{JsonBody, PathParams, QueryParams};
use super::caller::{AtLeastCurator, RequireRole, authenticate};
use super::page::ListPage;
use super::problem::{Kind, MEDIA_TYPE, Problem, ProblemBody};
use crate::service::federation::{
    HubFederationError, PeerDecision, PeerEntry, approve_peer_entries, list_peer_entries,
    rate_peer_entry, read_publication_file, reject_peer_entries,
};
use crate::store::{PeerRow, PeerVerdict, PublicationAudience};

/// Maximum number of readers without a token that use the database at the same time.
///
/// No rate limit of a token counts them, so they share a few places and leave the others to
/// callers.
const ANONYMOUS_READERS_MAX: usize = 4;

/// Places of readers without a token.
static ANONYMOUS_READERS: Semaphore = Semaphore::const_new(ANONYMOUS_READERS_MAX);

/// A peer: a publication of another organization.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PeerResponse)]
pub(super) struct PeerResponse {
    #[schema(example = "acme")]
    name: String,
    publisher: String,
    publication: String,
    /// Folder or address of its files.
    source: String,
    /// Hops from the publisher.
    hops: u8,
    /// The reason of a suspension. Nothing of a suspended peer is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    suspended: Option<String>,
    /// 10th percentile of what people observed.
    trust: f64,
    /// Mean of the same.
    mean: f64,
    /// Factor of the scores of its entries.
    weight: f64,
    /// Time until which its publisher vouches for it, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<String>,
    /// Time of the last pull.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pulled_at: Option<String>,
    /// The reason why the last pull stopped before the newest batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stopped: Option<String>,
    /// Number of accepted lines.
    lines: u64,
    /// Number of entries that wait for a person.
    waiting: u64,
}

/// The peers of an organization.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PeersResponse)]
pub(super) struct PeersResponse {
    items: Vec<PeerResponse>,
}

/// An entry of a peer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PeerEntryResponse)]
pub(super) struct PeerEntryResponse {
    #[schema(example = "L-7k2f5qm3")]
    id: String,
    kind: &'static str,
    /// Everything that an approval covers; null if the publisher redacted it.
    #[schema(value_type = Option<Object>)]
    content: Option<Content>,
    /// The day on which this hub first accepted it.
    first_seen: String,
    verdict: &'static str,
    /// Digest of the content to approve.
    artifact: String,
}

/// Query of a list of a peer's entries.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct PeerEntriesParams {
    /// Only entries with this verdict: waiting, approved or rejected.
    #[serde(default)]
    #[param(nullable = false, example = "waiting")]
    verdict: Option<String>,
    /// Maximum number of items.
    #[serde(default)]
    #[param(minimum = 1, maximum = 200, default = 50, nullable = false)]
    limit: Option<u32>,
    /// Value of `next` of the page before.
    #[serde(default)]
    #[param(nullable = false)]
    after: Option<String>,
}

/// Request body that approves entries of a peer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovePeerEntriesBody)]
pub(super) struct ApproveBody {
    /// The entries, each with the digest of the content that the approver read.
    #[schema(max_items = 500)]
    entries: Vec<ApprovedEntry>,
}

/// One approval.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovedPeerEntry)]
struct ApprovedEntry {
    #[schema(example = "L-7k2f5qm3")]
    id: String,
    #[schema(max_length = 128)]
    artifact: String,
}

/// Request body that rejects entries of a peer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RejectPeerEntriesBody, example = json!({"ids": ["L-7k2f5qm3"], "reason": "false"}))]
pub(super) struct RejectBody {
    /// Ids of the entries.
    #[schema(max_items = 500)]
    ids: Vec<String>,
    /// `false`: the claim is wrong. `unwanted`: it is of no use here.
    reason: ReasonParam,
}

/// Why entries are rejected.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PeerRejectReason)]
enum ReasonParam {
    False,
    Unwanted,
}

/// Request body that rates an entry of a peer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RatePeerEntryBody, example = json!({"verdict": "helpful"}))]
pub(super) struct RateBody {
    verdict: RatingParam,
}

/// Whether an entry held here.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PeerEntryRating)]
enum RatingParam {
    Helpful,
    Unhelpful,
}

/// Number of entries that were decided or counted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DecidedPeerEntries)]
pub(super) struct DecidedResponse {
    count: usize,
}

impl From<HubFederationError> for Problem {
    fn from(error: HubFederationError) -> Self {
        let text = error.to_string();
        match error {
            HubFederationError::Service(error) => (*error).into(),
            HubFederationError::Store(error) => error.into(),
            HubFederationError::BrokenOff(error) => error.into(),
            HubFederationError::NoPeer(_) => Self::not_found("peer"),
            HubFederationError::NoPublication(_) => Self::not_found("publication"),
            HubFederationError::NotWaiting(id) => Self::new(
                Kind::Conflict,
                format!(
                    "{id} does not wait for this decision: it was decided, or its publisher took it back"
                ),
            ),
            HubFederationError::Name(_)
            | HubFederationError::Exists(_)
            | HubFederationError::TooManyPublications(_)
            | HubFederationError::TooManyPeers(_)
            | HubFederationError::NoTopic
            | HubFederationError::Expiry(_)
            | HubFederationError::Closed(_)
            | HubFederationError::PersonNeeded
            | HubFederationError::OtherPublisher { .. }
            | HubFederationError::Signing(_)
            | HubFederationError::Blocked { .. }
            | HubFederationError::Batch { .. }
            | HubFederationError::Read(_)
            | HubFederationError::NothingThere(_)
            | HubFederationError::Key
            | HubFederationError::OtherKey
            | HubFederationError::OwnPublication
            | HubFederationError::OtherPublication { .. }
            | HubFederationError::NoRelay
            | HubFederationError::Hops(_)
            | HubFederationError::TokenVariable => Self::new(Kind::Refused, text),
        }
    }
}

impl PeerResponse {
    fn new(row: PeerRow) -> Self {
        let weight = ken_core::federation::foreign_weight(row.trust, row.hops, row.weight_max);
        Self {
            name: row.name,
            publisher: row.publisher,
            publication: row.publication,
            source: row.source,
            hops: row.hops,
            suspended: row.suspended,
            trust: row.trust,
            mean: row.mean,
            weight,
            expires_at: row.expires_at.map(|it| it.to_string()),
            pulled_at: row.pulled_at.map(|it| it.to_string()),
            stopped: row.stopped,
            lines: row.lines,
            waiting: row.waiting,
        }
    }
}

impl PeerEntryResponse {
    fn new(found: &PeerEntry) -> Self {
        Self {
            id: found.entry.id.to_string(),
            kind: found.entry.kind().map_or("", |it| it.name()),
            content: found.entry.content.clone(),
            first_seen: found.first_seen.to_string(),
            verdict: found.verdict.name(),
            artifact: found.artifact.clone(),
        }
    }
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_publication_file))
        .routes(routes!(get_publication_batch))
        .routes(routes!(list_peers))
        .routes(routes!(list_entries))
        .routes(routes!(approve_entries))
        .routes(routes!(reject_entries))
        .routes(routes!(rate_entry))
}

/// Returns a file of a publication: `publication.json`, `head.json` or `orders.jsonl`.
///
/// A public publication needs no token. The others need a token of their organization, the role
/// `peer` is enough; without one the answer is that of a missing publication.
#[utoipa::path(get, path = "/federation/v1/{publisher}/{publication}/{file}", operation_id = "get_publication_file",
    tag = "federation", security((), ("token" = ["peer"])), params(
        ("publisher" = String, Path, description = "Id of the publisher."),
        ("publication" = String, Path, description = "Name of the publication."),
        ("file" = String, Path, description = "Name of the file.")),
    responses((status = 200, description = "The file.", body = String, content_type = "application/json"),
        (status = 404, description = "There is no such file, or it is not for the caller.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_publication_file(
    State(app): State<AppState>,
    PathParams((publisher, publication, file)): PathParams<(String, String, String)>,
    parts: Parts,
) -> Result<Response, Problem> {
    serve_file(&app, parts, (&publisher, &publication), &file).await
}

/// Returns a batch of a publication's current epoch.
///
/// Lines that were redacted come without their data, so a batch may change.
#[utoipa::path(get, path = "/federation/v1/{publisher}/{publication}/{epoch}/{batch}", operation_id = "get_publication_batch",
    tag = "federation", security((), ("token" = ["peer"])), params(
        ("publisher" = String, Path, description = "Id of the publisher."),
        ("publication" = String, Path, description = "Name of the publication."),
        ("epoch" = String, Path, description = "Start of the epoch in milliseconds."),
        ("batch" = String, Path, description = "Number of the batch, with `.json`.")),
    responses((status = 200, description = "The batch.", body = String, content_type = "application/json"),
        (status = 404, description = "There is no such file, or it is not for the caller.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_publication_batch(
    State(app): State<AppState>,
    PathParams((publisher, publication, epoch, batch)): PathParams<(
        String,
        String,
        String,
        String,
    )>,
    parts: Parts,
) -> Result<Response, Problem> {
    let file = format!("{epoch}/{batch}");
    serve_file(&app, parts, (&publisher, &publication), &file).await
}

/// Lists the peers of the organization, by name.
#[utoipa::path(get, path = "/v1/peers", operation_id = "list_peers", tag = "federation",
    security(("token" = ["curator"])),
    responses((status = 200, description = "The peers.", body = PeersResponse)))]
async fn list_peers(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
) -> Result<Json<PeersResponse>, Problem> {
    let organization = access.caller.organization;
    let mut tx = app.database.begin_organization(organization).await?;
    let peers = tx.peers().await?;
    tx.commit().await?;
    let items = peers.into_iter().map(PeerResponse::new).collect();
    Ok(Json(PeersResponse { items }))
}

/// Lists the entries of a peer that wait for a person, or those that were decided, oldest first.
#[utoipa::path(get, path = "/v1/peers/{peer}/entries", operation_id = "list_peer_entries", tag = "federation",
    security(("token" = ["curator"])), params(
        ("peer" = String, Path, description = "Name of the peer."), PeerEntriesParams),
    responses((status = 200, description = "A page of entries.", body = ListPage<PeerEntryResponse>)))]
async fn list_entries(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    PathParams(peer): PathParams<String>,
    QueryParams(params): QueryParams<PeerEntriesParams>,
) -> Result<Json<ListPage<PeerEntryResponse>>, Problem> {
    let verdict: PeerVerdict = match params.verdict.as_deref() {
        None => PeerVerdict::Waiting,
        Some(text) => text.parse().map_err(|_| {
            Problem::new(
                Kind::Malformed,
                "`verdict` must be waiting, approved or rejected",
            )
        })?,
    };
    let limit = params.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        let detail = "`limit` must be from 1 to 200";
        return Err(Problem::new(Kind::Malformed, detail));
    }
    // One more than the limit: it shows that there is a next page.
    let asked = (verdict, params.after.as_deref(), limit + 1);
    let found = list_peer_entries(&app.database, &access.caller, &peer, asked).await?;
    let page = ListPage::from_items(found, limit, PeerEntry::place);
    Ok(Json(page.map(|it| PeerEntryResponse::new(&it))))
}

/// Approves entries of a peer: all of them, or none. Searches show them from then on.
///
/// Requires a person.
#[utoipa::path(post, path = "/v1/peers/{peer}/approve", operation_id = "approve_peer_entries", tag = "federation",
    security(("token" = ["curator"])), request_body = ApproveBody,
    params(("peer" = String, Path, description = "Name of the peer.")),
    responses((status = 200, description = "The entries were approved.", body = DecidedResponse)))]
async fn approve_entries(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    PathParams(peer): PathParams<String>,
    JsonBody(body): JsonBody<ApproveBody>,
) -> Result<Json<DecidedResponse>, Problem> {
    let mut decisions = Vec::with_capacity(body.entries.len().min(DECISIONS_MAX));
    for entry in body.entries {
        decisions.push(PeerDecision {
            entry: parse_id(&entry.id)?,
            artifact: entry.artifact,
        });
    }
    let context = app.service_context();
    let approving =
        approve_peer_entries(&app.database, &context, &access.caller, &peer, &decisions);
    let count = approving.await?;
    Ok(Json(DecidedResponse { count }))
}

/// Rejects entries of a peer, also approved ones. The peer loses trust.
///
/// Requires a person.
#[utoipa::path(post, path = "/v1/peers/{peer}/reject", operation_id = "reject_peer_entries", tag = "federation",
    security(("token" = ["curator"])), request_body = RejectBody,
    params(("peer" = String, Path, description = "Name of the peer.")),
    responses((status = 200, description = "The entries were rejected.", body = DecidedResponse)))]
async fn reject_entries(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    PathParams(peer): PathParams<String>,
    JsonBody(body): JsonBody<RejectBody>,
) -> Result<Json<DecidedResponse>, Problem> {
    let ids = body.ids.iter().map(|it| parse_id(it));
    let ids = ids.collect::<Result<Vec<EntryId>, Problem>>()?;
    let reason = match body.reason {
        ReasonParam::False => RejectReason::False,
        ReasonParam::Unwanted => RejectReason::Unwanted,
    };
    let context = app.service_context();
    let rejecting = reject_peer_entries(
        &app.database,
        &context,
        &access.caller,
        &peer,
        (&ids, reason),
    );
    let count = rejecting.await?;
    Ok(Json(DecidedResponse { count }))
}

/// Records whether an approved entry of a peer held here, at most once per entry and day.
///
/// Requires a person. `count` is 0 if the entry was counted today.
#[utoipa::path(post, path = "/v1/peers/{peer}/entries/{entry}/rate", operation_id = "rate_peer_entry", tag = "federation",
    security(("token" = ["curator"])), request_body = RateBody, params(
        ("peer" = String, Path, description = "Name of the peer."),
        ("entry" = String, Path, description = "Id of the entry.")),
    responses((status = 200, description = "The rating was counted, or one of today stands.", body = DecidedResponse)))]
async fn rate_entry(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    PathParams((peer, entry)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<RateBody>,
) -> Result<Json<DecidedResponse>, Problem> {
    // Only full ids: a prefix could name another entry after the next pull.
    let id = parse_id(&entry)?;
    let verdict = match body.verdict {
        RatingParam::Helpful => Feedback::Helpful,
        RatingParam::Unhelpful => Feedback::Unhelpful,
    };
    let rated = rate_peer_entry(&app.database, &access.caller, &peer, (id, verdict));
    let count = usize::from(rated.await?);
    Ok(Json(DecidedResponse { count }))
}

/// Serves a file of a publication to callers who may read it, and answers missing and forbidden
/// alike.
async fn serve_file(
    app: &AppState,
    mut parts: Parts,
    (publisher, publication): (&str, &str),
    file: &str,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found("publication");
    // PostgreSQL fails on a text with a NUL character.
    if [publisher, publication, file]
        .iter()
        .any(|it| it.contains('\0'))
    {
        return Err(missing());
    }
    // Held until the file is read. The semaphore is never closed, so waiting for a place succeeds.
    let _place = if parts.headers.contains_key(AUTHORIZATION) {
        None
    } else {
        ANONYMOUS_READERS.acquire().await.ok()
    };
    let found = app.database.publication_at(publisher, publication).await?;
    let (organization, audience) = found.ok_or_else(missing)?;
    if audience == PublicationAudience::Peers {
        // Also for a token that is not valid: an error would tell that there is a publication.
        let has_token = parts.headers.contains_key(AUTHORIZATION);
        let caller = if has_token {
            authenticate(&mut parts, app).await.ok()
        } else {
            None
        };
        if caller.is_none_or(|it| it.organization != organization) {
            return Err(missing());
        }
    }
    let text = read_publication_file(&app.database, organization, publication, file).await?;
    let text = text.ok_or_else(missing)?;
    let headers = [
        (CONTENT_TYPE, "application/json"),
        // A redaction changes a batch, so that no cache may serve it without asking.
        (CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, text).into_response())
}

fn parse_id(text: &str) -> Result<EntryId, Problem> {
    let id = text.parse::<EntryId>();
    id.map_err(|_| Problem::invalid("`id` must be the full id of an entry, such as L-7k2f5qm3"))
}
