//! Endpoints of the verbs on entries and events: confirm, edit, cite, retract, pin, mute, resolve,
//! redact and revoke. Each has the name of its command.
//!
//! The response has the verdicts on the events and no text of the entry, so calling a verb does not
//! count as reading the entry.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ken_core::decide::{ContradictionResolution, Refusal};
use ken_core::ledger::event::{BlankReason, Origin, Overlay, RetractReason, Switch};
use ken_core::ledger::source::ContributionSource;
use ken_core::values::id::{EntryId, EventId};
use ken_remote::wire::EventVerdict;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{open_session, parse_optional};
use crate::api::AppState;
use crate::api::body::{JsonBody, OptionalJsonBody, PathParams};
use crate::api::caller::{
    AtLeastAgent, AtLeastCurator, AtLeastMember, AtLeastReader, RequireRole, RequireWorkspaceRole,
};
use crate::api::problem::Problem;
use crate::database::HubName;
use crate::ids::WorkspaceId;
use crate::service::parse::{self, RawEditFields};
use crate::service::{
    self, RevokeRequest, RevokedWorkspace, ServiceError, VerbOutcome, WorkspaceSession,
};

/// Result of a verb, `ken.change.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Change, example = json!({"schema": "ken.change.v1", "verdict": "admitted", "entries": ["L-7k2f5qm3"],
    "events": [{"id": "01JCPQ3W6M7Y2K8T4D5F6G7H8J", "verdict": "admitted"}]}))]
pub(super) struct ChangeResponse {
    schema: &'static str,
    verdict: ChangeVerdict,
    /// Why the change waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    /// The entries that the events are about.
    entries: Vec<String>,
    /// The events that were written, with one verdict each.
    events: Vec<EventVerdict>,
}

/// Verdict on a change: `admitted` if it counts, `quarantined` if it waits for a curator.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ChangeVerdict)]
enum ChangeVerdict {
    Admitted,
    Quarantined,
}

/// Date of a confirmation.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ConfirmBody, example = json!({"on": "2026-11-14"}))]
pub(super) struct ConfirmBody {
    /// Default: today, in UTC.
    #[serde(default)]
    #[schema(nullable = false, format = "date")]
    on: Option<String>,
    /// Digest of the text that you read, `artifact` of the entry. If the entry has another text by
    /// now, nothing is confirmed.
    #[serde(default)]
    #[schema(nullable = false, max_length = 128)]
    artifact: Option<String>,
}

/// Changes of an entry. A field that is absent stays; an empty text or list clears the field.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EditBody, example = json!({"statement": "Retry a payment once, after a second.", "tags": ["payments"]}))]
pub(super) struct EditBody {
    /// One to three sentences, general, without secrets. Further sentences become the body.
    #[serde(default)]
    #[schema(nullable = false, max_length = 20480)]
    statement: Option<String>,
    /// Further explanation.
    #[serde(default)]
    #[schema(nullable = false, max_length = 8192)]
    body: Option<String>,
    /// Code locations, which replace those of the entry: path#symbol, path:10-20 or path.
    #[serde(default)]
    #[schema(nullable = false, max_items = 50)]
    anchors: Option<Vec<String>>,
    /// Steps that verify it, which replace those of the entry.
    #[serde(default)]
    #[schema(nullable = false, max_items = 50)]
    verify: Option<Vec<String>>,
    /// Conditions, which replace those of the entry.
    #[serde(default)]
    #[schema(nullable = false, max_items = 50)]
    depends_on: Option<Vec<String>>,
    /// Globs of the files it is about, which replace those of the entry.
    #[serde(default)]
    #[schema(nullable = false, max_items = 50)]
    applies_to: Option<Vec<String>>,
    /// Tags to add.
    #[serde(default)]
    #[schema(max_items = 50)]
    tags: Vec<String>,
    /// Tags to remove.
    #[serde(default)]
    #[schema(max_items = 50)]
    untag: Vec<String>,
    /// Review perspective.
    #[serde(default)]
    #[schema(nullable = false)]
    lens: Option<String>,
    /// Reason, for the history.
    #[serde(default)]
    #[schema(nullable = false)]
    note: Option<String>,
}

/// Sources to add to an entry.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CiteBody, example = json!({"cites": ["commit:4f2a9c1"]}))]
pub(super) struct CiteBody {
    /// Citations: `commit:HASH`, `pr:NUMBER`, `doc:PATH`, `test:NAME` or `transcript:HASH`.
    #[schema(min_items = 1, max_items = 50)]
    cites: Vec<String>,
}

/// Reason of a retraction.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RetractBody, example = json!({"reason": "false", "note": "Measured again"}))]
pub(super) struct RetractBody {
    /// `false` and `unwanted` also refuse the same claim when it is added again.
    #[serde(default)]
    reason: RetractReasonParam,
    /// Explanation, for the history.
    #[serde(default)]
    #[schema(nullable = false)]
    note: Option<String>,
}

/// Reason why an entry is retracted.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RetractReason)]
enum RetractReasonParam {
    False,
    #[default]
    Unwanted,
    Duplicate,
    Obsolete,
    Withdrawn,
}

/// State of an overlay.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OverlayBody, example = json!({"off": false}))]
pub(super) struct OverlayBody {
    /// Removes the overlay.
    #[serde(default)]
    off: bool,
}

/// A pinned or muted entry, `ken.overlay.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OverlayResponse, example = json!({"schema": "ken.overlay.v1", "id": "L-7k2f5qm3", "overlay": "pin", "set": true}))]
pub(super) struct OverlayResponse {
    schema: &'static str,
    id: String,
    /// `pin` or `mute`.
    overlay: &'static str,
    /// False if the overlay was removed.
    set: bool,
}

/// Resolution of a contradiction: exactly one of `keep`, `both` and `scope`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ResolveBody, example = json!({"one": "L-7k2f5qm3", "other": "L-9d2c4w8z", "keep": "L-7k2f5qm3"}))]
pub(super) struct ResolveBody {
    /// One entry.
    #[schema(max_length = 1024)]
    one: String,
    /// The other entry.
    #[schema(max_length = 1024)]
    other: String,
    /// The entry to keep; it supersedes the other.
    #[serde(default)]
    #[schema(nullable = false, max_length = 1024)]
    keep: Option<String>,
    /// Keeps both entries.
    #[serde(default)]
    both: bool,
    /// Keeps both entries, each limited to a tag: `ID=TAG`.
    #[serde(default)]
    #[schema(max_items = 2)]
    scope: Vec<String>,
}

/// Reason of a redaction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RedactBody, example = json!({"reason": "secret"}))]
pub(super) struct RedactBody {
    reason: RedactReasonParam,
}

/// Reason why an event is redacted.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RedactReason)]
enum RedactReasonParam {
    Secret,
    Personal,
    Legal,
    Other,
}

/// A source to revoke: exactly one of `author` and `origin`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RevokeBody, example = json!({"author": "agent:scraper"}))]
pub(super) struct RevokeBody {
    /// Everything by this author, including its sessions (`agent:NAME/…`).
    #[serde(default)]
    #[schema(nullable = false, example = "agent:scraper")]
    author: Option<String>,
    /// Everything from this origin.
    #[serde(default)]
    #[schema(nullable = false)]
    origin: Option<OriginParam>,
    /// Ends the revocation.
    #[serde(default)]
    undo: bool,
}

/// A source to revoke in every workspace: exactly one of `author` and `origin`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RevokeEverywhereBody, example = json!({"author": "agent:scraper"}))]
pub(super) struct RevokeEverywhereBody {
    /// Everything by this author, including its sessions (`agent:NAME/…`).
    #[serde(default)]
    #[schema(nullable = false, example = "agent:scraper")]
    author: Option<String>,
    /// Everything from this origin.
    #[serde(default)]
    #[schema(nullable = false)]
    origin: Option<OriginParam>,
    /// Ends the revocation.
    #[serde(default)]
    undo: bool,
    /// Continues after this workspace: `next` of the previous response.
    #[serde(default)]
    #[schema(nullable = false, max_length = 63)]
    after: Option<String>,
}

/// Origin of a text.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Origin)]
enum OriginParam {
    Human,
    Agent,
    Ci,
    Import,
    Peer,
    Web,
}

/// Revocation in every workspace that the token can access, `ken.revoked.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RevokedEverywhere, example = json!({"schema": "ken.revoked.v1", "source": "agent:scraper", "revoked": true,
    "workspaces": [{"workspace": "shop-api", "outcome": "changed"}]}))]
pub(super) struct RevokedResponse {
    schema: &'static str,
    source: String,
    /// False if a revocation was ended.
    revoked: bool,
    /// One result per workspace, sorted by name.
    workspaces: Vec<RevokedWorkspaceResponse>,
    /// Present if the time was up before the last workspace: send it as `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
}

/// Revocation in one workspace.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RevokedWorkspace)]
struct RevokedWorkspaceResponse {
    workspace: String,
    outcome: RevocationOutcome,
    /// Why it failed. Repeat the request: a workspace that was changed stays unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Outcome of a revocation in one workspace.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RevocationOutcome)]
enum RevocationOutcome {
    Changed,
    Unchanged,
    Failed,
}

/// Returns the routes of the verbs.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(confirm_entry))
        .routes(routes!(edit_entry))
        .routes(routes!(cite_entry))
        .routes(routes!(retract_entry))
        .routes(routes!(pin_entry))
        .routes(routes!(mute_entry))
        .routes(routes!(resolve_contradiction))
        .routes(routes!(redact_event))
        .routes(routes!(revoke_source))
        .routes(routes!(revoke_everywhere))
}

/// Confirms that an entry still holds. A person's confirmation counts in their own name.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/confirm", operation_id = "confirm_entry",
    tag = "verbs", security(("token" = ["member"])), request_body = ConfirmBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The entry was confirmed.", body = ChangeResponse)))]
async fn confirm_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastMember>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    OptionalJsonBody(body): OptionalJsonBody<ConfirmBody>,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    let on = parse_optional("on", body.on.as_deref())?;
    let workspace = access.workspace;
    let mut session = open_session(&app, access).await?;
    let changed =
        service::confirm_entry(&mut session, &wanted, on, body.artifact.as_deref()).await?;
    commit_change(&app, session, workspace, changed).await
}

/// Edits fields of an entry.
///
/// An agent's edit of an entry that a person wrote or verified waits for a curator (202).
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/edit", operation_id = "edit_entry",
    tag = "verbs", security(("token" = ["agent"])), request_body = EditBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The entry was edited.", body = ChangeResponse),
        (status = 202, description = "The edit waits for a curator.", body = ChangeResponse)))]
async fn edit_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<EditBody>,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    let edit = parse::parse_edit(&RawEditFields {
        statement: body.statement.as_deref(),
        body: body.body.as_deref(),
        anchors: body.anchors.as_deref(),
        verify: body.verify.as_deref(),
        depends_on: body.depends_on.as_deref(),
        applies_to: body.applies_to.as_deref(),
        tags: &body.tags,
        untag: &body.untag,
        lens: body.lens.as_deref(),
        note: body.note.as_deref(),
    })?;
    let (workspace, by) = (access.workspace, access.caller.actor.clone());
    let mut session = open_session(&app, access).await?;
    let changed = service::edit_entry(&mut session, &wanted, edit, &by).await?;
    commit_change(&app, session, workspace, changed).await
}

/// Adds citations to an entry. Citations are never removed.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/cite", operation_id = "cite_entry",
    tag = "verbs", security(("token" = ["agent"])), request_body = CiteBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The citations were added.", body = ChangeResponse),
        (status = 202, description = "A citation waits for a curator.", body = ChangeResponse)))]
async fn cite_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<CiteBody>,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    let cites = parse::parse_list("cites", &body.cites)?;
    let (workspace, by) = (access.workspace, access.caller.actor.clone());
    let mut session = open_session(&app, access).await?;
    let changed = service::cite_entry(&mut session, &wanted, cites, &by).await?;
    commit_change(&app, session, workspace, changed).await
}

/// Retracts an entry that is wrong or unwanted.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/retract", operation_id = "retract_entry",
    tag = "verbs", security(("token" = ["member"])), request_body = RetractBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The entry was retracted.", body = ChangeResponse)))]
async fn retract_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastMember>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    OptionalJsonBody(body): OptionalJsonBody<RetractBody>,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    let note = parse_optional("note", body.note.as_deref())?;
    let workspace = access.workspace;
    let mut session = open_session(&app, access).await?;
    let reason = body.reason.into();
    let changed = service::retract_entry(&mut session, &wanted, reason, note).await?;
    commit_change(&app, session, workspace, changed).await
}

/// Pins an entry for you: it ranks higher in your searches and briefings.
///
/// Nobody else sees it. Requires a person: a program has no overlays.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/pin", operation_id = "pin_entry",
    tag = "verbs", security(("token" = ["reader"])), request_body = OverlayBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The entry was pinned.", body = OverlayResponse)))]
async fn pin_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    OptionalJsonBody(body): OptionalJsonBody<OverlayBody>,
) -> Result<Json<OverlayResponse>, Problem> {
    let session = open_session(&app, access).await?;
    set_overlay(session, &wanted, (Overlay::Pin, "pin"), &body).await
}

/// Mutes an entry for you: your searches and briefings no longer show it.
///
/// Nobody else sees it. Requires a person: a program has no overlays.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/entries/{entry}/mute", operation_id = "mute_entry",
    tag = "verbs", security(("token" = ["reader"])), request_body = OverlayBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry.")),
    responses((status = 200, description = "The entry was muted.", body = OverlayResponse)))]
async fn mute_entry(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    OptionalJsonBody(body): OptionalJsonBody<OverlayBody>,
) -> Result<Json<OverlayResponse>, Problem> {
    let session = open_session(&app, access).await?;
    set_overlay(session, &wanted, (Overlay::Mute, "mute"), &body).await
}

/// Resolves a contradiction between two entries.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/resolve", operation_id = "resolve_contradiction",
    tag = "verbs", security(("token" = ["member"])), request_body = ResolveBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "The contradiction was resolved.", body = ChangeResponse)))]
async fn resolve_contradiction(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastMember>,
    JsonBody(body): JsonBody<ResolveBody>,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    let choices = [body.keep.is_some(), body.both, !body.scope.is_empty()];
    if choices.iter().filter(|it| **it).count() != 1 {
        let detail = "set exactly one of `keep`, `both` and `scope`";
        return Err(Problem::invalid(detail));
    }
    parse::check_items("scope", &body.scope)?;
    let workspace = access.workspace;
    let mut session = open_session(&app, access).await?;
    let pair = (body.one.as_str(), body.other.as_str());
    let how = |one: EntryId, other: EntryId| parse_resolution(&body, one, other);
    let changed = service::resolve_contradiction(&mut session, pair, how).await?;
    commit_change(&app, session, workspace, changed).await
}

/// Redacts an event: deletes its data here and in every clone that pulls.
///
/// Requires a person. A member redacts events they wrote or pushed, a curator any event.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/events/{event}/redact", operation_id = "redact_event",
    tag = "verbs", security(("token" = ["member"])), request_body = RedactBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("event" = String, Path, description = "Id of the event.")),
    responses((status = 200, description = "The event was redacted.", body = ChangeResponse)))]
async fn redact_event(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastMember>,
    PathParams((_, event)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<RedactBody>,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    // Event ids are upper-case base 32, and clients may send them in lower case.
    let id = event.to_ascii_uppercase().parse();
    let id: EventId = id.map_err(|_| Problem::not_found("event"))?;
    let workspace = access.workspace;
    let mut session = open_session(&app, access).await?;
    let changed = service::redact_event(&mut session, id, body.reason.into()).await?;
    commit_change(&app, session, workspace, changed).await
}

/// Revokes an author or an origin in a workspace: its entries are no longer shown.
///
/// Requires a person.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/revoke", operation_id = "revoke_source",
    tag = "verbs", security(("token" = ["curator"])), request_body = RevokeBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "The source was revoked.", body = ChangeResponse)))]
async fn revoke_source(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastCurator>,
    JsonBody(body): JsonBody<RevokeBody>,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    let request = parse_revocation(body.author.as_deref(), body.origin, body.undo)?;
    let workspace = access.workspace;
    let mut session = open_session(&app, access).await?;
    let changed = service::revoke_source(&mut session, &request).await?;
    commit_change(&app, session, workspace, changed).await
}

/// Revokes an author or an origin in every workspace that the token can access.
///
/// Requires a person. Each workspace is changed on its own, and repeating the request is safe.
#[utoipa::path(post, path = "/v1/revoke", operation_id = "revoke_everywhere",
    tag = "verbs", security(("token" = ["curator"])), request_body = RevokeEverywhereBody,
    responses((status = 200, description = "The result per workspace.", body = RevokedResponse)))]
async fn revoke_everywhere(
    State(app): State<AppState>,
    access: RequireRole<AtLeastCurator>,
    JsonBody(body): JsonBody<RevokeEverywhereBody>,
) -> Result<Json<RevokedResponse>, Problem> {
    let request = parse_revocation(body.author.as_deref(), body.origin, body.undo)?;
    if !access.caller.actor.is_human() {
        let what = "revoking a source";
        return Err(ServiceError::PersonNeeded { what }.into());
    }
    let after: Option<HubName> = parse_optional("after", body.after.as_deref())?;
    let (database, context, caller) = (&app.database, app.service_context(), &access.caller);
    let revoked = service::revoke_everywhere(database, &context, caller, &request, after);
    let (results, next) = revoked.await?;
    for changed in results.iter().filter(|it| it.result.is_ok()) {
        app.log_notifier.notify(changed.workspace.id);
    }
    Ok(Json(RevokedResponse {
        schema: "ken.revoked.v1",
        source: request.source.to_string(),
        revoked: request.state == Switch::On,
        workspaces: results.into_iter().map(Into::into).collect(),
        next: next.map(|name| name.to_string()),
    }))
}

/// Commits a change, wakes the streams of the workspace and builds the response.
async fn commit_change(
    app: &AppState,
    session: WorkspaceSession,
    workspace: WorkspaceId,
    changed: VerbOutcome,
) -> Result<(StatusCode, Json<ChangeResponse>), Problem> {
    session.commit().await?;
    if changed.log_changed {
        app.log_notifier.notify(workspace);
    }
    let reason = changed.waits_for().map(ToOwned::to_owned);
    let (status, verdict) = if reason.is_some() {
        (StatusCode::ACCEPTED, ChangeVerdict::Quarantined)
    } else {
        (StatusCode::OK, ChangeVerdict::Admitted)
    };
    let response = ChangeResponse {
        schema: "ken.change.v1",
        verdict,
        reason,
        entries: changed.entries.iter().map(ToString::to_string).collect(),
        events: changed.events,
    };
    Ok((status, Json(response)))
}

async fn set_overlay(
    mut session: WorkspaceSession,
    wanted: &str,
    (overlay, name): (Overlay, &'static str),
    body: &OverlayBody,
) -> Result<Json<OverlayResponse>, Problem> {
    let state = if body.off { Switch::Off } else { Switch::On };
    let entry = service::set_overlay(&mut session, wanted, overlay, state).await?;
    session.commit().await?;
    Ok(Json(OverlayResponse {
        schema: "ken.overlay.v1",
        id: entry.id.to_string(),
        overlay: name,
        set: state == Switch::On,
    }))
}

/// Returns the resolution that a request asks for, in terms of the two entries it names.
fn parse_resolution(
    body: &ResolveBody,
    one: EntryId,
    other: EntryId,
) -> Result<ContradictionResolution, ServiceError> {
    // An entry is named as in `one` or `other`, or by its id.
    let side = |text: &str| {
        let found = [(&body.one, one), (&body.other, other)]
            .into_iter()
            .find(|(named, id)| text == named.as_str() || text == id.to_string());
        found.map(|(_, id)| id).ok_or_else(|| {
            ServiceError::invalid_request(format!("name {one} or {other}: neither is meant"))
        })
    };
    if let Some(kept) = &body.keep {
        return Ok(ContradictionResolution::Keep(side(kept)?));
    }
    if body.both {
        return Ok(ContradictionResolution::Both);
    }
    let mut scopes = Vec::with_capacity(body.scope.len());
    for text in &body.scope {
        let (id, tag) = text
            .split_once('=')
            .ok_or_else(|| ServiceError::invalid_request("`scope`: write ID=TAG"))?;
        scopes.push((side(id)?, parse::parse_field("scope", tag)?));
    }
    Ok(ContradictionResolution::Scoped(scopes))
}

fn parse_revocation(
    author: Option<&str>,
    origin: Option<OriginParam>,
    undo: bool,
) -> Result<RevokeRequest, Problem> {
    let source = match (parse_optional("author", author)?, origin) {
        (Some(author), None) => ContributionSource::Author(author),
        (None, Some(origin)) => ContributionSource::Origin(origin.into()),
        (Some(_), Some(_)) | (None, None) => {
            return Err(Problem::invalid("set exactly one of `author` and `origin`"));
        }
    };
    let state = if undo { Switch::Off } else { Switch::On };
    Ok(RevokeRequest { source, state })
}

impl From<RevokedWorkspace> for RevokedWorkspaceResponse {
    fn from(revoked: RevokedWorkspace) -> Self {
        let (outcome, reason) = match revoked.result {
            Ok(_) => (RevocationOutcome::Changed, None),
            Err(ServiceError::Refused(Refusal::AlreadyRevoked(_) | Refusal::NotRevoked(_))) => {
                (RevocationOutcome::Unchanged, None)
            }
            Err(error) => {
                let problem = Problem::from(error);
                let reason = Some(problem.detail().to_owned());
                (RevocationOutcome::Failed, reason)
            }
        };
        Self {
            workspace: revoked.workspace.name.to_string(),
            outcome,
            reason,
        }
    }
}

impl From<RetractReasonParam> for RetractReason {
    fn from(reason: RetractReasonParam) -> Self {
        match reason {
            RetractReasonParam::False => Self::False,
            RetractReasonParam::Unwanted => Self::Unwanted,
            RetractReasonParam::Duplicate => Self::Duplicate,
            RetractReasonParam::Obsolete => Self::Obsolete,
            RetractReasonParam::Withdrawn => Self::Withdrawn,
        }
    }
}

impl From<RedactReasonParam> for BlankReason {
    fn from(reason: RedactReasonParam) -> Self {
        match reason {
            RedactReasonParam::Secret => Self::Secret,
            RedactReasonParam::Personal => Self::Personal,
            RedactReasonParam::Legal => Self::Legal,
            RedactReasonParam::Other => Self::Other,
        }
    }
}

impl From<OriginParam> for Origin {
    fn from(origin: OriginParam) -> Self {
        match origin {
            OriginParam::Human => Self::Human,
            OriginParam::Agent => Self::Agent,
            OriginParam::Ci => Self::Ci,
            OriginParam::Import => Self::Import,
            OriginParam::Peer => Self::Peer,
            OriginParam::Web => Self::Web,
        }
    }
}
