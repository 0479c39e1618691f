//! `ken quarantine`: what waits for a person, and who lets it out.

use serde::Serialize;

use super::{Session, note};
use crate::args::QuarantineCommand;
use crate::failure::{Exit, Failure};
use crate::print::{counted, visible};

#[derive(Serialize)]
struct HeldObject {
    schema: &'static str,
    id: String,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<String>,
}

pub(super) fn run(session: &mut Session<'_>, command: QuarantineCommand) -> Result<Exit, Failure> {
    match command {
        QuarantineCommand::List => list(session),
        QuarantineCommand::Hold { id, base, reason } => hold(session, id, base, reason),
        QuarantineCommand::Lift { id, reason } => lift(session, &id, reason),
    }
}

fn list(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let held = session.read(|engine| Ok(engine.held()?))?;
    for it in &held {
        let statement = it.entry.content.as_ref().map(|it| it.statement.to_string());
        if session.is_json() {
            session.printer.json(&HeldObject {
                schema: "ken.held.v1",
                id: it.entry.id.to_string(),
                why: it.why.clone(),
                statement,
            })?;
            continue;
        }
        session
            .printer
            .line(format_args!("{}  {}", it.entry.id, visible(&it.why)))?;
        let shown = visible(statement.as_deref().unwrap_or("(blanked)"));
        session.printer.line(format_args!("  {shown}"))?;
    }
    if !session.is_json() {
        let waiting = counted(held.len() as u64, "entry waits", "entries wait");
        session
            .printer
            .talk(format_args!("{waiting} for a person"))?;
        if !held.is_empty() {
            session.printer.hint(
                "`ken show ID` shows all of it, `ken quarantine lift ID --reason …` lets it out, `ken retract ID` takes it back",
            )?;
        }
    }
    Ok(Exit::Fine)
}

fn hold(
    session: &mut Session<'_>,
    id: Option<String>,
    base: Option<String>,
    reason: String,
) -> Result<Exit, Failure> {
    let reason = note(Some(reason))?.ok_or_else(|| Failure::usage("the reason is empty"))?;
    if let Some(base) = base {
        let held = session.write(|engine, by| Ok(engine.hold_brought(&base, &reason, by)?))?;
        for id in &held {
            session.printer.line(id)?;
        }
        let held = counted(held.len() as u64, "entry waits", "entries wait");
        session
            .printer
            .talk(format_args!("{held} for a person now"))?;
        return Ok(Exit::Fine);
    }
    let wanted = id.ok_or_else(|| Failure::usage("name an entry, or --base REV"))?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&wanted)?.id;
        Ok(engine.hold(id, &reason, by)?)
    })?;
    session.written(
        &entry,
        "held: agents are not shown it until a person lets it out",
    )
}

fn lift(session: &mut Session<'_>, id: &str, reason: String) -> Result<Exit, Failure> {
    let reason = note(Some(reason))?.ok_or_else(|| Failure::usage("the reason is empty"))?;
    let entry = session.write(|engine, by| {
        let id = engine.find(id)?.id;
        Ok(engine.lift_quarantine(id, reason, by)?)
    })?;
    session.written(
        &entry,
        format_args!("let out; it is {} again", entry.status.value),
    )
}
