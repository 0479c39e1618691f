//! `ken stage`: decides about claims that wait.

use ken_engine::digest::Staged;
use serde::Serialize;

use super::Session;
use crate::args::StageCommand;
use crate::failure::{Exit, Failure};
use crate::print::{DIM, counted, cut, styled, visible};

#[derive(Serialize)]
struct AcceptObject {
    schema: &'static str,
    entries: Vec<String>,
    refused: Vec<(String, String)>,
}

#[derive(Serialize)]
struct RejectObject {
    schema: &'static str,
    rejected: usize,
}

pub(super) fn run(session: &mut Session<'_>, command: &StageCommand) -> Result<Exit, Failure> {
    match command {
        StageCommand::List => list(session),
        StageCommand::Accept { ids } => accept(session, ids),
        StageCommand::Reject { ids } => reject(session, ids),
    }
}

fn list(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let all = session.read(|engine| Ok(engine.staged()?))?;
    for staged in &all {
        if session.is_json() {
            session.printer.json(staged)?;
        } else {
            line(session, staged)?;
        }
    }
    if !session.is_json() {
        let claims = counted(all.len() as u64, "claim waits", "claims wait");
        session.printer.talk(claims)?;
        if !all.is_empty() {
            session.printer.hint("`ken stage accept [ID …]` makes entries, `ken stage reject ID` turns one down for good")?;
        }
    }
    Ok(Exit::Fine)
}

/// Writes one claim, and what was found about it.
pub(super) fn line(session: &mut Session<'_>, staged: &Staged) -> Result<(), Failure> {
    let width = session.printer.width();
    let text = format!(
        "{}  {:<16} {}",
        staged.id,
        staged.kind.name(),
        visible(&staged.statement)
    );
    session.printer.line(cut(&text, width))?;
    for finding in &staged.findings {
        let note = format!("              {}", visible(finding));
        session.printer.line(styled(DIM, cut(&note, width)))?;
    }
    Ok(())
}

fn accept(session: &mut Session<'_>, ids: &[String]) -> Result<Exit, Failure> {
    let accepted = session.write(|engine, by| Ok(engine.accept_staged(ids, by)?))?;
    let exit = match accepted.refused.is_empty() {
        true => Exit::Fine,
        false => Exit::Refused,
    };
    if session.is_json() {
        let refused = accepted.refused.iter();
        session.printer.json(&AcceptObject {
            schema: "ken.stage.accept.v1",
            entries: accepted
                .entries
                .iter()
                .map(|(id, _)| id.to_string())
                .collect(),
            refused: refused
                .map(|it| (it.staged.id.clone(), it.why.clone()))
                .collect(),
        })?;
        return Ok(exit);
    }
    for (id, _) in &accepted.entries {
        session.printer.line(id)?;
    }
    let entries = counted(accepted.entries.len() as u64, "entry", "entries");
    session
        .printer
        .talk(format_args!("{entries} made of claims that waited"))?;
    for it in &accepted.refused {
        session.printer.talk(format_args!(
            "  {} goes on waiting: {}",
            it.staged.id, it.why
        ))?;
    }
    Ok(exit)
}

fn reject(session: &mut Session<'_>, ids: &[String]) -> Result<Exit, Failure> {
    let rejected = session.read(|engine| Ok(engine.reject_staged(ids)?))?;
    if session.is_json() {
        session.printer.json(&RejectObject {
            schema: "ken.stage.reject.v1",
            rejected,
        })?;
        return Ok(Exit::Fine);
    }
    let claims = counted(rejected as u64, "claim", "claims");
    session.printer.talk(format_args!(
        "{claims} rejected; `ken reduce` does not bring them again"
    ))?;
    Ok(Exit::Fine)
}
