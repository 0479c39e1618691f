//! `ken import --review` and `ken knowledge reduce`: claims from documents or history go to the
//! inbox.

use clap::Args;
use ken_engine::import::{ClaimSelection, HistoryScope, InboxClaim, ReduceOutcome};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;

/// `ken knowledge reduce`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken knowledge reduce --sources docs/decisions")]
pub(crate) struct CollectArgs {
    /// Documents or folders to read [default: every document with agent instructions]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) sources: Vec<String>,
    /// Read the commit history of this branch instead
    #[arg(long, alias = "commits", conflicts_with = "sources")]
    pub(crate) history: bool,
    /// With the history, also take repeated fixes and sentences with must, never or because
    #[arg(long, requires = "history")]
    pub(crate) all: bool,
}

#[derive(Serialize)]
struct ReduceObject<'a> {
    schema: &'static str,
    sources: usize,
    staged: &'a [InboxClaim],
    waiting: usize,
    known: usize,
    rejected: usize,
    refused: usize,
}

fn history_scope(all: bool) -> HistoryScope {
    if all {
        HistoryScope::All
    } else {
        HistoryScope::Reliable
    }
}

/// Prints what the history would add, one claim per line.
pub(in crate::commands) fn preview_history(
    session: &mut Session<'_>,
    all: bool,
) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "reading", None);
    let planned =
        session.read(|engine| Ok(progress.during(|_| engine.plan_history(history_scope(all)))?))?;
    for staged in &planned.staged {
        if session.is_json() {
            session.printer.json(staged)?;
        } else {
            super::claims::line(session, staged)?;
        }
    }
    if !session.is_json() {
        let told = summary("history, not added", &planned);
        session.printer.talk(told)?;
    }
    Ok(CommandExit::Fine)
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &CollectArgs,
) -> Result<CommandExit, CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "reading", None);
    let reduced = session.read(|engine| {
        Ok(progress.during(|_| {
            if args.history {
                engine.reduce_history(history_scope(args.all))
            } else {
                let audit = engine.audit(&args.sources)?;
                engine.reduce(&audit, ClaimSelection::All)
            }
        })?)
    })?;
    if session.is_json() {
        session.printer.json(&object(&reduced))?;
        return Ok(CommandExit::Fine);
    }
    for staged in &reduced.staged {
        super::claims::line(session, staged)?;
    }
    let sources = pluralize(reduced.sources as u64, "source", "sources");
    session.printer.talk(summary(&sources, &reduced))?;
    if !reduced.staged.is_empty() {
        session.printer.hint(
            "`ken inbox compare` finds duplicates and contradictions; `ken inbox accept` turns claims into entries",
        )?;
    }
    Ok(CommandExit::Fine)
}

/// Returns a summary of the claims extracted from `source`.
pub(in crate::commands) fn summary(source: &str, reduced: &ReduceOutcome) -> String {
    let claims = reduced.staged.len() as u64;
    let claims = pluralize(claims, "new claim", "new claims");
    format!(
        "{source}: {claims}; {} already pending, {} known, {} rejected before, {} refused by the guard",
        reduced.waiting, reduced.known, reduced.rejected, reduced.refused
    )
}

fn object(reduced: &ReduceOutcome) -> ReduceObject<'_> {
    ReduceObject {
        schema: "ken.inbox.collect.v1",
        sources: reduced.sources,
        staged: &reduced.staged,
        waiting: reduced.waiting,
        known: reduced.known,
        rejected: reduced.rejected,
        refused: reduced.refused,
    }
}
