//! Runs: who was shown what, what they found, and what follows when the work ends.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ken_core::actor::Actor;
use ken_core::event::Outcome;
use ken_core::object::{ClosedObject, PastObject, RunObject};
use ken_core::run::close::Ending;
use ken_core::run::{Finding, Member, Note, Run, Witness};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{desk, parsed, reading, value};
use crate::api::App;
use crate::api::body::{InPath, JsonBody, shortened};
use crate::api::caller::{InWorkspace, Reads, Records};
use crate::api::problem::Problem;
use crate::service::{self, NewRun, Observation, raw};

/// A run to be opened.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"agents": [{"agent": "agent:reviewer-1", "lens": "security"}, {"agent": "agent:reviewer-2"}],
    "witness": "orchestrator", "task": "review of the payment change"}))]
pub(super) struct OpenRun {
    /// Its name: letters, digits, `-` and `_`; made up without.
    #[serde(default)]
    #[schema(nullable = false, max_length = 64, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    id: Option<String>,
    /// Those whose context the witness knows from its beginning.
    #[serde(default)]
    #[schema(max_items = 64)]
    agents: Vec<RunAgent>,
    #[serde(default)]
    witness: WitnessName,
    /// The thread of work it belongs to.
    #[serde(default)]
    #[schema(nullable = false)]
    thread: Option<String>,
    /// What is going to be done.
    #[serde(default)]
    #[schema(nullable = false)]
    task: Option<String>,
}

/// An agent of a run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunAgent {
    #[schema(example = "agent:reviewer-1")]
    agent: String,
    #[serde(default)]
    #[schema(nullable = false)]
    role: Option<String>,
    #[serde(default)]
    #[schema(nullable = false)]
    lens: Option<String>,
    /// The conversation it is in, if that began before the run.
    #[serde(default)]
    #[schema(nullable = false, max_length = 256)]
    session: Option<String>,
    /// The agents that told it what to do.
    #[serde(default)]
    #[schema(max_items = 50)]
    told_by: Vec<String>,
}

/// Who knows everything that agents were shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Witness)]
enum WitnessName {
    #[default]
    Nobody,
    /// Whoever wrote the agents' prompts.
    Orchestrator,
    /// Hooks that saw every read.
    Hooks,
}

/// How a run ended.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"outcome": "succeeded", "quality": 0.8, "rounds": 3, "cost_micros": 120000}))]
pub(super) struct CloseRun {
    outcome: OutcomeName,
    /// From 0 to 1.
    #[serde(default)]
    #[schema(nullable = false, minimum = 0, maximum = 1)]
    quality: Option<f64>,
    #[serde(default)]
    rounds: u32,
    /// Millionths of a currency's unit.
    #[serde(default)]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    cost_micros: u64,
    /// How it was gone about.
    #[serde(default)]
    #[schema(nullable = false)]
    strategy: Option<String>,
}

/// How work ended.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Outcome)]
enum OutcomeName {
    Succeeded,
    Failed,
    Abandoned,
}

/// What an agent found.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"statement": "The gateway answers twice after a timeout.", "run": "R-0a1b2c3d4e",
    "agent": "agent:reviewer-1", "severity": 7.5, "confidence": 8}))]
pub(super) struct NewFinding {
    #[schema(max_length = 8192)]
    statement: String,
    /// Code it rests on: path#symbol, path:10-20 or path.
    #[serde(default)]
    #[schema(max_items = 50)]
    anchors: Vec<String>,
    /// Steps that check it.
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
    /// Whether somebody looked and found that it is nothing.
    #[serde(default)]
    dismissed: bool,
    /// The run it was found in; one that Ken makes without, which confirms nothing.
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

/// Something that happened in a run: `note` is one of joined, shown, saw_everything, said, used, ended, gap; the other
/// members belong to it, as in the notes a repository keeps.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(value_type = Object, example = json!({"note": "used", "agent": "agent:reviewer-1", "entries": ["L-7k2f5qm3"]}))]
pub(super) struct NewNote(Value);

/// An open run, `ken.run.v1`: who takes part and what each saw.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run, value_type = Object, example = json!({"schema": "ken.run.v1", "run": "R-0a1b2c3d4e", "implicit": false,
    "witness": "orchestrator", "complete": true, "opened": "2026-11-14T22:51:03.120Z", "agents": []}))]
pub(super) struct RunTold(Value);

/// Runs: open ones, the oldest first, and those that ended, the latest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Runs)]
pub(super) struct RunsTold {
    open: Vec<RunTold>,
    #[schema(value_type = Vec<Object>)]
    ended: Vec<Value>,
}

/// What closing a run did, `ken.run_closed.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunClosed, value_type = Object, example = json!({"schema": "ken.run_closed.v1", "run": "R-0a1b2c3d4e",
    "outcome": "succeeded", "touched": 3, "found": [], "restored": [], "archived": [], "promoted": [], "gained": [], "refused": []}))]
pub(super) struct ClosedTold(Value);

/// What was noted, `ken.observe.v1`: what it confirms or becomes is decided when the run is closed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Observed, example = json!({"schema": "ken.observe.v1", "run": "R-0a1b2c3d4e"}))]
pub(super) struct ObservedTold {
    schema: &'static str,
    run: String,
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_runs, open_run))
        .routes(routes!(get_run))
        .routes(routes!(note_run))
        .routes(routes!(close_run))
        .routes(routes!(observe))
}

fn told(run: &Run) -> RunTold {
    RunTold(value(&RunObject::new(run)))
}

/// Lists runs.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/runs", operation_id = "list_runs", tag = "runs",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "The fifty oldest open runs, and up to two hundred that ended in the last ninety days.", body = RunsTold)))]
async fn list_runs(
    State(app): State<App>,
    it: InWorkspace<Reads>,
) -> Result<Json<RunsTold>, Problem> {
    let mut desk = desk(&app, it).await?;
    let open = service::open_runs(&mut desk).await?;
    let ended = service::past_runs(&mut desk).await?;
    desk.finish().await?;
    Ok(Json(RunsTold {
        open: open.iter().map(told).collect(),
        ended: ended.iter().map(|it| value(&PastObject::new(it))).collect(),
    }))
}

/// Opens a run: one unit of work by one or more agents.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/runs", operation_id = "open_run", tag = "runs",
    security(("token" = ["agent"])), request_body = OpenRun,
    params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 201, description = "It is open.", body = RunTold)))]
async fn open_run(
    State(app): State<App>,
    it: InWorkspace<Records>,
    JsonBody(body): JsonBody<OpenRun>,
) -> Result<(StatusCode, Json<RunTold>), Problem> {
    let wish = NewRun {
        id: body.id,
        agents: body
            .agents
            .into_iter()
            .map(RunAgent::member)
            .collect::<Result<_, _>>()?,
        witness: match body.witness {
            WitnessName::Nobody => Witness::Nobody,
            WitnessName::Orchestrator => Witness::Orchestrator,
            WitnessName::Hooks => Witness::Hooks,
        },
        thread: parsed("thread", body.thread.as_deref())?,
        task: parsed("task", body.task.as_deref())?,
    };
    let mut desk = desk(&app, it).await?;
    let run = service::open(&mut desk, wish).await?;
    desk.finish().await?;
    Ok((StatusCode::CREATED, Json(told(&run))))
}

/// Returns an open run.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/runs/{run}", operation_id = "get_run", tag = "runs",
    security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("run" = String, Path, description = "The run's name.")),
    responses((status = 200, description = "The run.", body = RunTold)))]
async fn get_run(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InPath((_, id)): InPath<(String, String)>,
) -> Result<Json<RunTold>, Problem> {
    let mut desk = desk(&app, it).await?;
    let run = service::run(&mut desk, &id).await?;
    desk.finish().await?;
    Ok(Json(told(&run)))
}

/// Writes down what happened in an open run.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/runs/{run}/notes", operation_id = "note_run", tag = "runs",
    security(("token" = ["agent"])), request_body = NewNote, params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("run" = String, Path, description = "The run's name.")),
    responses((status = 200, description = "The run with the note.", body = RunTold)))]
async fn note_run(
    State(app): State<App>,
    it: InWorkspace<Records>,
    InPath((_, id)): InPath<(String, String)>,
    JsonBody(NewNote(body)): JsonBody<NewNote>,
) -> Result<Json<RunTold>, Problem> {
    let note: Note = serde_json::from_value(body).map_err(|error| {
        let error = shortened(&error.to_string());
        Problem::invalid(format!("this is no note: {error}; see /docs"))
    })?;
    let mut desk = desk(&app, it).await?;
    let run = service::note(&mut desk, &id, note).await?;
    desk.finish().await?;
    Ok(Json(told(&run)))
}

/// Closes a run and writes down everything that follows from it, once.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/runs/{run}/close", operation_id = "close_run", tag = "runs",
    security(("token" = ["agent"])), request_body = CloseRun, params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("run" = String, Path, description = "The run's name.")),
    responses((status = 200, description = "What followed.", body = ClosedTold)))]
async fn close_run(
    State(app): State<App>,
    it: InWorkspace<Records>,
    InPath((_, id)): InPath<(String, String)>,
    JsonBody(body): JsonBody<CloseRun>,
) -> Result<Json<ClosedTold>, Problem> {
    let ending = Ending {
        outcome: match body.outcome {
            OutcomeName::Succeeded => Outcome::Succeeded,
            OutcomeName::Failed => Outcome::Failed,
            OutcomeName::Abandoned => Outcome::Abandoned,
        },
        quality_milli: body
            .quality
            .map(|it| milli("quality", it, 1.0))
            .transpose()?,
        rounds: body.rounds,
        cost_micros: body.cost_micros,
        strategy: parsed("strategy", body.strategy.as_deref())?,
    };
    let mut desk = desk(&app, it).await?;
    let closed = service::close(&mut desk, &id, &ending).await?;
    desk.finish().await?;
    Ok(Json(ClosedTold(value(&ClosedObject::new(&closed)))))
}

/// Writes down what an agent found; what it confirms or becomes is decided when the run is closed.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/observations", operation_id = "observe", tag = "runs",
    security(("token" = ["agent"])), request_body = NewFinding,
    params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 201, description = "It was noted.", body = ObservedTold)))]
async fn observe(
    State(app): State<App>,
    it: InWorkspace<Records>,
    JsonBody(body): JsonBody<NewFinding>,
) -> Result<(StatusCode, Json<ObservedTold>), Problem> {
    let finding = Finding {
        statement: raw::one("statement", &body.statement)?,
        evidence: raw::anchors(&body.anchors)?,
        verify: raw::several("verify", &body.verify)?,
        severity_milli: milli("severity", body.severity, 10.0)?,
        confidence_milli: milli("confidence", body.confidence, 10.0)?,
        dismissed: body.dismissed,
    };
    let reader = reading!(body).reader(&it.caller.actor)?;
    let mut desk = desk(&app, it).await?;
    let run = service::observe(&mut desk, Observation { reader, finding }).await?;
    desk.finish().await?;
    let told = ObservedTold {
        schema: "ken.observe.v1",
        run: run.id,
    };
    Ok((StatusCode::CREATED, Json(told)))
}

impl RunAgent {
    fn member(self) -> Result<(Actor, Member), Problem> {
        let agent: Actor = raw::one("agent", &self.agent)?;
        self.session
            .as_deref()
            .map_or(Ok(()), service::check_session)?;
        let told_by: BTreeSet<Actor> = raw::several("told_by", &self.told_by)?;
        let member = Member {
            role: parsed("role", self.role.as_deref())?,
            lens: parsed("lens", self.lens.as_deref())?,
            session: self.session,
            told_by,
            declared: true,
        };
        Ok((agent, member))
    }
}

/// Returns a number between 0 and `max` in thousandths.
fn milli(name: &str, number: f64, max: f64) -> Result<u16, Problem> {
    if !(0.0..=max).contains(&number) {
        return Err(Problem::invalid(format!("`{name}` goes from 0 to {max}")));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between zero and ten thousand"
    )]
    let milli = (number * 1000.0).round() as u16;
    Ok(milli)
}
