//! Report endpoints: outcomes of runs, measured impact of entries, gate findings.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ken_core::health::gates::GateFinding;
use ken_core::trust::impact::ImpactEstimate;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{ReaderParams, as_malformed, open_session, parse_optional};
use crate::api::AppState;
use crate::api::body::{PathParams, QueryParams};
use crate::api::caller::{AtLeastReader, RequireWorkspaceRole};
use crate::api::problem::{MEDIA_TYPE, Problem, ProblemBody};
use crate::service::{self, OutcomeReport, ReportPeriod};

/// Query parameters of a report over a period.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct PeriodParams {
    /// Length of the period that ends now, in days or weeks: 1d to 366d, 1w to 52w.
    #[serde(default)]
    #[param(nullable = false, pattern = "^[0-9]{1,3}[dw]$", example = "7d")]
    period: Option<String>,
}

/// Outcomes of the runs of a period, `ken.outcomes.v1`: totals (`runs`, `succeeded`, `failed`,
/// `abandoned`, `success_rate`, `quality`, `rounds`, `cost_micros`, `duration_ms`,
/// `entries_accessed`, `entries_extracted`), the same by `strategies` and `threads`, agents by
/// `roles`, and the findings of the rules about runs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OutcomeReport, value_type = Object, example = json!({"schema": "ken.outcomes.v1", "period": "7d", "runs": 12,
    "succeeded": 9, "failed": 2, "abandoned": 1, "success_rate": 0.818, "strategies": {}, "threads": {}, "roles": {},
    "insights": [], "escalations": [], "recommendations": []}))]
pub(super) struct OutcomesResponse(Value);

/// Serialized form of the outcomes, with schema and period before the totals.
#[derive(Serialize)]
struct OutcomesView<'a> {
    schema: &'static str,
    period: String,
    #[serde(flatten)]
    outcomes: &'a OutcomeReport,
}

/// Measured impact of an entry, `ken.impact.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImpactResponse, example = json!({"schema": "ken.impact.v1", "id": "L-7k2f5qm3",
    "impact": {"measured": {"difference": 0.21, "low": 0.04, "high": 0.37, "shown": 41, "withheld": 12}}}))]
pub(super) struct ImpactResponse {
    schema: &'static str,
    /// Id of the entry. Absent for the total over all entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    /// `measured` with its interval, or `too_few` outcomes with or without the entry.
    #[schema(value_type = Object)]
    impact: ImpactEstimate,
}

/// Measured impact of all entries: in total and per entry.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ImpactReport)]
pub(super) struct ImpactListResponse {
    all: ImpactResponse,
    /// Entries that were part of a holdout, most certain benefit first, at most 500.
    items: Vec<ImpactResponse>,
}

/// Result of the gates, `ken.hub_verify.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VerifyResponse, example = json!({"schema": "ken.hub_verify.v1", "passes": true, "entries": 120, "events": 480,
    "events_unseen": 0, "unverifiable": 80, "errors": 0, "warnings": 0, "findings": [], "unknown": {}}))]
pub(super) struct VerifyResponse {
    schema: &'static str,
    passes: bool,
    entries: u64,
    /// Events that were checked.
    events: u64,
    /// Events beyond the limit of the check.
    events_unseen: u64,
    /// Entries in use with code anchors. A hub has no code; `ken verify` in a clone checks them.
    unverifiable: u64,
    errors: u64,
    warnings: u64,
    /// Most severe first, at most 500.
    #[schema(value_type = Vec<Object>)]
    findings: Vec<GateFinding>,
    /// Number of events of unknown types, written by newer versions of Ken.
    unknown: BTreeMap<String, u32>,
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_outcomes))
        .routes(routes!(get_impact))
        .routes(routes!(get_entry_impact))
        .routes(routes!(verify))
}

/// Returns the outcomes of the runs of a period, computed from events on every request.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/outcomes", operation_id = "get_outcomes", tag = "reports",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Name or id of the workspace."), PeriodParams),
    responses((status = 200, description = "Totals and findings of the period.", body = OutcomesResponse)))]
async fn get_outcomes(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    QueryParams(params): QueryParams<PeriodParams>,
) -> Result<Json<OutcomesResponse>, Problem> {
    let given: Option<ReportPeriod> =
        as_malformed(parse_optional("period", params.period.as_deref()))?;
    let period = given.unwrap_or_default();
    let mut session = open_session(&app, access).await?;
    let outcomes = service::report_outcomes(&mut session, period).await?;
    session.commit().await?;
    let view = OutcomesView {
        schema: "ken.outcomes.v1",
        period: period.to_string(),
        outcomes: &outcomes,
    };
    Ok(Json(OutcomesResponse(json!(view))))
}

/// Returns the measured impact of entries: outcomes of runs with and without them, by holdout.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/impact", operation_id = "get_impact", tag = "reports",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Name or id of the workspace."), ReaderParams),
    responses((status = 200, description = "Measured impact in total and per entry.", body = ImpactListResponse)))]
async fn get_impact(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    QueryParams(params): QueryParams<ReaderParams>,
) -> Result<Json<ImpactListResponse>, Problem> {
    // Listed entries count as exposures of the reader.
    let reader = as_malformed(params.into_reader(&access.caller.actor))?;
    let mut session = open_session(&app, access).await?;
    let impacts = service::measure_impacts(&mut session, &reader).await?;
    session.commit().await?;
    let entries = impacts.entries.iter();
    let items = entries.map(|(entry, impact)| impact_response(Some(entry.id.to_string()), *impact));
    Ok(Json(ImpactListResponse {
        all: impact_response(None, impacts.all),
        items: items.collect(),
    }))
}

/// Returns the measured impact of one entry.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries/{entry}/impact", operation_id = "get_entry_impact", tag = "reports",
    security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Name or id of the workspace."),
        ("entry" = String, Path, description = "Id, unambiguous id prefix, or alias of the entry."), ReaderParams),
    responses(
        (status = 200, description = "Measured impact of the entry.", body = ImpactResponse),
        (status = 409, description = "The id prefix is ambiguous.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_entry_impact(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
    PathParams((_, wanted)): PathParams<(String, String)>,
    QueryParams(params): QueryParams<ReaderParams>,
) -> Result<Json<ImpactResponse>, Problem> {
    let reader = as_malformed(params.into_reader(&access.caller.actor))?;
    let mut session = open_session(&app, access).await?;
    let (id, impact) = service::measure_entry_impact(&mut session, &reader, &wanted).await?;
    session.commit().await?;
    Ok(Json(impact_response(Some(id.to_string()), impact)))
}

/// Runs the gates that need no code: schema, provenance, links, contradictions, current guard.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/verify", operation_id = "verify", tag = "reports",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Name or id of the workspace.")),
    responses((status = 200, description = "Findings of the gates. `passes` is true if none of them is an error.", body = VerifyResponse)))]
async fn verify(
    State(app): State<AppState>,
    access: RequireWorkspaceRole<AtLeastReader>,
) -> Result<Json<VerifyResponse>, Problem> {
    let mut session = open_session(&app, access).await?;
    let verified = service::verify(&mut session).await?;
    session.commit().await?;
    Ok(Json(VerifyResponse {
        schema: "ken.hub_verify.v1",
        passes: verified.passes(),
        entries: verified.entries,
        events: verified.events,
        events_unseen: verified.events_unseen,
        unverifiable: verified.unverifiable,
        errors: verified.errors,
        warnings: verified.warnings,
        findings: verified.findings,
        unknown: verified.unknown,
    }))
}

fn impact_response(id: Option<String>, impact: ImpactEstimate) -> ImpactResponse {
    let schema = "ken.impact.v1";
    ImpactResponse { schema, id, impact }
}
