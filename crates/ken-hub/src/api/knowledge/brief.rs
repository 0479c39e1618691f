//! Briefing endpoint, `GET /v1/briefing/{workspace}`: entries for an agent before it starts work.

use axum::Json;
use axum::extract::State;
use ken_mcp::ask::QUERY_BYTES_MAX;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{
    as_malformed, check_length, check_paths, open_session, parse_agent_role, reader_params,
};
use crate::api::AppState;
use crate::api::body::QueryParams;
use crate::api::caller::{AtLeastReader, RequireWorkspaceRole};
use crate::api::problem::Problem;
use crate::service::{self, BriefingRequest};

/// Query parameters of a briefing.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct BriefingParams {
    /// Planned work.
    #[serde(default)]
    #[param(max_length = 16384, required = false)]
    task: String,
    /// Files and folders being worked on, separated by commas.
    #[serde(default)]
    #[param(max_length = 16384, required = false, example = "src/pay.rs,src/queue")]
    paths: String,
    /// Role of the agent. Kinds this role prefers rank higher.
    #[serde(default)]
    #[param(nullable = false, example = "reviewer")]
    role: Option<String>,
    /// Run of the agent. The holdout withholds some entries from some agents of a run.
    #[serde(default)]
    #[param(max_length = 64, nullable = false)]
    run: Option<String>,
    /// Agent that receives the briefing. Default: the caller.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    agent: Option<String>,
    /// Session of the agent.
    #[serde(default)]
    #[param(max_length = 256, nullable = false)]
    session: Option<String>,
}

/// A briefing, `ken.brief.v1`. `text` is the whole briefing as an agent reads it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Briefing, example = json!({"schema": "ken.brief.v1", "served_by": "static", "norms": [], "known": [],
    "global": [], "text": "## What to know\n", "insights": []}))]
pub(super) struct BriefingResponse {
    schema: &'static str,
    served_by: &'static str,
    /// Norms that apply to the paths, closest match first, one line per norm.
    #[schema(value_type = Vec<Object>)]
    norms: Value,
    /// The most relevant entries.
    #[schema(value_type = Vec<Object>)]
    known: Value,
    /// Entries of the organization, ranked below everything verified in the workspace.
    #[schema(value_type = Vec<Object>)]
    global: Value,
    text: String,
    /// Findings of the health rules, most severe first. They are recommendations.
    #[schema(value_type = Vec<Object>)]
    insights: Value,
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_briefing))
}

/// Returns a briefing and records its entries as exposures of the agent.
#[utoipa::path(get, path = "/v1/briefing/{workspace}", operation_id = "get_briefing", tag = "knowledge",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Name or id of the workspace."), BriefingParams),
    responses((status = 200, description = "The briefing.", body = BriefingResponse)))]
async fn get_briefing(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    QueryParams(params): QueryParams<BriefingParams>,
) -> Result<Json<BriefingResponse>, Problem> {
    as_malformed(check_length("task", &params.task, QUERY_BYTES_MAX))?;
    // axum's `Query` cannot deserialize a list, so the paths share one comma-separated value.
    let parts = params.paths.split(',').map(str::trim);
    let paths = parts.filter(|path| !path.is_empty()).map(ToOwned::to_owned);
    let reader = reader_params!(params);
    let briefing = BriefingRequest {
        reader: as_malformed(reader.into_reader(&access.caller.actor))?,
        paths: as_malformed(check_paths(paths.collect()))?,
        role: as_malformed(parse_agent_role(params.role.as_deref()))?,
        task: params.task,
    };
    let mut session = open_session(&app, access).await?;
    let briefed = service::brief(&mut session, briefing).await?;
    // A read commits too: the exposures it recorded must not be lost.
    session.commit().await?;
    Ok(Json(BriefingResponse {
        schema: "ken.brief.v1",
        served_by: service::served_by(),
        norms: json!(briefed.norms.shown),
        known: json!(briefed.entries.shown),
        global: json!(briefed.organization_hits.shown()),
        text: briefed.text(),
        insights: json!(briefed.insights),
    }))
}
