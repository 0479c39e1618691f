//! Reports: how work ended, what entries are worth, what the gates find.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ken_core::gates::Finding;
use ken_core::lift::Worth;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Reading, desk, in_query, parsed};
use crate::api::App;
use crate::api::body::{InPath, InQuery};
use crate::api::caller::{InWorkspace, Reads};
use crate::api::problem::{MEDIA_TYPE, Problem, ProblemBody};
use crate::service::{self, Outcomes, Period};

/// Of which period.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct OfPeriod {
    /// Days or weeks up to now: 1d to 366d, 1w to 52w.
    #[serde(default)]
    #[param(nullable = false, pattern = "^[0-9]{1,3}[dw]$", example = "7d")]
    period: Option<String>,
}

/// How work ended in a period, `ken.outcomes.v1`: sums over all runs (`runs`, `succeeded`, `failed`, `abandoned`,
/// `success_rate`, `quality`, `rounds`, `cost_micros`, `duration_ms`, `entries_accessed`, `entries_extracted`), the same by
/// `strategies` and `threads`, agents by `roles`, and what the rules about work say.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Outcomes, value_type = Object, example = json!({"schema": "ken.outcomes.v1", "period": "7d", "runs": 12,
    "succeeded": 9, "failed": 2, "abandoned": 1, "success_rate": 0.818, "strategies": {}, "threads": {}, "roles": {},
    "insights": [], "escalations": [], "recommendations": []}))]
pub(super) struct OutcomesTold(Value);

#[derive(Serialize)]
struct OutcomesObject<'a> {
    schema: &'static str,
    period: String,
    #[serde(flatten)]
    outcomes: &'a Outcomes,
}

/// What an entry is worth, `ken.lift.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Lift, example = json!({"schema": "ken.lift.v1", "id": "L-7k2f5qm3",
    "worth": {"measured": {"difference": 0.21, "low": 0.04, "high": 0.37, "shown": 41, "withheld": 12}}}))]
pub(super) struct LiftTold {
    schema: &'static str,
    /// Absent for all entries together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    /// `measured` with its interval, or `too_few` outcomes on one side.
    #[schema(value_type = Object)]
    worth: Worth,
}

/// What entries are worth: all together, and one by one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Lifts)]
pub(super) struct LiftsTold {
    all: LiftTold,
    /// Those chance has decided about, the best known first.
    items: Vec<LiftTold>,
}

/// What the gates find, `ken.hub_verify.v1`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Verified, example = json!({"schema": "ken.hub_verify.v1", "passes": true, "entries": 120, "events": 480,
    "events_unseen": 0, "unverifiable": 80, "errors": 0, "warnings": 0, "findings": [], "unknown": {}}))]
pub(super) struct VerifiedTold {
    schema: &'static str,
    passes: bool,
    entries: u64,
    /// Events that were looked at, and those beyond that were not.
    events: u64,
    events_unseen: u64,
    /// Entries in use that rest on code: a hub has none, `ken verify` in a clone checks them.
    unverifiable: u64,
    errors: u64,
    warnings: u64,
    /// The gravest first, at most five hundred.
    #[schema(value_type = Vec<Object>)]
    findings: Vec<Finding>,
    /// Events a newer Ken wrote, by type.
    unknown: BTreeMap<String, u32>,
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_outcomes))
        .routes(routes!(get_lifts))
        .routes(routes!(get_lift))
        .routes(routes!(verify))
}

/// Adds up how work ended in a period. Told from events alone and kept nowhere.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/outcomes", operation_id = "get_outcomes", tag = "reports",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Its name or its id."), OfPeriod),
    responses((status = 200, description = "The sums.", body = OutcomesTold)))]
async fn get_outcomes(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InQuery(of): InQuery<OfPeriod>,
) -> Result<Json<OutcomesTold>, Problem> {
    let period: Option<Period> = in_query(parsed("period", of.period.as_deref()))?;
    let period = period.unwrap_or_default();
    let mut desk = desk(&app, it).await?;
    let outcomes = service::outcomes(&mut desk, period).await?;
    desk.finish().await?;
    let told = OutcomesObject {
        schema: "ken.outcomes.v1",
        period: period.to_string(),
        outcomes: &outcomes,
    };
    Ok(Json(OutcomesTold(json!(told))))
}

/// Says what entries are worth: outcomes of work with them and without, where chance decided.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/lift", operation_id = "get_lifts", tag = "reports",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Its name or its id."), Reading),
    responses((status = 200, description = "What they are worth.", body = LiftsTold)))]
async fn get_lifts(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InQuery(reading): InQuery<Reading>,
) -> Result<Json<LiftsTold>, Problem> {
    let reader = in_query(reading.reader(&it.caller.actor))?;
    let mut desk = desk(&app, it).await?;
    let lifts = service::lift(&mut desk, &reader).await?;
    desk.finish().await?;
    let entries = lifts.entries.iter();
    let entries = entries.map(|(entry, worth)| lift_told(Some(entry.id.to_string()), *worth));
    Ok(Json(LiftsTold {
        all: lift_told(None, lifts.all),
        items: entries.collect(),
    }))
}

/// Says what one entry is worth.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/entries/{entry}/lift", operation_id = "get_lift", tag = "reports",
    security(("token" = ["reader"])), params(
        ("workspace" = String, Path, description = "Its name or its id."),
        ("entry" = String, Path, description = "Its id, an unambiguous beginning, or its alias."), Reading),
    responses(
        (status = 200, description = "What it is worth.", body = LiftTold),
        (status = 409, description = "Several ids begin so.", body = ProblemBody, content_type = MEDIA_TYPE)))]
async fn get_lift(
    State(app): State<App>,
    it: InWorkspace<Reads>,
    InPath((_, wanted)): InPath<(String, String)>,
    InQuery(reading): InQuery<Reading>,
) -> Result<Json<LiftTold>, Problem> {
    let reader = in_query(reading.reader(&it.caller.actor))?;
    let mut desk = desk(&app, it).await?;
    let (id, worth) = service::lift_of(&mut desk, &reader, &wanted).await?;
    desk.finish().await?;
    Ok(Json(lift_told(Some(id.to_string()), worth)))
}

/// Checks what can be checked without code: schema, provenance, links, contradictions, what today's guard would refuse.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/verify", operation_id = "verify", tag = "reports",
    security(("token" = ["reader"])), params(("workspace" = String, Path, description = "Its name or its id.")),
    responses((status = 200, description = "What was found; `passes` says whether anything blocks.", body = VerifiedTold)))]
async fn verify(
    State(app): State<App>,
    it: InWorkspace<Reads>,
) -> Result<Json<VerifiedTold>, Problem> {
    let mut desk = desk(&app, it).await?;
    let verified = service::verify(&mut desk).await?;
    desk.finish().await?;
    Ok(Json(VerifiedTold {
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

fn lift_told(id: Option<String>, worth: Worth) -> LiftTold {
    let schema = "ken.lift.v1";
    LiftTold { schema, id, worth }
}
