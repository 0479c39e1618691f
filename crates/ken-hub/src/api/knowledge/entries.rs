//! Entries: listed, shown, their history, what is recorded and whether it helped.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ken_core::event::Feedback;
use ken_core::kind::{Kind, Memory};
use ken_core::object::{EntryObject, EventObject};
use ken_core::promotion::Artifact;
use ken_core::status::Status;
use ken_core::store::{Filter, Shelf};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Reading, desk, in_query, parsed, reading, value};
use crate::api::App;
use crate::api::body::{InPath, InQuery, JsonBody};
use crate::api::caller::{InWorkspace, Reads, Records};
use crate::api::page::{self, Page};
use crate::api::problem::{Kind as Trouble, MEDIA_TYPE, Problem, ProblemBody};
use crate::service::raw::Raw;
use crate::service::{self, Recorded, Recording};
use crate::store::After;

/// Which entries are listed.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
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
    /// Only this tag and those below it.
    #[serde(default)]
    #[param(nullable = false, example = "auth/jwt")]
    tag: Option<String>,
    /// Only of this lens.
    #[serde(default)]
    #[param(nullable = false, example = "security")]
    lens: Option<String>,
    /// Which entries count beside those in use.
    #[serde(default)]
    #[param(inline)]
    shelf: ShelfName,
    /// Where the page begins: `next` of the page before.
    #[serde(default)]
    #[param(max_length = 128, nullable = false)]
    after: Option<String>,
    /// Entries it holds at most.
    #[serde(default = "page::limit_default", deserialize_with = "page::limit")]
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    limit: u32,
    /// The run it is read in.
    #[serde(default)]
    #[param(max_length = 64, nullable = false)]
    run: Option<String>,
    /// The agent it is read for.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    agent: Option<String>,
    /// The conversation it is read in.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    session: Option<String>,
}

/// Which entries count beside those in use.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Shelf)]
enum ShelfName {
    #[default]
    Live,
    Archived,
    Retracted,
    All,
}

/// An entry, `ken.entry.v1`: what it says, what it rests on, who said so and what became of it. `validity` is
/// `unverifiable` here, because a hub has no code to look at; `artifact` is the digest an approval of these words names.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Entry, value_type = Object, example = json!({
    "schema": "ken.entry.v1", "id": "L-7k2f5qm3", "kind": "learning", "statement": "Retry a payment once."}))]
pub(super) struct EntryTold(Value);

/// An event, `ken.event.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event, value_type = Object, example = json!({
    "schema": "ken.event.v1", "id": "01JCPQ3W6M7Y2K8T4D5F6G7H8J", "at": "2026-11-14T22:51:03.120Z/0004/k3f9w2",
    "by": "agent:reviewer-1", "type": "entry.proposed", "about": ["L-7k2f5qm3"], "data": {}}))]
pub(super) struct EventTold(Value);

/// What somebody found out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"statement": "Retry a payment once: the gateway answers twice.", "kind": "learning",
    "cites": ["commit:4f2a9c1"], "anchors": ["src/pay.rs#charge"]}))]
pub(super) struct NewEntry {
    /// One to three sentences, general, without secrets.
    #[schema(max_length = 8192)]
    statement: String,
    #[serde(default = "learning")]
    #[schema(default = "learning")]
    kind: String,
    /// What shows it: commit:HASH, pr:N, test:NAME, doc:PATH or transcript:ID.
    #[schema(max_items = 50)]
    cites: Vec<String>,
    /// Code it rests on: path#symbol, path:10-20 or path. Nobody can look it up here, so it has no fingerprint yet.
    #[serde(default)]
    #[schema(max_items = 50)]
    anchors: Vec<String>,
    /// Steps that check it.
    #[serde(default)]
    #[schema(max_items = 50)]
    verify: Vec<String>,
    #[serde(default)]
    #[schema(max_items = 50)]
    tags: Vec<String>,
    /// The run it was found in.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64)]
    run: Option<String>,
    /// Who found it; the caller without.
    #[serde(default)]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// The conversation it was found in.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
}

/// What became of it, `ken.record.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"schema": "ken.record.v1", "outcome": "recorded", "id": "L-7k2f5qm3", "status": "candidate", "quarantined": false}))]
pub(super) struct RecordedTold {
    schema: &'static str,
    /// `recorded` as an entry, or `noted` where it is known already.
    outcome: &'static str,
    /// The entry; of one that is known only where the agent was shown it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<&'static str>,
    /// Whether it waits for a person.
    quarantined: bool,
}

/// Whether an entry helped.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"helpful": true, "run": "R-0a1b2c3d4e"}))]
pub(super) struct NewFeedback {
    helpful: bool,
    /// The run in which the agent was shown it.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64)]
    run: Option<String>,
    /// Who says so; the caller without.
    #[serde(default)]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// The conversation in which the agent was shown it.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
}

/// What was taken down, `ken.feedback.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"schema": "ken.feedback.v1", "id": "L-7k2f5qm3", "helpful": true}))]
pub(super) struct FeedbackTold {
    schema: &'static str,
    id: String,
    helpful: bool,
}

impl EntryTold {
    /// Tells an entry.
    pub(super) fn new(object: &EntryObject) -> Self {
        Self(value(object))
    }
}

fn learning() -> String {
    "learning".to_owned()
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_entries, record_entry))
        .routes(routes!(get_entry))
        .routes(routes!(get_history))
        .routes(routes!(give_feedback))
}

/// Lists entries, the newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries", operation_id = "list_entries", tag = "knowledge",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Its name or its id."), Listed),
    responses((status = 200, description = "A page of entries.", body = Page<EntryTold>)))]
async fn list_entries(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InQuery(listed): InQuery<Listed>,
) -> Result<Json<Page<EntryTold>>, Problem> {
    let filter = Filter {
        kind: in_query(parsed::<Kind>("kind", listed.kind.as_deref()))?,
        memory: in_query(parsed::<Memory>("memory", listed.memory.as_deref()))?,
        status: in_query(parsed::<Status>("status", listed.status.as_deref()))?,
        tag: in_query(parsed("tag", listed.tag.as_deref()))?,
        lens: in_query(parsed("lens", listed.lens.as_deref()))?,
        shelf: match listed.shelf {
            ShelfName::Live => Shelf::Live,
            ShelfName::Archived => Shelf::Archived,
            ShelfName::Retracted => Shelf::Retracted,
            ShelfName::All => Shelf::All,
        },
        ..Filter::default()
    };
    let after = listed.after.as_deref().map(place).transpose()?;
    let reading = reading!(listed);
    let reader = in_query(reading.reader(&it.caller.actor))?;
    let mut desk = desk(&app, it).await?;
    let listing = service::list(&mut desk, &reader, &filter, after.as_ref(), listed.limit).await?;
    desk.finish().await?;
    let told = |entry| EntryTold::new(&EntryObject::new(entry));
    Ok(Json(Page {
        items: listing.entries.iter().map(told).collect(),
        next: listing.next.map(|it| name_of(&it)),
    }))
}

/// Returns an entry by its id, an unambiguous beginning of it, or its alias.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries/{entry}", operation_id = "get_entry", tag = "knowledge",
    security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("entry" = String, Path, description = "Its id, an unambiguous beginning, or its alias."), Reading),
    responses(
        (status = 200, description = "The entry.", body = EntryTold),
        (status = 409, description = "Several ids begin so.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_entry(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InPath((_, wanted)): InPath<(String, String)>,
    InQuery(reading): InQuery<Reading>,
) -> Result<Json<EntryTold>, Problem> {
    let reader = in_query(reading.reader(&it.caller.actor))?;
    let mut desk = desk(&app, it).await?;
    let told = service::entry(&mut desk, &reader, &wanted).await?;
    desk.finish().await?;
    let mut object = EntryObject::new(&told.entry).asked_for(&told.entry, &wanted);
    object = object.with("validity", "unverifiable".into());
    if let Some(artifact) = Artifact::of(&told.entry) {
        object = object.with("artifact", artifact.digest().into());
    }
    if !told.conflicts.is_empty() {
        object = object.with("conflicts", value(&told.conflicts));
    }
    if told.is_revoked {
        object = object.with("revoked", true.into());
    }
    Ok(Json(EntryTold::new(&object)))
}

/// Returns what happened to an entry, the oldest event first, the latest thousand of them.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries/{entry}/history", operation_id = "get_history",
    tag = "knowledge", security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("entry" = String, Path, description = "Its id, an unambiguous beginning, or its alias."), Reading),
    responses(
        (status = 200, description = "Its events.", body = Page<EventTold>),
        (status = 409, description = "Several ids begin so.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_history(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InPath((_, wanted)): InPath<(String, String)>,
    InQuery(reading): InQuery<Reading>,
) -> Result<Json<Page<EventTold>>, Problem> {
    let reader = in_query(reading.reader(&it.caller.actor))?;
    let mut desk = desk(&app, it).await?;
    let history = service::history(&mut desk, &reader, &wanted).await?;
    desk.finish().await?;
    let told = |event| EventTold(value(&EventObject::new(event)));
    Ok(Json(Page {
        items: history.iter().map(told).collect(),
        next: None,
    }))
}

/// Records what somebody found out: as an entry, or as an observation of the run where it is known already.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries", operation_id = "record_entry", tag = "knowledge",
    security(("token" = ["agent"])), request_body = NewEntry,
    params(("workspace" = String, Path, description = "Its name or its id.")),
    responses(
        (status = 201, description = "It is an entry now.", body = RecordedTold),
        (status = 200, description = "It is known already and was noted.", body = RecordedTold)))]
async fn record_entry(
    State(app): State<App>,
    it: InWorkspace<Records>,
    JsonBody(body): JsonBody<NewEntry>,
) -> Result<(StatusCode, Json<RecordedTold>), Problem> {
    let raw = Raw {
        statement: &body.statement,
        kind: &body.kind,
        cites: &body.cites,
        anchors: &body.anchors,
        verify: &body.verify,
        tags: &body.tags,
    };
    let reader = reading!(body).reader(&it.caller.actor)?;
    let recording = Recording::parse(reader, &raw)?;
    let mut desk = desk(&app, it).await?;
    let recorded = service::record(&mut desk, recording).await?;
    desk.finish().await?;
    let (status, told) = match &recorded {
        Recorded::Entry(entry) => (
            StatusCode::CREATED,
            RecordedTold {
                schema: "ken.record.v1",
                outcome: "recorded",
                id: Some(entry.id.to_string()),
                status: Some(entry.status.value.name()),
                quarantined: !entry.quarantine.is_empty(),
            },
        ),
        Recorded::Noted(seen) => (
            StatusCode::OK,
            RecordedTold {
                schema: "ken.record.v1",
                outcome: "noted",
                id: seen.map(|it| it.to_string()),
                status: None,
                quarantined: false,
            },
        ),
    };
    Ok((status, Json(told)))
}

/// Says whether an entry helped whoever was shown it; it counts for how far it helps, not for its truth.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/feedback", operation_id = "give_feedback",
    tag = "knowledge", security(("token" = ["agent"])), request_body = NewFeedback, params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("entry" = String, Path, description = "Its id, an unambiguous beginning, or its alias.")),
    responses((status = 200, description = "It was taken down, once.", body = FeedbackTold)))]
async fn give_feedback(
    State(app): State<App>,
    it: InWorkspace<Records>,
    InPath((_, wanted)): InPath<(String, String)>,
    JsonBody(body): JsonBody<NewFeedback>,
) -> Result<Json<FeedbackTold>, Problem> {
    let reading = reading!(body);
    let reader = reading.reader(&it.caller.actor)?;
    let verdict = match body.helpful {
        true => Feedback::Helpful,
        false => Feedback::Unhelpful,
    };
    let mut desk = desk(&app, it).await?;
    let noted = service::feedback(&mut desk, &reader, &wanted, verdict).await?;
    desk.finish().await?;
    Ok(Json(FeedbackTold {
        schema: "ken.feedback.v1",
        id: noted.id.to_string(),
        helpful: body.helpful,
    }))
}

/// Writes a place in a listing: when the entry was proposed, and which it is.
pub(super) fn name_of(after: &After) -> String {
    let created = after.created.map_or_else(String::new, |at| at.to_string());
    format!("{created}~{}", after.id)
}

/// Reads a place in a listing.
pub(super) fn place(text: &str) -> Result<After, Problem> {
    let wrong = || Problem::new(Trouble::Malformed, "`after` is not `next` of a page");
    if page::CURSOR_CHARS_MAX < text.len() {
        return Err(wrong());
    }
    let (created, id) = text.split_once('~').ok_or_else(wrong)?;
    let created = match created {
        "" => None,
        created => Some(created.parse().map_err(|_| wrong())?),
    };
    let id = id.parse().map_err(|_| wrong())?;
    Ok(After { created, id })
}
