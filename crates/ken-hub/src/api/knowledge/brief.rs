//! `GET /v1/briefing/{workspace}`: what to know before work begins, and how knowledge fares.

use axum::Json;
use axum::extract::State;
use ken_mcp::ask::QUERY_BYTES_MAX;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{check_text, desk, in_query, places, reading, work};
use crate::api::App;
use crate::api::body::InQuery;
use crate::api::caller::{InWorkspace, Reads};
use crate::api::problem::Problem;
use crate::service::{self, Briefing};

/// What the briefing is for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct For {
    /// What is going to be done.
    #[serde(default)]
    #[param(max_length = 16384, required = false)]
    task: String,
    /// Files and folders in hand, separated by commas.
    #[serde(default)]
    #[param(max_length = 16384, required = false, example = "src/pay.rs,src/queue")]
    paths: String,
    /// For whom: kinds this role prefers come sooner.
    #[serde(default)]
    #[param(nullable = false, example = "reviewer")]
    role: Option<String>,
    /// The run it is for: chance keeps some entries from some of its agents.
    #[serde(default)]
    #[param(max_length = 64, nullable = false)]
    run: Option<String>,
    /// The agent it is for; the caller without.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    agent: Option<String>,
    /// The conversation it is for.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    session: Option<String>,
}

/// What to know before work begins, `ken.brief.v1`: `text` is all of it as an agent reads it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Briefing, example = json!({"schema": "ken.brief.v1", "served_by": "static", "norms": [], "known": [],
    "global": [], "text": "## What to know\n", "insights": []}))]
pub(super) struct BriefingTold {
    schema: &'static str,
    served_by: &'static str,
    /// Norms that hold for what is in hand, the nearest first, a line each.
    #[schema(value_type = Vec<Object>)]
    norms: Value,
    /// The few entries worth knowing.
    #[schema(value_type = Vec<Object>)]
    known: Value,
    /// What the organisation knows, beneath everything verified here.
    #[schema(value_type = Vec<Object>)]
    global: Value,
    text: String,
    /// What fourteen rules say about how knowledge fares, the gravest first; they recommend and never override.
    #[schema(value_type = Vec<Object>)]
    insights: Value,
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_briefing))
}

/// Says what to know before work begins, and writes down what was shown to whom.
#[utoipa::path(get, path = "/v1/briefing/{workspace}", operation_id = "get_briefing", tag = "knowledge",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Its name or its id."), For),
    responses((status = 200, description = "The briefing.", body = BriefingTold)))]
async fn get_briefing(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InQuery(asked): InQuery<For>,
) -> Result<Json<BriefingTold>, Problem> {
    in_query(check_text("task", &asked.task, QUERY_BYTES_MAX))?;
    let paths = asked.paths.split(',').map(str::trim);
    let paths = paths.filter(|it| !it.is_empty()).map(ToOwned::to_owned);
    let reading = reading!(asked);
    let briefing = Briefing {
        reader: in_query(reading.reader(&it.caller.actor))?,
        paths: in_query(places(paths.collect()))?,
        role: in_query(work(asked.role.as_deref()))?,
        task: asked.task,
    };
    let mut desk = desk(&app, it).await?;
    let briefed = service::brief(&mut desk, briefing).await?;
    desk.finish().await?;
    Ok(Json(BriefingTold {
        schema: "ken.brief.v1",
        served_by: service::served_by(),
        norms: json!(briefed.norms.shown),
        known: json!(briefed.known.shown),
        global: json!(briefed.beside.shown()),
        text: briefed.text(),
        insights: json!(briefed.insights),
    }))
}
