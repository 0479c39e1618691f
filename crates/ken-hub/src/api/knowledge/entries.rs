//! Entry endpoints: list, get, history, add, feedback.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ken_core::json::{EntryJson, EventJson};
use ken_core::ledger::event::Feedback;
use ken_core::ledger::store::{EntryFilter, LifecycleFilter};
use ken_core::trust::promotion::PromotionArtifact;
use ken_core::values::kind::{EntryKind, Memory};
use ken_core::values::status::EntryStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{ReaderParams, as_malformed, open_session, parse_optional, reader_params, to_json};
use crate::api::AppState;
use crate::api::body::{JsonBody, PathParams, QueryParams};
use crate::api::caller::{AtLeastAgent, AtLeastReader, RequireWorkspaceRole};
use crate::api::page::{self, ListPage};
use crate::api::problem::{Kind as Trouble, MEDIA_TYPE, Problem, ProblemBody};
use crate::service::parse::RawClaimFields;
use crate::service::{self, AddEntryRequest, HistoryEvent, RecordOutcome};
use crate::store::EntryPosition;

/// Query parameters of an entry list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryListParams {
    /// Only this kind.
    #[serde(default)]
    #[param(nullable = false, example = "decision")]
    kind: Option<String>,
    /// Only this memory.
    #[serde(default)]
    #[param(nullable = false, example = "semantic")]
    memory: Option<String>,
    /// Only this status.
    #[serde(default)]
    #[param(nullable = false, example = "verified")]
    status: Option<String>,
    /// Only this tag and its subtags.
    #[serde(default)]
    #[param(nullable = false, example = "auth/jwt")]
    tag: Option<String>,
    /// Only this lens.
    #[serde(default)]
    #[param(nullable = false, example = "security")]
    lens: Option<String>,
    /// Lifecycle filter: entries in use, archived, retracted or all.
    #[serde(default)]
    #[param(inline)]
    shelf: LifecycleParam,
    /// Start of the page: `next` of the previous page.
    #[serde(default)]
    #[param(max_length = 128, nullable = false)]
    after: Option<String>,
    /// Maximum number of entries.
    #[serde(
        default = "page::default_limit",
        deserialize_with = "page::deserialize_limit"
    )]
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    limit: u32,
    /// Run of the reader.
    #[serde(default)]
    #[param(max_length = 64, nullable = false)]
    run: Option<String>,
    /// Agent that reads. Default: the caller.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    agent: Option<String>,
    /// Session of the reader.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    session: Option<String>,
}

/// Filter by lifecycle. The default, `live`, selects entries in use.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = LifecycleFilter)]
enum LifecycleParam {
    #[default]
    Live,
    Archived,
    Retracted,
    All,
}

/// An entry, `ken.entry.v1`: statement, anchors, citations, author and history.
///
/// `validity` is always `unverifiable`, because a hub has no code. `artifact` is the digest that an
/// approval of this content must contain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Entry, value_type = Object, example = json!({
    "schema": "ken.entry.v1", "id": "L-7k2f5qm3", "kind": "learning", "statement": "Retry a payment once."}))]
pub(super) struct EntryResponse(Value);

/// An event, `ken.event.v1`, with its pusher and the time the hub received it.
///
/// The author, `by`, is a claim of the event. `pushed_by` is the actor of the token that brought
/// it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event, value_type = Object, example = json!({
    "schema": "ken.event.v1", "id": "01JCPQ3W6M7Y2K8T4D5F6G7H8J", "at": "2026-11-14T22:51:03.120Z/0004/k3f9w2",
    "by": "agent:reviewer-1", "type": "entry.proposed", "about": ["L-7k2f5qm3"], "data": {},
    "pushed_by": "human:ada@example.org", "received_at": "2026-11-14T22:51:04Z"}))]
pub(super) struct EventResponse(Value);

impl EventResponse {
    fn new(event: &HistoryEvent) -> Self {
        let mut json = to_json(&EventJson::new(&event.event));
        if let Some((pusher, at)) = &event.arrival {
            json["pushed_by"] = Value::from(pusher.as_str());
            json["received_at"] = Value::from(at.to_string());
        }
        Self(json)
    }
}

/// Request body for a new entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AddEntryBody, example = json!({"statement": "Retry a payment once: the gateway answers twice.", "kind": "learning",
    "cites": ["commit:4f2a9c1"], "anchors": ["src/pay.rs#charge"]}))]
pub(super) struct AddEntryBody {
    /// One to three sentences, general, without secrets.
    #[schema(max_length = 8192)]
    statement: String,
    #[serde(default = "default_kind")]
    #[schema(default = "learning")]
    kind: String,
    /// Citations: `commit:HASH`, `pr:NUMBER`, `doc:PATH`, `test:NAME` or `transcript:HASH`.
    #[schema(max_items = 50)]
    cites: Vec<String>,
    /// Code locations: path#symbol, path:10-20 or path. A hub has no code, so they get a
    /// fingerprint only when a clone verifies them.
    #[serde(default)]
    #[schema(max_items = 50)]
    anchors: Vec<String>,
    /// Steps that verify it.
    #[serde(default)]
    #[schema(max_items = 50)]
    verify: Vec<String>,
    #[serde(default)]
    #[schema(max_items = 50)]
    tags: Vec<String>,
    /// Run of the author.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64)]
    run: Option<String>,
    /// Author. Default: the caller.
    #[serde(default)]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Session of the author.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
}

/// Result of adding an entry, `ken.record.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordOutcome, example = json!({"schema": "ken.record.v1", "outcome": "recorded", "id": "L-7k2f5qm3", "status": "candidate", "quarantined": false}))]
pub(super) struct AddEntryResponse {
    schema: &'static str,
    /// `recorded` for a new entry, `noted` if an entry with this claim exists.
    outcome: &'static str,
    /// Id of the entry. For an existing entry only if the agent was shown it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<&'static str>,
    /// True if the entry is hidden until a person releases it.
    quarantined: bool,
}

/// Feedback on an entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FeedbackBody, example = json!({"helpful": true, "run": "R-0a1b2c3d4e"}))]
pub(super) struct FeedbackBody {
    helpful: bool,
    /// Run in which the agent was shown the entry.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64)]
    run: Option<String>,
    /// Agent that gives feedback. Default: the caller.
    #[serde(default)]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Session in which the agent was shown the entry.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
}

/// Recorded feedback, `ken.feedback.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Feedback, example = json!({"schema": "ken.feedback.v1", "id": "L-7k2f5qm3", "helpful": true}))]
pub(super) struct FeedbackResponse {
    schema: &'static str,
    id: String,
    helpful: bool,
}

impl EntryResponse {
    /// Serializes an entry view.
    pub(super) fn new(object: &EntryJson) -> Self {
        Self(to_json(object))
    }
}

fn default_kind() -> String {
    "learning".to_owned()
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_entries, record_entry))
        .routes(routes!(get_entry))
        .routes(routes!(get_history))
        .routes(routes!(give_feedback))
}

/// Lists entries, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries", operation_id = "list_entries", tag = "knowledge",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Name or id of the workspace."), EntryListParams),
    responses((status = 200, description = "A page of entries.", body = ListPage<EntryResponse>)))]
async fn list_entries(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    QueryParams(params): QueryParams<EntryListParams>,
) -> Result<Json<ListPage<EntryResponse>>, Problem> {
    let filter = EntryFilter {
        kind: as_malformed(parse_optional::<EntryKind>("kind", params.kind.as_deref()))?,
        memory: as_malformed(parse_optional::<Memory>("memory", params.memory.as_deref()))?,
        status: as_malformed(parse_optional::<EntryStatus>(
            "status",
            params.status.as_deref(),
        ))?,
        tag: as_malformed(parse_optional("tag", params.tag.as_deref()))?,
        lens: as_malformed(parse_optional("lens", params.lens.as_deref()))?,
        lifecycle: match params.shelf {
            LifecycleParam::Live => LifecycleFilter::Live,
            LifecycleParam::Archived => LifecycleFilter::Archived,
            LifecycleParam::Retracted => LifecycleFilter::Retracted,
            LifecycleParam::All => LifecycleFilter::All,
        },
        ..EntryFilter::default()
    };
    let after = params.after.as_deref().map(parse_position).transpose()?;
    let limit = params.limit;
    let reader = as_malformed(reader_params!(params).into_reader(&access.caller.actor))?;
    let mut session = open_session(&app, access).await?;
    let listing =
        service::list_entries(&mut session, &reader, &filter, after.as_ref(), limit).await?;
    session.commit().await?;
    let response = |entry| EntryResponse::new(&EntryJson::new(entry));
    Ok(Json(ListPage {
        items: listing.entries.iter().map(response).collect(),
        next: listing.next.map(|position| format_position(&position)),
    }))
}

/// Returns an entry by its id, an unambiguous beginning of it, or its alias.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries/{entry}", operation_id = "get_entry", tag = "knowledge",
    security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry."), ReaderParams),
    responses(
        (status = 200, description = "The entry.", body = EntryResponse),
        (status = 409, description = "The id prefix is ambiguous.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    QueryParams(params): QueryParams<ReaderParams>,
) -> Result<Json<EntryResponse>, Problem> {
    let reader = as_malformed(params.into_reader(&access.caller.actor))?;
    let mut session = open_session(&app, access).await?;
    let found = service::show_entry(&mut session, &reader, &wanted).await?;
    session.commit().await?;
    let mut object = EntryJson::new(&found.entry).with_requested_id(&found.entry, &wanted);
    object = object.with("validity", "unverifiable".into());
    if let Some(artifact) = PromotionArtifact::from_entry(&found.entry) {
        object = object.with("artifact", artifact.digest().into());
    }
    if !found.conflicts.is_empty() {
        object = object.with("conflicts", to_json(&found.conflicts));
    }
    if !found.relationships.is_empty() {
        object = object.with("relationships", to_json(&found.relationships));
    }
    if found.is_revoked {
        object = object.with("revoked", true.into());
    }
    Ok(Json(EntryResponse::new(&object)))
}

/// Returns the latest thousand events of an entry, oldest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries/{entry}/history", operation_id = "get_history",
    tag = "knowledge", security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry."), ReaderParams),
    responses(
        (status = 200, description = "The events of the entry.", body = ListPage<EventResponse>),
        (status = 409, description = "The id prefix is ambiguous.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_history(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    QueryParams(params): QueryParams<ReaderParams>,
) -> Result<Json<ListPage<EventResponse>>, Problem> {
    let reader = as_malformed(params.into_reader(&access.caller.actor))?;
    let mut session = open_session(&app, access).await?;
    let history = service::history(&mut session, &reader, &wanted).await?;
    session.commit().await?;
    Ok(Json(ListPage {
        items: history.iter().map(EventResponse::new).collect(),
        next: None,
    }))
}

/// Adds an entry, or notes an observation of the run if an entry with this claim exists.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries", operation_id = "record_entry", tag = "knowledge",
    security(("token" = ["agent"])), request_body = AddEntryBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses(
        (status = 201, description = "The entry was added.", body = AddEntryResponse),
        (status = 200, description = "An entry with this claim exists; the observation was recorded.", body = AddEntryResponse)))]
async fn record_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    JsonBody(body): JsonBody<AddEntryBody>,
) -> Result<(StatusCode, Json<AddEntryResponse>), Problem> {
    let raw = RawClaimFields {
        statement: &body.statement,
        kind: &body.kind,
        cites: &body.cites,
        anchors: &body.anchors,
        verify: &body.verify,
        tags: &body.tags,
    };
    let reader = reader_params!(body).into_reader(&access.caller.actor)?;
    let recording = AddEntryRequest::parse(reader, &raw)?;
    let mut session = open_session(&app, access).await?;
    let recorded = service::add_entry(&mut session, recording).await?;
    session.commit().await?;
    let (status, response) = match &recorded {
        RecordOutcome::Entry(entry) => (
            StatusCode::CREATED,
            AddEntryResponse {
                schema: "ken.record.v1",
                outcome: "recorded",
                id: Some(entry.id.to_string()),
                status: Some(entry.status.value.name()),
                quarantined: !entry.quarantine.is_empty(),
            },
        ),
        // The id of an existing entry would prime an agent that was not shown it, and its finding
        // would no longer count as independent.
        RecordOutcome::Noted(seen) => (
            StatusCode::OK,
            AddEntryResponse {
                schema: "ken.record.v1",
                outcome: "noted",
                id: seen.map(|id| id.to_string()),
                status: None,
                quarantined: false,
            },
        ),
    };
    Ok((status, Json(response)))
}

/// Records feedback of an agent that was shown the entry. It affects usefulness, not status.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/feedback", operation_id = "give_feedback",
    tag = "knowledge", security(("token" = ["agent"])), request_body = FeedbackBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The feedback was recorded. Repeated feedback does not count.", body = FeedbackResponse)))]
async fn give_feedback(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<FeedbackBody>,
) -> Result<Json<FeedbackResponse>, Problem> {
    let reader = reader_params!(body).into_reader(&access.caller.actor)?;
    let verdict = if body.helpful {
        Feedback::Helpful
    } else {
        Feedback::Unhelpful
    };
    let mut session = open_session(&app, access).await?;
    let noted = service::give_feedback(&mut session, &reader, &wanted, verdict).await?;
    session.commit().await?;
    Ok(Json(FeedbackResponse {
        schema: "ken.feedback.v1",
        id: noted.id.to_string(),
        helpful: body.helpful,
    }))
}

/// Formats a list position: creation time and id of an entry.
///
/// The id alone would not do: the list is sorted by creation time, and ids are random.
pub(crate) fn format_position(after: &EntryPosition) -> String {
    let created = after.created.map_or_else(String::new, |at| at.to_string());
    format!("{created}~{}", after.id)
}

/// Parses a list position.
pub(crate) fn parse_position(text: &str) -> Result<EntryPosition, Problem> {
    let wrong = || {
        Problem::new(
            Trouble::Malformed,
            "`after` is not a valid position in this list; use `next` of the previous page",
        )
    };
    if text.len() > page::CURSOR_CHARS_MAX {
        return Err(wrong());
    }
    let (created, id) = text.split_once('~').ok_or_else(wrong)?;
    let created = match created {
        // An entry whose proposal the hub does not have yet has no creation time.
        "" => None,
        time => Some(time.parse().map_err(|_| wrong())?),
    };
    let id = id.parse().map_err(|_| wrong())?;
    Ok(EntryPosition { created, id })
}
