//! Search endpoint, `POST /v1/workspaces/{workspace}/search`.
//!
//! A query may be a whole error log, which is too long for a URL, so it is sent as a body.

use axum::extract::State;
use axum::{Extension, Json};
use ken_core::json::SearchJson;
use ken_core::ledger::store::EntryFilter;
use ken_core::retrieval::ranking::{RelevanceFloor, SearchQuery};
use ken_core::retrieval::surface::{DetailTier, TOKEN_BUDGET};
use ken_core::values::id::EntryId;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;
use ken_mcp::ask::{LIMIT_MAX, QUERY_BYTES_MAX};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{check_length, check_paths, parse_agent_role, parse_optional, reader_params, to_json};
use crate::api::AppState;
use crate::api::admission::{admit_expensive_search, admit_search};
use crate::api::body::JsonBody;
use crate::api::caller::{AtLeastReader, RequireRole, RequireWorkspaceRole, resolve_workspace};
use crate::api::problem::{MEDIA_TYPE, Problem, ProblemBody};
use crate::database::HubName;
use crate::limits::CallerKey;
use crate::service::{
    self, EverywhereResult, HubSearchRequest, SelectionLimits, SkipReason, WorkspaceSession, parse,
};

/// Route of a search, a post that only reads.
pub(in crate::api) const SEARCH_ROUTE: &str = "/v1/workspaces/{workspace}/search";

/// Route of a search in several workspaces.
pub(in crate::api) const EVERYWHERE_ROUTE: &str = "/v1/search";

/// Request body of a search.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SearchBody, example = json!({"query": "payment retries time out", "paths": ["src/pay.rs"], "limit": 5}))]
pub(super) struct SearchBody {
    /// Goal, technology and problem in words, or an error message.
    #[schema(max_length = 16384)]
    query: String,
    /// Files or folders being worked on, relative to the repository. Entries anchored there are
    /// candidates even if their statements do not match.
    #[serde(default)]
    #[schema(max_items = 50)]
    paths: Vec<String>,
    /// Only these kinds, such as bug, decision, incident, spike.
    #[serde(default)]
    #[schema(max_items = 50)]
    kinds: Vec<String>,
    /// Only entries with one of these tags or their subtags.
    #[serde(default)]
    #[schema(max_items = 50)]
    tags: Vec<String>,
    /// Only this memory: semantic, procedural or episodic.
    #[serde(default)]
    #[schema(nullable = false)]
    memory: Option<String>,
    /// Only this status: candidate, active, verified, stale or rejected.
    #[serde(default)]
    #[schema(nullable = false)]
    status: Option<String>,
    /// Only this lens.
    #[serde(default)]
    #[schema(nullable = false)]
    lens: Option<String>,
    /// Role of the agent. Kinds this role prefers rank higher.
    #[serde(default)]
    #[schema(nullable = false, example = "reviewer")]
    role: Option<String>,
    /// Thread of work. Default: the thread of the run.
    #[serde(default)]
    #[schema(nullable = false)]
    thread: Option<String>,
    /// Minimum relevance of a hit.
    #[serde(default)]
    floor: FloorParam,
    /// Includes stale entries, which contradict the code.
    #[serde(default)]
    include_stale: bool,
    /// Maximum number of hits.
    #[serde(default = "default_limit")]
    #[schema(minimum = 1, maximum = 20, default = 5)]
    limit: u32,
    /// Token budget. Beyond it, hits are shortened to one line, then omitted.
    #[serde(default = "default_budget")]
    #[schema(minimum = 1, maximum = 100000, default = 500)]
    budget: u32,
    /// Adds the whole entry to each hit. It does not count against the token budget.
    #[serde(default)]
    entries: bool,
    /// Level of detail per entry. Default: chosen by the token budget.
    #[serde(default)]
    #[schema(nullable = false)]
    tier: Option<TierParam>,
    /// Only these workspaces, by name or id. Only for a search in several workspaces.
    #[serde(default)]
    #[schema(max_items = 50)]
    workspaces: Vec<String>,
    /// Run of the reader. Default: an implicit run that Ken creates.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64)]
    run: Option<String>,
    /// Agent that reads. Default: the caller.
    #[serde(default)]
    #[schema(nullable = false, example = "agent:reviewer-1")]
    agent: Option<String>,
    /// Session of the reader.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
}

/// Minimum relevance of a hit.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RelevanceFloor)]
enum FloorParam {
    /// No minimum: returns every candidate, best first.
    None,
    /// For a reader that searched explicitly.
    #[default]
    Relevant,
    /// For context that the reader did not request.
    Strict,
}

/// Level of detail per entry.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = DetailTier)]
enum TierParam {
    Summary,
    Standard,
    Full,
}

/// Search result, `ken.search.v1`: `results` best first, `left_out` beyond the token budget,
/// `withheld` with the reason, and `global` entries of the organization and of its peers, ranked
/// below everything verified in the workspace. `peers` names the peer of each entry that another
/// organization published, with its trust and weight.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchResponse, value_type = Object, example = json!({
    "schema": "ken.search.v1", "query": "payment retries time out", "served_by": "static", "tier": "summary", "tokens": 34,
    "results": [{"id": "L-7k2f5qm3", "score": 0.61, "text": "[L-7k2f5qm3] Retry a payment once.\n"}],
    "left_out": [], "withheld": []}))]
pub(super) struct SearchResponse(Value);

/// Search result of several workspaces: `ken.search.v1` with the `workspace` of each hit, the names
/// of the `searched` workspaces, and the `skipped` ones with the reason (`limit`, `time` or
/// `unavailable`).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EverywhereResponse, value_type = Object, example = json!({
    "schema": "ken.search.v1", "query": "payment retries time out", "served_by": "static", "tier": "summary", "tokens": 34,
    "results": [{"id": "L-7k2f5qm3", "workspace": "shop-api", "score": 0.61, "text": "[L-7k2f5qm3] Retry a payment once.\n"}],
    "left_out": [], "withheld": [], "searched": ["shop-api", "billing"], "skipped": []}))]
pub(super) struct EverywhereResponse(Value);

fn default_limit() -> u32 {
    5
}

fn default_budget() -> u32 {
    u32::try_from(TOKEN_BUDGET).unwrap_or(u32::MAX)
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(search))
        .routes(routes!(search_everywhere))
}

/// Searches entries and records the hits as exposures of the agent.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/search", operation_id = "search", tag = "knowledge",
    security(("token" = ["reader"])), request_body = SearchBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "The hits, best first. The list may be empty.", body = SearchResponse)))]
async fn search(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    Extension(limits): Extension<CallerKey>,
    JsonBody(body): JsonBody<SearchBody>,
) -> Result<Json<SearchResponse>, Problem> {
    if !body.workspaces.is_empty() {
        let detail = "`workspaces` is for POST /v1/search; the path names the workspace here";
        return Err(Problem::invalid(detail));
    }
    let with_entries = body.entries;
    let query = body.into_query(&access.caller.actor)?;
    // Before the session, which takes a database connection. Held until the response is built.
    let _permit = admit_search(&app, limits, &query.search).await?;
    let (database, context) = (&app.database, app.service_context());
    let (caller, workspace) = (access.caller, access.workspace);
    // Unlike other sessions, this one sends the search in the round trip that begins the
    // transaction.
    let session =
        WorkspaceSession::begin_search(database, &context, caller, workspace, &query.search);
    let mut session = session.await?;
    let found = service::search(&mut session, query).await?;
    session.commit().await?;
    let beside = &found.organization_hits;
    let mut response =
        SearchJson::new(found.to_response()).with_peers(beside.sources.iter(), &beside.competing);
    if !with_entries {
        response = response.without_entries();
    }
    Ok(Json(SearchResponse(to_json(&response))))
}

/// Searches every workspace that the token can read, or those in `workspaces`.
///
/// Each hit names its workspace. All workspaces are ranked by the same scale, and an entry that
/// several of them have counts once. At most 50 workspaces are searched, those with the latest
/// events first, for at most 5 seconds; `skipped` lists the others.
#[utoipa::path(post, path = "/v1/search", operation_id = "search_everywhere", tag = "knowledge",
    security(("token" = ["reader"])), request_body = SearchBody,
    responses((status = 200, description = "The hits of all workspaces, best first. The list may be empty.", body = EverywhereResponse),
        (status = 404, description = "One of `workspaces` does not exist or is not accessible.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn search_everywhere(
    State(app): State<AppState>,
    access: RequireRole<AtLeastReader>,
    Extension(limits): Extension<CallerKey>,
    JsonBody(body): JsonBody<SearchBody>,
) -> Result<Json<EverywhereResponse>, Problem> {
    let with_entries = body.entries;
    parse::check_items("workspaces", &body.workspaces)?;
    let mut only = Vec::with_capacity(body.workspaces.len());
    for named in &body.workspaces {
        only.push(resolve_workspace(&app, &access.caller, named).await?);
    }
    let only = Some(only).filter(|it| !it.is_empty());
    let query = body.into_query(&access.caller.actor)?;
    let _permit = admit_expensive_search(&app, limits).await?;
    let (database, context) = (&app.database, app.service_context());
    let caller = &access.caller;
    let found = service::search_everywhere(database, &context, caller, only.as_deref(), query);
    let found = found.await?;
    Ok(Json(EverywhereResponse(everywhere_json(
        &found,
        with_entries,
    ))))
}

/// Returns the JSON of a search in several workspaces: that of a search, with the workspace of each
/// hit.
pub(crate) fn everywhere_json(found: &EverywhereResult, with_entries: bool) -> Value {
    let mut response = SearchJson::new(found.to_response());
    if !with_entries {
        response = response.without_entries();
    }
    let mut json = to_json(&response);
    for list in ["results", "left_out"] {
        for hit in json[list].as_array_mut().into_iter().flatten() {
            let id: Option<EntryId> = hit["id"].as_str().and_then(|it| it.parse().ok());
            let workspace = id.and_then(|id| found.origins.get(&id));
            hit["workspace"] = workspace.map(HubName::as_str).into();
        }
    }
    let searched = found.searched.iter().map(HubName::as_str);
    json["searched"] = searched.collect::<Vec<_>>().into();
    let skipped = found.skipped.iter().map(|(name, why)| {
        let why = match why {
            SkipReason::Limit => "limit",
            SkipReason::Time => "time",
            SkipReason::Unavailable => "unavailable",
        };
        json!({"workspace": name.as_str(), "why": why})
    });
    json["skipped"] = skipped.collect::<Vec<_>>().into();
    json
}

impl SearchBody {
    /// Validates the request and converts it to a query.
    fn into_query(
        self,
        caller: &ken_core::values::actor::Actor,
    ) -> Result<HubSearchRequest, Problem> {
        check_length("query", &self.query, QUERY_BYTES_MAX)?;
        if !(1..=LIMIT_MAX).contains(&self.limit) {
            return Err(Problem::invalid(format!(
                "`limit` must be from 1 to {LIMIT_MAX}"
            )));
        }
        let filter = EntryFilter {
            kinds: parse::parse_list::<EntryKind, _>("kinds", &self.kinds)?,
            tags: parse::parse_list("tags", &self.tags)?,
            memory: parse_optional::<Memory>("memory", self.memory.as_deref())?,
            status: parse_optional::<EntryStatus>("status", self.status.as_deref())?,
            lens: parse_optional("lens", self.lens.as_deref())?,
            ..EntryFilter::default()
        };
        let role = parse_agent_role(self.role.as_deref())?;
        let tier = self.tier.map(|tier| match tier {
            TierParam::Summary => DetailTier::Summary,
            TierParam::Standard => DetailTier::Standard,
            TierParam::Full => DetailTier::Full,
        });
        let reader = reader_params!(self).into_reader(caller)?;
        Ok(HubSearchRequest {
            portion: SelectionLimits {
                cap: self.limit as usize,
                budget: self.budget as usize,
                tier,
                role,
            },
            search: SearchQuery {
                query: self.query,
                filter,
                names: Vec::new(),
                paths: check_paths(self.paths)?,
                // The hub does not see the code, so it cannot map a stack trace.
                frames: Vec::new(),
                role,
                thread: parse_optional("thread", self.thread.as_deref())?,
                run: reader.run.clone(),
                floor: match self.floor {
                    FloorParam::None => RelevanceFloor::None,
                    FloorParam::Relevant => RelevanceFloor::Relevant,
                    FloorParam::Strict => RelevanceFloor::Strict,
                },
                or_nearest: false,
                include_stale: self.include_stale,
                is_about_paths: false,
            },
            reader,
        })
    }
}
