//! `ken reduce`: claims of documents, or of history, into staging.

use ken_engine::digest::{Reduced, Staged, Take};
use serde::Serialize;

use super::Session;
use crate::args::ReduceArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::print::progress::Progress;

#[derive(Serialize)]
struct ReduceObject<'a> {
    schema: &'static str,
    sources: usize,
    staged: &'a [Staged],
    waiting: usize,
    known: usize,
    rejected: usize,
    refused: usize,
}

pub(super) fn run(session: &mut Session<'_>, args: &ReduceArgs) -> Result<Exit, Failure> {
    let progress = Progress::start(session.printer, "reading", None);
    let reduced = session.read(|engine| {
        Ok(progress.during(|_| match args.commits {
            true => engine.reduce_history(),
            false => {
                let audit = engine.audit(&args.sources)?;
                engine.reduce(&audit, Take::All)
            }
        })?)
    })?;
    if session.is_json() {
        session.printer.json(&object(&reduced))?;
        return Ok(Exit::Fine);
    }
    for staged in &reduced.staged {
        super::stage::line(session, staged)?;
    }
    let sources = counted(reduced.sources as u64, "source", "sources");
    session.printer.talk(told(&sources, &reduced))?;
    if !reduced.staged.is_empty() {
        session.printer.hint(
            "`ken reflect` says what they repeat or contradict; `ken stage accept` makes entries of them",
        )?;
    }
    Ok(Exit::Fine)
}

/// Says what became of the claims of `source`.
pub(in crate::commands) fn told(source: &str, reduced: &Reduced) -> String {
    let claims = reduced.staged.len() as u64;
    let claims = counted(claims, "claim waits now", "claims wait now");
    format!(
        "{source}: {claims}; {} waited already, {} known, {} rejected before, {} refused by the guard",
        reduced.waiting, reduced.known, reduced.rejected, reduced.refused
    )
}

fn object(reduced: &Reduced) -> ReduceObject<'_> {
    ReduceObject {
        schema: "ken.reduce.v1",
        sources: reduced.sources,
        staged: &reduced.staged,
        waiting: reduced.waiting,
        known: reduced.known,
        rejected: reduced.rejected,
        refused: reduced.refused,
    }
}
