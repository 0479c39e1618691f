//! Execution of `ken hub retention` and `ken hub hold`.

use std::collections::BTreeMap;

use ken_hub::administration::{Administration, AppliedRule};
use ken_hub::database::retention::RetentionKind;
use serde::Serialize;

use crate::commands::Session;
use crate::commands::hub::administer::{Done, attempt};
use crate::commands::hub::output;
use crate::commands::hub::retention::{DaysArg, HoldCommand, RetentionCommand, RetentionSetArgs};
use crate::failure::CommandFailure;
use crate::print::{BOLD, DIM, TableCell, TextTable, WARN, pluralize};

/// Name of the scope of a rule or hold that covers everything.
const EVERYTHING: &str = "(organization)";

/// JSON view of a rule.
#[derive(Serialize)]
struct RuleObject {
    schema: &'static str,
    /// Absent for every workspace.
    workspace: Option<String>,
    kind: String,
    days: Option<u32>,
}

/// JSON view of what a rule did.
#[derive(Serialize)]
struct AppliedObject<'a> {
    schema: &'static str,
    workspace: &'a str,
    kind: String,
    days: u32,
    count: u64,
    held: bool,
    dry_run: bool,
}

/// JSON view of a hold.
#[derive(Serialize)]
struct HoldObject<'a> {
    schema: &'static str,
    id: String,
    /// Absent for every workspace.
    workspace: Option<String>,
    reason: &'a str,
    placed_by: &'a str,
    placed_at: String,
    released_by: Option<&'a str>,
    released_at: Option<String>,
}

/// JSON view of the id of a hold that was placed or released.
#[derive(Serialize)]
struct HoldChangedObject<'a> {
    schema: &'static str,
    id: &'a str,
    active: bool,
}

pub(in crate::commands::hub) async fn run(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &RetentionCommand,
) -> Done {
    match command {
        RetentionCommand::Set(args) => set(session, hub, args).await,
        RetentionCommand::List { organization } => list(session, hub, organization).await,
        RetentionCommand::Apply(args) => {
            // Redactions are decisions of a person.
            if let Some(agent) = session.surroundings.impersonating_agent()
                && !args.dry_run
            {
                let message = format!("{agent} runs this command and cannot redact for a person");
                return Err(CommandFailure::refused("person_needed", message));
            }
            let applying = hub.apply_retention(&args.organization, args.dry_run);
            let applied = attempt!(applying.await);
            print_applied(session, &applied, args.dry_run)?;
            Ok(Ok(()))
        }
    }
}

async fn set(session: &mut Session<'_>, hub: &Administration, args: &RetentionSetArgs) -> Done {
    let kind: RetentionKind = args.kind.parse().map_err(CommandFailure::usage)?;
    let days = match args.days {
        DaysArg::Never => None,
        DaysArg::Days(days) => Some(days),
    };
    let workspace = args.workspace.as_deref();
    attempt!(
        hub.set_retention(&args.organization, workspace, kind, days)
            .await
    );
    if session.is_json() {
        session.printer.json(&RuleObject {
            schema: "ken.hub.retention.v1",
            workspace: args.workspace.clone(),
            kind: kind.to_string(),
            days,
        })?;
        return Ok(Ok(()));
    }
    let scope = workspace.unwrap_or("every workspace");
    match days {
        None => session
            .printer
            .talk(format_args!("{scope}: no rule for {kind}"))?,
        Some(days) => {
            let days = pluralize(u64::from(days), "day", "days");
            session
                .printer
                .talk(format_args!("{scope}: {kind} are kept for {days}"))?;
            session
                .printer
                .hint("`ken hub retention apply ORGANIZATION` applies the rules; run it daily")?;
        }
    }
    Ok(Ok(()))
}

async fn list(session: &mut Session<'_>, hub: &Administration, organization: &str) -> Done {
    let (rules, names) = attempt!(hub.retention_rules(organization).await);
    if session.is_json() {
        for rule in &rules {
            session.printer.json(&RuleObject {
                schema: "ken.hub.retention.v1",
                workspace: names.get(&rule.scope).cloned(),
                kind: rule.kind.to_string(),
                days: Some(rule.days),
            })?;
        }
        return Ok(Ok(()));
    }
    if rules.is_empty() {
        session
            .printer
            .talk("everything is kept: there are no rules")?;
        return Ok(Ok(()));
    }
    let mut table = TextTable::new(&["WORKSPACE", "KIND", "DAYS"], 0);
    for rule in &rules {
        table.push(vec![
            TableCell::styled(BOLD, scope_name(&names, &rule.scope)),
            rule.kind.to_string().into(),
            rule.days.to_string().into(),
        ]);
    }
    output::print(session, &table)?;
    Ok(Ok(()))
}

fn print_applied(
    session: &mut Session<'_>,
    applied: &[AppliedRule],
    is_trial: bool,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        return applied.iter().try_for_each(|it| {
            session.printer.json(&AppliedObject {
                schema: "ken.hub.retention-applied.v1",
                workspace: it.workspace.name.as_str(),
                kind: it.kind.to_string(),
                days: it.days,
                count: it.count,
                held: it.is_held,
                dry_run: is_trial,
            })
        });
    }
    let head = if is_trial { "WOULD DELETE" } else { "DELETED" };
    let mut table = TextTable::new(&["WORKSPACE", "KIND", "DAYS", head, "STATE"], 0);
    for it in applied {
        let state = if it.is_held { "on hold" } else { "" };
        table.push(vec![
            TableCell::styled(BOLD, it.workspace.name.as_str()),
            it.kind.to_string().into(),
            it.days.to_string().into(),
            it.count.to_string().into(),
            TableCell::styled(WARN, state),
        ]);
    }
    if applied.is_empty() {
        return session.printer.talk("no rule applies to a workspace");
    }
    output::print(session, &table)
}

pub(in crate::commands::hub) async fn run_hold(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &HoldCommand,
) -> Done {
    match command {
        HoldCommand::Add(args) => {
            let workspace = args.workspace.as_deref();
            let placing = hub.place_hold(&args.organization, workspace, &args.reason);
            let id = attempt!(placing.await).to_string();
            let told = "retention and erasure delete nothing until you release it";
            hold_changed(session, &id, true, told)?;
        }
        HoldCommand::Release { organization, id } => {
            attempt!(hub.release_hold(organization, id).await);
            let told = "released; retention and erasure continue";
            hold_changed(session, id, false, told)?;
        }
        HoldCommand::List { organization } => {
            let (holds, names) = attempt!(hub.holds(organization).await);
            if !session.is_json() && holds.is_empty() {
                session.printer.talk("the organization has no holds")?;
                return Ok(Ok(()));
            }
            let heads = ["ID", "WORKSPACE", "REASON", "PLACED", "BY", "RELEASED"];
            let mut table = TextTable::new(&heads, 2);
            for hold in &holds {
                let released = hold.released.as_ref();
                if session.is_json() {
                    session.printer.json(&HoldObject {
                        schema: "ken.hub.hold.v1",
                        id: hold.id.to_string(),
                        workspace: names.get(&hold.scope).cloned(),
                        reason: &hold.reason,
                        placed_by: &hold.placed_by,
                        placed_at: hold.placed_at.to_string(),
                        released_by: released.map(|(by, _)| by.as_str()),
                        released_at: released.map(|(_, at)| at.to_string()),
                    })?;
                    continue;
                }
                table.push(vec![
                    hold.id.to_string().into(),
                    TableCell::styled(BOLD, scope_name(&names, &hold.scope)),
                    hold.reason.clone().into(),
                    hold.placed_at.date().to_string().into(),
                    hold.placed_by.clone().into(),
                    TableCell::styled(
                        DIM,
                        released.map_or("no".to_owned(), |(_, at)| at.date().to_string()),
                    ),
                ]);
            }
            if !session.is_json() {
                output::print(session, &table)?;
            }
        }
    }
    Ok(Ok(()))
}

fn hold_changed(
    session: &mut Session<'_>,
    id: &str,
    active: bool,
    told: &str,
) -> Result<(), CommandFailure> {
    if session.is_json() {
        let schema = "ken.hub.hold-changed.v1";
        return session
            .printer
            .json(&HoldChangedObject { schema, id, active });
    }
    session.printer.line(id)?;
    session.printer.talk(told)
}

fn scope_name<Id: Ord>(names: &BTreeMap<Id, String>, scope: &Id) -> String {
    let name = names.get(scope).cloned();
    name.unwrap_or_else(|| EVERYTHING.to_owned())
}
