//! Maintenance: named services, their due dates and the policy for automatic runs.
//!
//! There is no timer. When work begins or ends, `run_due_maintenance` checks which
//! services are due; the default policy allows no more than that. A service changes entries with
//! the same methods as every caller, and its changes are recorded as a run with an outcome.

mod services;

use std::collections::BTreeMap;

use ken_core::health::RunOutcome;
use ken_core::health::maintenance::{
    MAINTENANCE_KEY, MaintenanceCategory, MaintenancePermission, MaintenancePolicy,
    MaintenanceService, MaintenanceUsage, format_task,
};
use ken_core::ledger::store::DerivedStore as _;
use ken_core::values::actor::Actor;
use ken_core::values::time::{DAY_MS, Timestamp};
use ken_ledger::Dir as _;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::notice::EngineNotice;
use crate::runs::lock_closing;
use crate::{health, scoring};

use services::ServiceLimits;
pub use services::{OpenDecision, ServiceChange, ServiceOutcome, ServicePreview};

/// Local file with the time and ledger state of each service's last run.
const LAST_RUNS_FILE: &str = ".local/maintenance.json";

/// Status of maintenance.
#[derive(Clone, Debug, Serialize)]
pub struct MaintenanceStatus {
    pub policy: MaintenancePolicy,
    /// Work done within the last day.
    pub spent: MaintenanceUsage,
    pub services: Vec<ServiceState>,
}

/// Status of one service.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceState {
    pub service: MaintenanceService,
    pub name: String,
    pub due: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// True if the service runs automatically when it is due.
    pub automatic: bool,
    /// Description of the work, as used for the task of a run.
    pub task: String,
    /// Command that runs the service.
    pub command: String,
}

/// Last run of a service on this machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct LastServiceRun {
    at: Timestamp,
    /// State of the ledger after the run.
    ledger: String,
}

/// Last run of each service.
type LastServiceRuns = BTreeMap<MaintenanceService, LastServiceRun>;

/// Returns the status of maintenance.
pub(crate) fn maintenance_status(engine: &Engine) -> Result<MaintenanceStatus, EngineError> {
    maintenance_status_from(engine, &health::run_outcomes(engine)?)
}

/// Returns the status of maintenance from known outcomes.
pub(crate) fn maintenance_status_from(
    engine: &Engine,
    outcomes: &[RunOutcome],
) -> Result<MaintenanceStatus, EngineError> {
    let (policy, memory) = (engine.maintenance_policy()?, load_last_service_runs(engine));
    let (ledger, now) = (health::report::ledger_state(engine)?, engine.now());
    let forager = forager_state(engine);
    let state = |service: MaintenanceService| {
        let known = memory.get(&service);
        let recorded = last_recorded_run(outcomes, service);
        let last = known.map(|it| it.at).max(recorded);
        // A service that ran on this ledger state would find nothing new.
        let is_dirty = known.is_none_or(|it| it.ledger != ledger);
        ServiceState {
            service,
            name: service.full_name(),
            due: service.is_due(last, is_dirty, now) && forager.serves(service),
            last,
            automatic: service.category().is_some_and(|it| policy.allows(it))
                && forager.serves_unasked(service),
            task: format_task(service.name(), service.purpose()),
            command: format!("ken health maintain {service}"),
        }
    };
    Ok(MaintenanceStatus {
        services: MaintenanceService::ALL.map(state).into(),
        spent: recent_work(outcomes, now),
        policy,
    })
}

/// What the user's configuration of the forager allows to maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForagerState {
    /// No configuration, or a caller that must not forage, such as a hook.
    Off,
    /// Only on request.
    OnRequest,
    Unasked,
}

impl ForagerState {
    fn serves(self, service: MaintenanceService) -> bool {
        service != MaintenanceService::Forage || self != Self::Off
    }

    fn serves_unasked(self, service: MaintenanceService) -> bool {
        service != MaintenanceService::Forage || self == Self::Unasked
    }
}

fn forager_state(engine: &Engine) -> ForagerState {
    let place = engine.forage_place.as_ref();
    // A configuration with a mistake is off here; `ken forage` reports the mistake.
    let setup = place.and_then(|it| it.load().ok().flatten());
    match setup {
        None => ForagerState::Off,
        Some(setup) if setup.config.unasked => ForagerState::Unasked,
        Some(_) => ForagerState::OnRequest,
    }
}

/// Returns the policy of this workspace; the default if it is absent or invalid.
pub(crate) fn maintenance_policy(engine: &Engine) -> Result<MaintenancePolicy, EngineError> {
    Ok(MaintenancePolicy::from_workspace(
        &engine.index.workspace()?,
    ))
}

/// Sets the policy of this workspace; `None` restores the default. Requires a person.
pub(crate) fn set_maintenance_policy(
    engine: &mut Engine,
    policy: Option<&MaintenancePolicy>,
    by: &Actor,
) -> Result<MaintenancePolicy, EngineError> {
    scoring::configure(engine, MAINTENANCE_KEY, serde_json::json!(policy), by)?;
    engine.maintenance_policy()
}

/// Runs a service on request, due or not, without a limit of changes. At most `listed` of the
/// decisions left to a person are in the outcome.
pub(crate) fn maintain(
    engine: &mut Engine,
    service: MaintenanceService,
    listed: usize,
    by: &Actor,
) -> Result<ServiceOutcome, EngineError> {
    let changes = u32::MAX;
    services::run_service(engine, service, ServiceLimits { changes, listed }, by)
}

/// Returns what [`maintain`] would do now, without writing anything. At most `listed` changes and
/// decisions are described.
pub(crate) fn maintenance_preview(
    engine: &mut Engine,
    service: MaintenanceService,
    listed: usize,
    by: &Actor,
) -> Result<ServicePreview, EngineError> {
    services::preview_service(engine, service, listed, by)
}

/// Runs the services that are due and allowed. A failure becomes a notice, not an error.
pub(crate) fn run_due_maintenance(engine: &mut Engine, by: &Actor) {
    let served = run_due_services(engine, by);
    if let Err(error) = served {
        let why = error.to_string();
        engine.notices.push(EngineNotice::MaintenanceFailed { why });
    }
}

/// Runs the services that are due, within the limits of the policy.
fn run_due_services(engine: &mut Engine, by: &Actor) -> Result<(), EngineError> {
    let policy = engine.maintenance_policy()?;
    // Most workspaces allow nothing: return before the lock and the queries.
    if !MaintenanceCategory::ALL.iter().any(|it| policy.allows(*it)) {
        return Ok(());
    }
    // Two processes that end at the same time would run every service twice.
    let _lock = lock_closing(&engine.place)?;
    // The other process may have finished its maintenance while this one waited for the lock.
    engine.refresh()?;
    for state in engine.maintenance_status()?.services {
        // `automatic` also asks the user's configuration, which a shared policy cannot override.
        let is_wanted = state.due && state.automatic;
        let Some(category) = state.service.category().filter(|_| is_wanted) else {
            continue;
        };
        // Computed anew for each service, because the previous one used up part of the budget.
        match policy.check_permission(
            category,
            recent_work(&health::run_outcomes(engine)?, engine.now()),
        ) {
            MaintenancePermission::Granted(changes) => {
                // Only their number is reported.
                let limits = ServiceLimits { changes, listed: 0 };
                let served = services::run_service(engine, state.service, limits, by)?;
                let (changed, left) = (served.changed.len(), served.left_total);
                if changed + left > 0 {
                    let task = served.task;
                    engine.notices.push(EngineNotice::Maintained {
                        task,
                        changed,
                        left,
                    });
                }
            }
            MaintenancePermission::NotAllowed
            | MaintenancePermission::BudgetSpent
            | MaintenancePermission::TooManyRuns => {}
        }
    }
    Ok(())
}

/// Loads the last runs; an unreadable file counts as empty.
fn load_last_service_runs(engine: &Engine) -> LastServiceRuns {
    let bytes = engine.ken.read(LAST_RUNS_FILE).ok();
    let parsed = bytes.and_then(|it| serde_json::from_slice(&it).ok());
    parsed.unwrap_or_default()
}

/// Stores that a service ran now, on the current ledger.
fn store_last_service_run(engine: &Engine, service: MaintenanceService) -> Result<(), EngineError> {
    let mut memory = load_last_service_runs(engine);
    let (at, ledger) = (engine.now(), health::report::ledger_state(engine)?);
    memory.insert(service, LastServiceRun { at, ledger });
    health::report::write_local(engine, LAST_RUNS_FILE, &memory)
}

/// Returns the time when a service last changed something, on any machine.
fn last_recorded_run(outcomes: &[RunOutcome], service: MaintenanceService) -> Option<Timestamp> {
    let mut own = outcomes.iter().rev();
    let last = own.find(|it| it.maintenance_service() == Some(service.name()));
    last.map(|it| it.at)
}

/// Returns the work of the last day. The `rounds` of a maintenance run count the entries it
/// changed.
fn recent_work(outcomes: &[RunOutcome], now: Timestamp) -> MaintenanceUsage {
    let mut spent = MaintenanceUsage::default();
    let is_recent = |it: &&RunOutcome| now < it.at.plus_millis(DAY_MS);
    let own = outcomes
        .iter()
        .filter(|it| it.maintenance_service().is_some());
    for outcome in own.filter(is_recent) {
        spent.changes = spent.changes.saturating_add(outcome.closed.rounds);
        spent.runs += 1;
    }
    spent
}
