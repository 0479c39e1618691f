//! `ken maintain`: services that keep knowledge in order, and what may happen unasked.

use ken_core::maintenance::{Mode, Policy, Service};
use ken_engine::maintenance::{Maintenance, Served};
use serde::Serialize;

use super::Session;
use crate::args::{MaintainArgs, MaintainCommand, MaintainPolicyArgs};
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::table::Table;

#[derive(Serialize)]
struct Object<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    it: &'a T,
}

pub(super) fn run(session: &mut Session<'_>, args: MaintainArgs) -> Result<Exit, Failure> {
    match (args.command, args.service) {
        (Some(MaintainCommand::Policy(args)), _) => policy(session, &args),
        (None, Some(service)) => serve(session, service),
        (None, None) => list(session),
    }
}

fn list(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let found = session.read(|engine| Ok(engine.maintenance()?))?;
    if session.is_json() {
        let schema = "ken.maintenance.v1";
        session.printer.json(&Object { schema, it: &found })?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["SERVICE", "DUE", "LAST", "RUNS", "WHAT IT DOES"], 4);
    for state in &found.services {
        let last = state.last.map(|it| it.date().to_string());
        let runs = match (state.automatic, state.service.category()) {
            (true, _) => "unasked",
            (false, Some(_)) => "when asked",
            (false, None) => "by hand only",
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
    Ok(Exit::Fine)
}

fn tell_policy(session: &mut Session<'_>, found: &Maintenance) -> Result<(), Failure> {
    let (policy, spent) = (&found.policy, found.spent);
    let mode = policy.mode.name();
    session.printer.talk(match policy.mode {
        Mode::Suggest => format!("policy {mode}: nothing happens unasked"),
        Mode::AutoNotify | Mode::Autonomous => format!(
            "policy {mode}: today {} of {} entries changed in {} of {} runs",
            spent.changes,
            policy.daily_maintenance_budget,
            spent.runs,
            policy.max_maintenance_colonies
        ),
    })?;
    match found.services.iter().find(|it| it.due) {
        Some(due) => session
            .printer
            .hint(format_args!("`{}` runs what is due", due.command)),
        None => Ok(()),
    }
}

fn serve(session: &mut Session<'_>, service: Service) -> Result<Exit, Failure> {
    let served = session.write(|engine, by| Ok(engine.maintain(service, by)?))?;
    if session.is_json() {
        let schema = "ken.maintained.v1";
        session.printer.json(&Object {
            schema,
            it: &served,
        })?;
        return Ok(Exit::Fine);
    }
    print_served(session, &served)?;
    Ok(Exit::Fine)
}

fn print_served(session: &mut Session<'_>, served: &Served) -> Result<(), Failure> {
    for change in &served.changed {
        session.printer.line(format_args!(
            "{} {}\n    see: {}",
            change.entry, change.what, change.command
        ))?;
    }
    for left in &served.left {
        let ids: Vec<String> = left.entries.iter().map(ToString::to_string).collect();
        session.printer.line(format_args!(
            "{} {}\n    do: {}",
            ids.join(" and "),
            left.what,
            left.command
        ))?;
    }
    let changed = counted(served.changed.len() as u64, "entry", "entries");
    let left = served.left.len();
    session.printer.talk(format_args!(
        "{}: changed {changed}, left {left} to a person",
        served.task
    ))
}

fn policy(session: &mut Session<'_>, args: &MaintainPolicyArgs) -> Result<Exit, Failure> {
    let asks = args.mode.is_some()
        || args.auto.is_some()
        || args.budget.is_some()
        || args.max_runs.is_some();
    let policy = match asks || args.reset {
        false => session.read(|engine| Ok(engine.maintenance_policy()?))?,
        true => session.write(|engine, by| {
            let now = engine.maintenance_policy()?;
            let auto = args.auto.as_ref();
            let wanted = Policy {
                mode: args.mode.unwrap_or(now.mode),
                auto_actions: auto.map_or(now.auto_actions, |it| it.iter().copied().collect()),
                daily_maintenance_budget: args.budget.unwrap_or(now.daily_maintenance_budget),
                max_maintenance_colonies: args.max_runs.unwrap_or(now.max_maintenance_colonies),
            };
            Ok(engine.set_maintenance_policy((!args.reset).then_some(&wanted), by)?)
        })?,
    };
    if session.is_json() {
        let schema = "ken.maintenance_policy.v1";
        session.printer.json(&Object {
            schema,
            it: &policy,
        })?;
        return Ok(Exit::Fine);
    }
    print_policy(session, &policy)
}

fn print_policy(session: &mut Session<'_>, policy: &Policy) -> Result<Exit, Failure> {
    let auto: Vec<&str> = policy.auto_actions.iter().map(|it| it.name()).collect();
    let auto = match policy.mode {
        Mode::Autonomous => "everything".to_owned(),
        Mode::Suggest | Mode::AutoNotify if auto.is_empty() => "nothing".to_owned(),
        Mode::Suggest | Mode::AutoNotify => auto.join(", "),
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
    Ok(Exit::Fine)
}
