//! `ken health maintain`: lists and runs maintenance services, and sets their policy.

use clap::{Args, Subcommand};
use ken_core::health::maintenance::{
    MaintenanceCategory, MaintenanceMode, MaintenancePolicy, MaintenanceService,
};
use ken_engine::Engine;
use ken_engine::duplicates::LISTED_MAX;
use ken_engine::maintenance::{MaintenanceStatus, ServiceOutcome};
use serde::Serialize;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;
use crate::print::table::TextTable;
use crate::print::{escape_invisible, pluralize};
use crate::world::forage_place;

/// `ken health maintain`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  ken health maintain\n  ken health maintain dedup"
)]
pub(crate) struct MaintainArgs {
    /// Service to run: dedup, stale_sweep, contradiction, confidence_reset or forage [default: list
    /// them]
    #[arg(value_name = "SERVICE")]
    pub(crate) service: Option<MaintenanceService>,
    /// Maximum decisions to list that are left to a person
    #[arg(long, value_name = "N", default_value_t = LISTED_MAX, requires = "service")]
    pub(crate) limit: usize,
    #[command(subcommand)]
    pub(crate) command: Option<MaintainCommand>,
}

/// `ken health maintain …`.
#[derive(Debug, Subcommand)]
pub(crate) enum MaintainCommand {
    /// Show or set the policy of automatic maintenance; only a person may set it
    Policy(MaintainPolicyArgs),
}

/// `ken health maintain policy`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken health maintain policy --mode auto_notify --auto dedup")]
pub(crate) struct MaintainPolicyArgs {
    /// Automatic maintenance: none, the actions of --auto, or all
    #[arg(
        long,
        value_name = "MODE",
        value_parser = values::word::<MaintenanceMode>(&["suggest", "auto_notify", "autonomous"]),
    )]
    pub(crate) mode: Option<MaintenanceMode>,
    /// Automatic actions: dedup, stale_sweep, contradiction, distillation, forage
    #[arg(long, value_name = "ACTION", value_delimiter = ',', value_parser = values::word::<MaintenanceCategory>(
        &["dedup", "stale_sweep", "contradiction", "distillation", "forage"],
    ))]
    pub(crate) auto: Option<Vec<MaintenanceCategory>>,
    /// Maximum entries changed automatically per day
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<u32>,
    /// Maximum automatic runs per day
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<u32>,
    /// Restore the default
    #[arg(long, conflicts_with_all = ["mode", "auto", "budget", "max_runs"])]
    pub(crate) reset: bool,
}

#[derive(Serialize)]
struct Object<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    it: &'a T,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: MaintainArgs,
) -> Result<CommandExit, CommandFailure> {
    match (args.command, args.service) {
        (Some(MaintainCommand::Policy(args)), _) => policy(session, &args),
        (None, Some(service)) => serve(session, service, args.limit),
        (None, None) => list(session),
    }
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let found = session.read(|engine| {
        allow_foraging(engine);
        Ok(engine.maintenance_status()?)
    })?;
    if session.is_json() {
        let schema = "ken.maintenance.v1";
        session.printer.json(&Object { schema, it: &found })?;
        return Ok(CommandExit::Fine);
    }
    let mut table = TextTable::new(&["SERVICE", "DUE", "LAST", "RUNS", "PURPOSE"], 4);
    for state in &found.services {
        let last = state.last.map(|it| it.date().to_string());
        let runs = match (state.automatic, state.service.category()) {
            (true, _) => "automatically",
            (false, Some(_)) => "on request",
            (false, None) => "on request only",
        };
        table.push(vec![
            state.service.name().into(),
            if state.due { "due" } else { "-" }.into(),
            last.unwrap_or_else(|| "never".to_owned()).into(),
            runs.into(),
            state.service.purpose().into(),
        ]);
    }
    let width = session.printer.width();
    session.printer.text(table.render(width))?;
    tell_policy(session, &found)?;
    Ok(CommandExit::Fine)
}

/// Lets the service `forage` use the user's settings, if there are any.
fn allow_foraging(engine: &mut Engine) {
    if let Some(place) = forage_place() {
        engine.set_forage_place(place);
    }
}

fn tell_policy(session: &mut Session<'_>, found: &MaintenanceStatus) -> Result<(), CommandFailure> {
    let (policy, spent) = (&found.policy, found.spent);
    let mode = policy.mode.name();
    session.printer.talk(match policy.mode {
        MaintenanceMode::Suggest => format!("policy {mode}: nothing runs automatically"),
        MaintenanceMode::AutoNotify | MaintenanceMode::Autonomous => format!(
            "policy {mode}: today {} of {} entries changed in {} of {} runs",
            spent.changes,
            policy.daily_maintenance_budget,
            spent.runs,
            policy.max_maintenance_colonies
        ),
    })?;
    match found.services.iter().find(|it| it.due) {
        Some(due) => session.printer.hint(format_args!(
            "`{}` runs the service that is due",
            due.command
        )),
        None => Ok(()),
    }
}

fn serve(
    session: &mut Session<'_>,
    service: MaintenanceService,
    limit: usize,
) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "running maintenance", None);
    let served = session.write(move |engine, by| {
        allow_foraging(engine);
        Ok(progress.during(|_| engine.maintain(service, limit, by))?)
    })?;
    if session.is_json() {
        let schema = "ken.maintained.v1";
        session.printer.json(&Object {
            schema,
            it: &served,
        })?;
        return Ok(CommandExit::Fine);
    }
    print_served(session, &served)?;
    Ok(CommandExit::Fine)
}

fn print_served(session: &mut Session<'_>, served: &ServiceOutcome) -> Result<(), CommandFailure> {
    for change in &served.changed {
        session.printer.line(format_args!(
            "{} {}\n    see: {}",
            change.entry, change.what, change.command
        ))?;
    }
    for left in &served.left {
        let ids: Vec<String> = left.entries.iter().map(ToString::to_string).collect();
        let ids = ids.join(" and ");
        let what = escape_invisible(&format!("{ids} {}", left.what));
        let (what, command) = (what.trim_start(), &left.command);
        session
            .printer
            .line(format_args!("{what}\n    do: {command}"))?;
    }
    let changed = pluralize(served.changed.len() as u64, "entry", "entries");
    let (left, listed) = (served.left_total, served.left.len());
    let more = if listed < left {
        format!(" ({listed} listed; --limit {left} lists all)")
    } else {
        String::new()
    };
    session.printer.talk(format_args!(
        "{}: changed {changed}, left {left} to a person{more}",
        served.task
    ))
}

fn policy(
    session: &mut Session<'_>,
    args: &MaintainPolicyArgs,
) -> Result<CommandExit, CommandFailure> {
    let asks = args.mode.is_some()
        || args.auto.is_some()
        || args.budget.is_some()
        || args.max_runs.is_some();
    let policy = if !(asks || args.reset) {
        session.read(|engine| Ok(engine.maintenance_policy()?))?
    } else {
        session.write(|engine, by| {
            let now = engine.maintenance_policy()?;
            let auto = args.auto.as_ref();
            let wanted = MaintenancePolicy {
                mode: args.mode.unwrap_or(now.mode),
                auto_actions: auto.map_or(now.auto_actions, |it| it.iter().copied().collect()),
                daily_maintenance_budget: args.budget.unwrap_or(now.daily_maintenance_budget),
                max_maintenance_colonies: args.max_runs.unwrap_or(now.max_maintenance_colonies),
            };
            Ok(engine.set_maintenance_policy((!args.reset).then_some(&wanted), by)?)
        })?
    };
    if session.is_json() {
        let schema = "ken.maintenance.policy.v1";
        session.printer.json(&Object {
            schema,
            it: &policy,
        })?;
        return Ok(CommandExit::Fine);
    }
    print_policy(session, &policy)
}

fn print_policy(
    session: &mut Session<'_>,
    policy: &MaintenancePolicy,
) -> Result<CommandExit, CommandFailure> {
    let auto: Vec<&str> = policy.auto_actions.iter().map(|it| it.name()).collect();
    let auto = match policy.mode {
        MaintenanceMode::Autonomous => "all".to_owned(),
        MaintenanceMode::Suggest | MaintenanceMode::AutoNotify if auto.is_empty() => {
            "none".to_owned()
        }
        MaintenanceMode::Suggest | MaintenanceMode::AutoNotify => auto.join(", "),
    };
    for (name, value) in [
        ("mode", policy.mode.name().to_owned()),
        ("auto_actions", auto),
        (
            "daily_maintenance_budget",
            policy.daily_maintenance_budget.to_string(),
        ),
        (
            "max_maintenance_colonies",
            policy.max_maintenance_colonies.to_string(),
        ),
    ] {
        session.printer.line(format_args!("{name:<26}{value}"))?;
    }
    Ok(CommandExit::Fine)
}
