//! Maintenance services. All are deterministic and list decisions for a person with the command.

use std::collections::BTreeSet;

use ken_core::decide::{self, Draft};
use ken_core::health::maintenance::{
    MaintenanceService, STRATEGY_PREFIX, StaleReason, format_task, stale_reason,
};
use ken_core::ledger::entry::Entry;
use ken_core::ledger::event::{EntryEffect, EventBody, Outcome, RunClosed};
use ken_core::ledger::store::{DerivedStore as _, EntryFilter};
use ken_core::trust::posterior::outcome_weight;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::kind::Memory;
use ken_core::values::text::enum_label;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::{duplicates, entries, files, forage, health, maintenance, runs, sync, validity};

/// Actor of runs created by services.
const MAINTENANCE_ACTOR: &str = "agent:ken/maintenance";

/// Result of a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceOutcome {
    pub service: MaintenanceService,
    pub task: String,
    /// Run that records the changes; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub changed: Vec<ServiceChange>,
    /// The first decisions left to a person, most important first.
    pub left: Vec<OpenDecision>,
    /// Number of all decisions left to a person.
    pub left_total: usize,
}

/// Change made by a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceChange {
    pub entry: EntryId,
    pub what: String,
    /// Command that reverts or shows the change.
    pub command: String,
}

/// Decision left to a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenDecision {
    pub entries: Vec<EntryId>,
    pub what: String,
    /// Command that makes the decision.
    pub command: String,
}

/// The changes a service would make now, without making them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServicePreview {
    pub service: MaintenanceService,
    pub task: String,
    /// The first planned changes.
    pub changes: Vec<ServiceChange>,
    /// Number of all planned changes.
    pub changes_total: usize,
    /// The first decisions left to a person, most important first.
    pub left: Vec<OpenDecision>,
    /// Number of all decisions left to a person.
    pub left_total: usize,
}

/// Change that a service plans.
enum PlannedChange {
    Merge { target: EntryId, source: EntryId },
    Sweep { entry: EntryId, why: StaleReason },
    Reset { entry: EntryId },
}

/// Limits of a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceLimits {
    /// Entries that may be changed.
    pub(super) changes: u32,
    /// Decisions that are listed.
    pub(super) listed: usize,
}

/// The listed decisions and the number of all.
type LeftDecisions = (Vec<OpenDecision>, usize);

/// Runs a service within `limits`.
pub(super) fn run_service(
    engine: &mut Engine,
    service: MaintenanceService,
    limits: ServiceLimits,
    by: &Actor,
) -> Result<ServiceOutcome, EngineError> {
    // Services must see edits of entry files before they decide.
    sync::sync_before_writing(engine)?;
    if service == MaintenanceService::Forage {
        return serve_forage(engine, limits, by);
    }
    let (plans, (left, left_total)) = plan_service(engine, service, limits.listed, by)?;
    let mut served = ServiceOutcome {
        service,
        task: format_task(service.name(), service.purpose()),
        run: None,
        changed: Vec::new(),
        left,
        left_total,
    };
    let limit = usize::try_from(limits.changes).unwrap_or(usize::MAX);
    let mut outcome = Outcome::Succeeded;
    for plan in plans.iter().take(limit) {
        match apply_planned_change(engine, plan, by) {
            Ok(change) => served.changed.push(change),
            // A refused change must not stop the others.
            Err(EngineError::Refused(_) | EngineError::RejectedByGuard(_)) => {
                outcome = Outcome::Failed;
            }
            Err(other) => return Err(other),
        }
    }
    if !served.changed.is_empty() || outcome == Outcome::Failed {
        served.run = Some(record_service_run(engine, &served, outcome, by)?);
    }
    maintenance::store_last_service_run(engine, service)?;
    Ok(served)
}

/// Returns the changes and decisions of a service. At most `listed` of each are described.
pub(super) fn preview_service(
    engine: &mut Engine,
    service: MaintenanceService,
    listed: usize,
    by: &Actor,
) -> Result<ServicePreview, EngineError> {
    let (plans, (left, left_total)) = plan_service(engine, service, listed, by)?;
    let described = plans.iter().take(listed);
    Ok(ServicePreview {
        service,
        task: format_task(service.name(), service.purpose()),
        changes: described
            .map(|plan| describe_planned_change(engine, plan))
            .collect::<Result<_, _>>()?,
        changes_total: plans.len(),
        left,
        left_total,
    })
}

fn plan_service(
    engine: &mut Engine,
    service: MaintenanceService,
    listed: usize,
    by: &Actor,
) -> Result<(Vec<PlannedChange>, LeftDecisions), EngineError> {
    let none = LeftDecisions::default();
    Ok(match service {
        MaintenanceService::Dedup => plan_dedup(engine, listed, by)?,
        MaintenanceService::StaleSweep => (plan_sweep(engine)?, none),
        MaintenanceService::Contradiction => (Vec::new(), list_contradictions(engine, listed)?),
        MaintenanceService::ConfidenceReset => (plan_reset(engine, by)?, none),
        MaintenanceService::Forage => (Vec::new(), list_gaps(engine, listed)?),
    })
}

/// Looks into gaps with the user's forager. What it proposes is quarantined.
fn serve_forage(
    engine: &mut Engine,
    limits: ServiceLimits,
    by: &Actor,
) -> Result<ServiceOutcome, EngineError> {
    let service = MaintenanceService::Forage;
    let setup = match &engine.forage_place {
        Some(place) => place.load()?,
        None => None,
    };
    let setup = setup.ok_or_else(|| {
        EngineError::Usage("the forager is off, because you have no forage.toml".to_owned())
    })?;
    let found = forage::forage_unasked(engine, &setup, limits.changes, by)?;
    let change = |entry: &EntryId| ServiceChange {
        entry: *entry,
        what: "proposed from documentation; quarantined until a person releases it".to_owned(),
        command: format!("ken show {entry}"),
    };
    let (left, left_total) = list_gaps(engine, limits.listed)?;
    let mut served = ServiceOutcome {
        service,
        task: format_task(service.name(), service.purpose()),
        run: None,
        changed: found.entries.iter().map(change).collect(),
        left,
        left_total,
    };
    if !served.changed.is_empty() {
        served.run = Some(record_service_run(engine, &served, Outcome::Succeeded, by)?);
    }
    maintenance::store_last_service_run(engine, service)?;
    Ok(served)
}

/// Lists the gaps that the forager can look into.
fn list_gaps(engine: &mut Engine, listed: usize) -> Result<LeftDecisions, EngineError> {
    let requests = forage::forage_requests(engine)?;
    let left = requests.iter().take(listed).map(|it| OpenDecision {
        entries: Vec::new(),
        what: format!("a gap ({}): {}", enum_label(&it.mode), it.question),
        command: "ken forage --gaps --propose".to_owned(),
    });
    Ok((left.collect(), requests.len()))
}

/// Makes a planned change.
fn apply_planned_change(
    engine: &mut Engine,
    plan: &PlannedChange,
    by: &Actor,
) -> Result<ServiceChange, EngineError> {
    let change = describe_planned_change(engine, plan)?;
    match plan {
        PlannedChange::Merge { target, source } => {
            duplicates::merge_in_maintenance(engine, *target, *source, by)?;
        }
        PlannedChange::Sweep { entry, why } => {
            let text = format_task(MaintenanceService::StaleSweep.name(), &why.to_string());
            let reason = text.parse().expect("a short line is a note");
            entries::mark_stale_in_maintenance(engine, *entry, reason, by)?;
        }
        PlannedChange::Reset { entry } => {
            let text = format_task(
                MaintenanceService::ConfidenceReset.name(),
                "stuck after many observations",
            );
            let reason = text.parse().expect("a short line is a note");
            engine.reset_confidence(*entry, reason, by)?;
        }
    }
    Ok(change)
}

/// Describes a change that is not made yet.
fn describe_planned_change(
    engine: &Engine,
    plan: &PlannedChange,
) -> Result<ServiceChange, EngineError> {
    Ok(match plan {
        PlannedChange::Merge { target, source } => ServiceChange {
            entry: *target,
            what: format!("merged {source} into it"),
            command: format!("ken log {source}"),
        },
        PlannedChange::Sweep { entry, why } => {
            let before = engine.entry(*entry)?.status.value;
            ServiceChange {
                entry: *entry,
                what: format!("stale: {why}"),
                command: format!("ken entry status {entry} {before}"),
            }
        }
        PlannedChange::Reset { entry } => ServiceChange {
            entry: *entry,
            what: "confidence reset to the prior".to_owned(),
            command: format!("ken log {entry}"),
        },
    })
}

/// Records the run of a service with its outcome. Targets of merges gain evidence by it.
fn record_service_run(
    engine: &mut Engine,
    served: &ServiceOutcome,
    outcome: Outcome,
    by: &Actor,
) -> Result<String, EngineError> {
    let service = served.service;
    let run = format!("M-{:010x}", engine.runtime.random() >> 88);
    let mut drafts = Vec::new();
    if service == MaintenanceService::Dedup {
        let targets: BTreeSet<EntryId> = served.changed.iter().map(|it| it.entry).collect();
        // One event per entry: in a common event they would count as used together.
        drafts.extend(
            targets
                .iter()
                .map(|id| decide::record_run_effects(&run, &[outcome_effect(*id, outcome)])),
        );
    }
    let changes = u32::try_from(served.changed.len()).unwrap_or(u32::MAX);
    let strategy = format!("{STRATEGY_PREFIX}{service}");
    let keeper: Actor = MAINTENANCE_ACTOR.parse().expect("an agent's name");
    let role = "maintenance".parse().expect("a tag");
    drafts.push(Draft {
        about: Vec::new(),
        body: EventBody::RunClosed(RunClosed {
            run: run.clone(),
            outcome,
            quality_milli: None,
            rounds: changes,
            cost_micros: 0,
            strategy: Some(strategy.parse().expect("a tag")),
            agents: vec![keeper],
            roles: [(role, 1)].into(),
            thread: None,
            duration_ms: 0,
            accessed: changes,
            extracted: 0,
        }),
    });
    engine.record(drafts, by)?;
    files::render_due(engine)?;
    Ok(run)
}

/// Plans merges of certain duplicates. Uncertain pairs and norms are left to a person or an LLM.
fn plan_dedup(
    engine: &mut Engine,
    listed: usize,
    by: &Actor,
) -> Result<(Vec<PlannedChange>, LeftDecisions), EngineError> {
    let (mut plans, mut left, mut left_total) = (Vec::new(), Vec::new(), 0);
    let mut taken = BTreeSet::new();
    let scan = duplicates::scan_duplicates(engine)?;
    for scanned in &scan.pairs {
        // Only people change norms.
        let is_norm = scanned.first.prefix().memory() == Memory::Procedural;
        let is_left = !scanned.is_sure || is_norm && !by.is_human();
        left_total += usize::from(is_left);
        // Loading every pair of a large ledger would take minutes.
        if is_left && left.len() >= listed {
            continue;
        }
        let pair = scan.load(engine, scanned)?;
        // The older entry stays: it has been shown, cited and linked for longer.
        let born = |it: &Entry| (it.history.first, it.id);
        let (target, source) = if born(&pair.first) <= born(&pair.second) {
            (pair.first.id, pair.second.id)
        } else {
            (pair.second.id, pair.first.id)
        };
        if is_left {
            // Opposite claims are similar texts; a merge would lose one of them.
            let (what, command) = if pair.may_be_opposites {
                ("may be opposites", "ken health duplicates".to_owned())
            } else {
                let command = format!("ken entry merge {source} --into {target}");
                ("may be duplicates", command)
            };
            left.push(OpenDecision {
                entries: vec![target, source],
                what: what.to_owned(),
                command,
            });
        } else if !taken.contains(&target) && !taken.contains(&source) {
            // A merged entry cannot be merged again in this run; the next run handles it.
            taken.extend([target, source]);
            plans.push(PlannedChange::Merge { target, source });
        }
    }
    Ok((plans, (left, left_total)))
}

/// Plans to mark unused or failing entries as stale.
fn plan_sweep(engine: &mut Engine) -> Result<Vec<PlannedChange>, EngineError> {
    let today = engine.now().date();
    let mut entries = engine.index.list(&EntryFilter::default())?;
    runs::add_unrecorded_exposures(engine, &mut entries)?;
    let missed = health::misses::missed_entries(engine)?;
    let errors = ken_core::health::count_errors(missed, &entries);
    let misses = |entry: &Entry| errors.get(&entry.id).copied().unwrap_or_default();
    // Checking code is slow, so only entries that would be swept without support are checked.
    let all = entries.iter();
    let suspects = all.filter(|it| stale_reason(it, misses(it), false, today).is_some());
    let validity = validity::anchoring::validity_of(engine, suspects.clone())?;
    let plan = |entry: &Entry| {
        let holds = validity.get(&entry.id) == Some(&ken_core::trust::facts::Validity::Holds);
        let why = stale_reason(entry, misses(entry), holds, today)?;
        let entry = entry.id;
        Some(PlannedChange::Sweep { entry, why })
    };
    Ok(suspects.filter_map(plan).collect())
}

/// Plans resets of stuck entries. Refused for actors other than people.
fn plan_reset(engine: &mut Engine, by: &Actor) -> Result<Vec<PlannedChange>, EngineError> {
    if !by.is_human() {
        let what = "resetting confidence";
        let by = by.clone();
        return Err(decide::Refusal::PersonNeeded { what, by }.into());
    }
    let today = engine.now().date();
    let entries = engine.index.list(&EntryFilter::default())?;
    let observed = entries.iter().filter(|it| !it.tallies.days.is_empty());
    let validity = validity::anchoring::validity_of(engine, observed.clone())?;
    let is_stuck = |entry: &&Entry| {
        let validity = validity.get(&entry.id).copied().unwrap_or_default();
        entry.posterior(validity, today).is_stuck()
    };
    let stuck = observed.filter(is_stuck).map(|it| it.id);
    Ok(stuck.map(|entry| PlannedChange::Reset { entry }).collect())
}

/// Lists the open contradictions for a person.
fn list_contradictions(engine: &mut Engine, listed: usize) -> Result<LeftDecisions, EngineError> {
    let found = engine.open_contradictions()?;
    let left = found.iter().take(listed).map(|pair| OpenDecision {
        entries: vec![pair.first.id, pair.second.id],
        what: format!("contradict each other ({})", pair.why),
        command: format!("ken inbox resolve {} {}", pair.first.id, pair.second.id),
    });
    Ok((left.collect(), found.len()))
}

/// Returns the evidence that an outcome adds to an entry.
fn outcome_effect(entry: EntryId, outcome: Outcome) -> EntryEffect {
    let weight = outcome_weight(outcome, None);
    // Events store integers, so that all platforms compute the same state.
    let milli = |it: f64| (it * 1000.0) as u32;
    EntryEffect {
        entry,
        alpha_milli: milli(weight.alpha),
        beta_milli: milli(weight.beta),
        shown: 0,
        blind: 0,
        unseen: 0,
        since: None,
        source_outcome: None,
        trials: Vec::new(),
    }
}
