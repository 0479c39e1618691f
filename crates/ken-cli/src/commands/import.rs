//! `ken import`: takes the sound claims of documents in, through staging and the guard.

use ken_engine::digest::{Accepted, Take};
use serde::Serialize;

use super::Session;
use crate::args::DocumentsArgs;
use crate::failure::{Exit, Failure};
use crate::print::audit::summary;
use crate::print::progress::Progress;
use crate::print::{counted, cut, visible};

/// Columns of a claim.
const CLAIM_WIDTH: usize = 84;

#[derive(Serialize)]
struct ImportObject {
    schema: &'static str,
    entries: Vec<String>,
    known: usize,
    rejected: usize,
    refused: Vec<RefusedObject>,
}

#[derive(Serialize)]
struct RefusedObject {
    id: String,
    statement: String,
    why: String,
}

pub(super) fn run(session: &mut Session<'_>, args: &DocumentsArgs) -> Result<Exit, Failure> {
    let progress = Progress::start(session.printer, "importing", None);
    let (told, reduced, accepted) = session.write(|engine, by| {
        progress.during(|_| {
            let audit = engine.audit(&args.paths)?;
            let reduced = engine.reduce(&audit, Take::Sound)?;
            let ids: Vec<String> = reduced.staged.iter().map(|it| it.id.clone()).collect();
            let accepted = match ids.is_empty() {
                true => Accepted::default(),
                false => engine.accept_staged(&ids, by)?,
            };
            Ok::<_, Failure>((summary(&audit), reduced, accepted))
        })
    })?;
    if session.is_json() {
        session.printer.json(&ImportObject {
            schema: "ken.import.v1",
            entries: accepted
                .entries
                .iter()
                .map(|(id, _)| id.to_string())
                .collect(),
            known: reduced.known,
            rejected: reduced.rejected,
            refused: refused(&accepted),
        })?;
        return Ok(Exit::Fine);
    }
    for (id, staged) in &accepted.entries {
        let line = format!(
            "{id}  {:<16} {}",
            staged.kind.name(),
            visible(&staged.statement)
        );
        session.printer.line(cut(&line, CLAIM_WIDTH + INDENT))?;
    }
    session.printer.talk(told)?;
    let entries = counted(accepted.entries.len() as u64, "entry", "entries");
    session.printer.talk(format_args!(
        "{entries} made; {} known already, {} refused",
        reduced.known,
        accepted.refused.len() + reduced.refused
    ))?;
    for it in &accepted.refused {
        let statement = cut(&visible(&it.staged.statement), CLAIM_WIDTH);
        session
            .printer
            .talk(format_args!("  not taken: {statement} ({})", it.why))?;
    }
    match accepted.entries.is_empty() {
        true => Ok(Exit::Fine),
        false => {
            session
                .printer
                .hint("`ken brief` shows what an agent is told now; `ken list` all of it")?;
            Ok(Exit::Fine)
        }
    }
}

/// Columns before a claim.
const INDENT: usize = 28;

fn refused(accepted: &Accepted) -> Vec<RefusedObject> {
    let all = accepted.refused.iter();
    all.map(|it| RefusedObject {
        id: it.staged.id.clone(),
        statement: it.staged.statement.clone(),
        why: it.why.clone(),
    })
    .collect()
}
