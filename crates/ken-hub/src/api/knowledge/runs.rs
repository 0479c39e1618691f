//! Run endpoints: open, list, note, observe, close.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ken_core::json::{ClosedRunJson, OpenRunJson, PastRunJson};
use ken_core::ledger::event::Outcome;
use ken_core::trust::run::closing::RunEnding;
use ken_core::trust::run::{Run, RunFinding, RunMember, RunNote, RunWitness};
use ken_core::values::actor::Actor;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{open_session, parse_optional, reader_params, to_json};
use crate::api::AppState;
use crate::api::body::{JsonBody, PathParams, truncate_message};
use crate::api::caller::{AtLeastAgent, AtLeastReader, RequireWorkspaceRole};
use crate::api::problem::Problem;
use crate::service::{self, ObservedFinding, OpenRunRequest, parse};

/// Request body for a new run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = OpenRunBody, example = json!({"agents": [{"agent": "agent:reviewer-1", "lens": "security"}, {"agent": "agent:reviewer-2"}],
    "witness": "orchestrator", "task": "review of the payment change"}))]
pub(super) struct OpenRunBody {
    /// Id of the run: letters, digits, `-` and `_`. Default: a generated id.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    id: Option<String>,
    /// Agents whose context the witness knows from the start.
    #[serde(default)]
    #[schema(max_items = 64)]
    agents: Vec<RunAgentBody>,
    #[serde(default)]
    witness: WitnessParam,
    /// Thread of work the run belongs to.
    #[serde(default)]
    #[schema(nullable = false)]
    thread: Option<String>,
    /// Planned work.
    #[serde(default)]
    #[schema(nullable = false)]
    task: Option<String>,
}

/// An agent of a run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunAgentBody)]
pub(super) struct RunAgentBody {
    #[schema(example = "agent:reviewer-1")]
    agent: String,
    #[serde(default)]
    #[schema(nullable = false)]
    role: Option<String>,
    #[serde(default)]
    #[schema(nullable = false)]
    lens: Option<String>,
    /// Session of the agent, if it started before the run.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
    /// Agents that instructed it.
    #[serde(default)]
    #[schema(max_items = 50)]
    told_by: Vec<String>,
}

/// Source of complete knowledge about all exposures of a run's agents.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RunWitness)]
enum WitnessParam {
    #[default]
    Nobody,
    /// The orchestrator, which wrote the agents' prompts.
    Orchestrator,
    /// Hooks, which observed every read.
    Hooks,
}

/// Request body that closes a run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CloseRunBody, example = json!({"outcome": "succeeded", "quality": 0.8, "rounds": 3, "cost_micros": 120000}))]
pub(super) struct CloseRunBody {
    outcome: OutcomeParam,
    /// From 0 to 1.
    #[serde(default)]
    #[schema(nullable = false, minimum = 0, maximum = 1)]
    quality: Option<f64>,
    #[serde(default)]
    rounds: u32,
    /// Cost in millionths of a currency unit.
    #[serde(default)]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    cost_micros: u64,
    /// Strategy used.
    #[serde(default)]
    #[schema(nullable = false)]
    strategy: Option<String>,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Outcome)]
enum OutcomeParam {
    Succeeded,
    Failed,
    Abandoned,
}

/// Request body for a finding of an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FindingBody, example = json!({"statement": "The gateway answers twice after a timeout.", "run": "R-0a1b2c3d4e",
    "agent": "agent:reviewer-1", "severity": 7.5, "confidence": 8}))]
pub(super) struct FindingBody {
    #[schema(max_length = 8192)]
    statement: String,
    /// Code locations: path#symbol, path:10-20 or path.
    #[serde(default)]
    #[schema(max_items = 50)]
    anchors: Vec<String>,
    /// Steps that verify it.
    #[serde(default)]
    #[schema(max_items = 50)]
    verify: Vec<String>,
    /// From 0 to 10.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 10)]
    severity: f64,
    /// From 0 to 10.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 10)]
    confidence: f64,
    /// True if a review found that it is not a problem.
    #[serde(default)]
    dismissed: bool,
    /// Run of the finding. Default: an implicit run, which confirms nothing.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64)]
    run: Option<String>,
    /// Agent that made the finding. Default: the caller.
    #[serde(default)]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Session of the agent.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
}

/// A note in a run: `note` is one of joined, shown, saw_everything, said, used, ended, gap. The
/// other members depend on it, as in the run notes of a repository.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RunNoteBody, value_type = Object, example = json!({"note": "used", "agent": "agent:reviewer-1", "entries": ["L-7k2f5qm3"]}))]
pub(super) struct RunNoteBody(Value);

/// An open run, `ken.run.v1`: its agents and their exposures.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run, value_type = Object, example = json!({"schema": "ken.run.v1", "run": "R-0a1b2c3d4e", "implicit": false,
    "witness": "orchestrator", "complete": true, "opened": "2026-11-14T22:51:03.120Z", "agents": []}))]
pub(super) struct RunResponse(Value);

/// Runs: open ones oldest first, closed ones newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Runs)]
pub(super) struct RunListResponse {
    open: Vec<RunResponse>,
    #[schema(value_type = Vec<Object>)]
    ended: Vec<Value>,
}

/// Effects of closing a run, `ken.run_closed.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunClosed, value_type = Object, example = json!({"schema": "ken.run_closed.v1", "run": "R-0a1b2c3d4e",
    "outcome": "succeeded", "touched": 3, "found": [], "restored": [], "archived": [], "promoted": [], "gained": [], "refused": []}))]
pub(super) struct CloseRunResponse(Value);

/// A recorded finding, `ken.observe.v1`. Closing the run decides the entry it confirms or becomes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FindingResponse, example = json!({"schema": "ken.observe.v1", "run": "R-0a1b2c3d4e"}))]
pub(super) struct FindingResponse {
    schema: &'static str,
    run: String,
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_runs, open_run))
        .routes(routes!(get_run))
        .routes(routes!(note_run))
        .routes(routes!(close_run))
        .routes(routes!(observe))
}

fn run_response(run: &Run) -> RunResponse {
    RunResponse(to_json(&OpenRunJson::new(run)))
}

/// Lists runs.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/runs", operation_id = "list_runs", tag = "runs",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "The 50 oldest open runs, and up to 200 runs that ended in the last 90 days.", body = RunListResponse)))]
async fn list_runs(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
) -> Result<Json<RunListResponse>, Problem> {
    let mut session = open_session(&app, access).await?;
    let open = service::list_open_runs(&mut session).await?;
    let ended = service::list_past_runs(&mut session).await?;
    session.commit().await?;
    let closed = |run| to_json(&PastRunJson::new(run));
    Ok(Json(RunListResponse {
        open: open.iter().map(run_response).collect(),
        ended: ended.iter().map(closed).collect(),
    }))
}

/// Opens a run: one unit of work by one or more agents.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/runs", operation_id = "open_run", tag = "runs",
    security(("token" = ["agent"])), request_body = OpenRunBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 201, description = "The run is open.", body = RunResponse)))]
async fn open_run(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    JsonBody(body): JsonBody<OpenRunBody>,
) -> Result<(StatusCode, Json<RunResponse>), Problem> {
    let request = OpenRunRequest {
        id: body.id,
        agents: body
            .agents
            .into_iter()
            .map(RunAgentBody::into_member)
            .collect::<Result<_, _>>()?,
        witness: match body.witness {
            WitnessParam::Nobody => RunWitness::Nobody,
            WitnessParam::Orchestrator => RunWitness::Orchestrator,
            WitnessParam::Hooks => RunWitness::Hooks,
        },
        thread: parse_optional("thread", body.thread.as_deref())?,
        task: parse_optional("task", body.task.as_deref())?,
    };
    let mut session = open_session(&app, access).await?;
    let run = service::load_open_run(&mut session, request).await?;
    session.commit().await?;
    Ok((StatusCode::CREATED, Json(run_response(&run))))
}

/// Returns an open run.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/runs/{run}", operation_id = "get_run", tag = "runs",
    security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("run" = String, Path, description = "Id of the run.")),
    responses((status = 200, description = "The run.", body = RunResponse)))]
async fn get_run(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    PathParams((_, id)): PathParams<(String, String)>,
) -> Result<Json<RunResponse>, Problem> {
    let mut session = open_session(&app, access).await?;
    let run = service::get_open_run(&mut session, &id).await?;
    session.commit().await?;
    Ok(Json(run_response(&run)))
}

/// Adds a note to an open run.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/runs/{run}/notes", operation_id = "note_run", tag = "runs",
    security(("token" = ["agent"])), request_body = RunNoteBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("run" = String, Path, description = "Id of the run.")),
    responses((status = 200, description = "The run with the note.", body = RunResponse)))]
async fn note_run(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    PathParams((_, id)): PathParams<(String, String)>,
    JsonBody(RunNoteBody(body)): JsonBody<RunNoteBody>,
) -> Result<Json<RunResponse>, Problem> {
    let note: RunNote = serde_json::from_value(body).map_err(|error| {
        let error = truncate_message(&error.to_string());
        Problem::invalid(format!("this is not a valid note: {error}; see /docs"))
    })?;
    let mut session = open_session(&app, access).await?;
    let run = service::record_note(&mut session, &id, note).await?;
    session.commit().await?;
    Ok(Json(run_response(&run)))
}

/// Closes a run and appends the resulting events, exactly once.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/runs/{run}/close", operation_id = "close_run", tag = "runs",
    security(("token" = ["agent"])), request_body = CloseRunBody, params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("run" = String, Path, description = "Id of the run.")),
    responses((status = 200, description = "Effects of closing the run.", body = CloseRunResponse)))]
async fn close_run(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    PathParams((_, id)): PathParams<(String, String)>,
    JsonBody(body): JsonBody<CloseRunBody>,
) -> Result<Json<CloseRunResponse>, Problem> {
    let ending = RunEnding {
        outcome: match body.outcome {
            OutcomeParam::Succeeded => Outcome::Succeeded,
            OutcomeParam::Failed => Outcome::Failed,
            OutcomeParam::Abandoned => Outcome::Abandoned,
        },
        quality_milli: body
            .quality
            .map(|quality| to_milli("quality", quality, 1.0))
            .transpose()?,
        rounds: body.rounds,
        cost_micros: body.cost_micros,
        strategy: parse_optional("strategy", body.strategy.as_deref())?,
    };
    let mut session = open_session(&app, access).await?;
    let closed = service::close_run(&mut session, &id, &ending).await?;
    session.commit().await?;
    Ok(Json(CloseRunResponse(to_json(&ClosedRunJson::new(
        &closed,
    )))))
}

/// Records a finding of an agent. Closing the run decides which entry it confirms or becomes.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/observations", operation_id = "observe", tag = "runs",
    security(("token" = ["agent"])), request_body = FindingBody,
    params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 201, description = "The finding was recorded.", body = FindingResponse)))]
async fn observe(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastAgent>,
    JsonBody(body): JsonBody<FindingBody>,
) -> Result<(StatusCode, Json<FindingResponse>), Problem> {
    let finding = RunFinding {
        statement: parse::parse_field("statement", &body.statement)?,
        anchors: parse::parse_anchors(&body.anchors)?,
        verify: parse::parse_list("verify", &body.verify)?,
        severity_milli: to_milli("severity", body.severity, 10.0)?,
        confidence_milli: to_milli("confidence", body.confidence, 10.0)?,
        dismissed: body.dismissed,
    };
    let reader = reader_params!(body).into_reader(&access.caller.actor)?;
    let mut session = open_session(&app, access).await?;
    let run = service::record_finding(&mut session, ObservedFinding { reader, finding }).await?;
    session.commit().await?;
    let response = FindingResponse {
        schema: "ken.observe.v1",
        run: run.id,
    };
    Ok((StatusCode::CREATED, Json(response)))
}

impl RunAgentBody {
    fn into_member(self) -> Result<(Actor, RunMember), Problem> {
        let agent: Actor = parse::parse_field("agent", &self.agent)?;
        self.session
            .as_deref()
            .map_or(Ok(()), service::check_session)?;
        let told_by: BTreeSet<Actor> = parse::parse_list("told_by", &self.told_by)?;
        // Agents named when the run is opened: the witness knows their whole context.
        let member = RunMember {
            role: parse_optional("role", self.role.as_deref())?,
            lens: parse_optional("lens", self.lens.as_deref())?,
            session: self.session,
            told_by,
            declared: true,
        };
        Ok((agent, member))
    }
}

/// Converts a number between 0 and `max` to thousandths.
///
/// Events store fixed-point numbers, because floating-point sums depend on the order of addition.
fn to_milli(name: &str, number: f64, max: f64) -> Result<u16, Problem> {
    if !(0.0..=max).contains(&number) {
        return Err(Problem::invalid(format!(
            "`{name}` must be from 0 to {max}"
        )));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between zero and ten thousand"
    )]
    let milli = (number * 1000.0).round() as u16;
    Ok(milli)
}
