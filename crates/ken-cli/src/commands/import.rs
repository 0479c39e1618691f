//! `ken import`: imports valid claims of documents, through the inbox and the guard.

use clap::Args;
use ken_engine::import::{AcceptOutcome, ClaimSelection};
use serde::Serialize;

use super::Session;
use super::inbox::collect::{self, CollectArgs};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::audit::audit_summary;
use crate::print::progress::ProgressIndicator;
use crate::print::{escape_invisible, pluralize, truncate_columns};

/// `ken import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ken import                      import valid claims of CLAUDE.md, AGENTS.md, rules, decisions
  ken import --review docs/adr    put the claims into the inbox instead
  ken import --review --commits   find norms in the commit history")]
pub(crate) struct ImportArgs {
    /// Documents or folders, relative to the repository root [default: every document with agent
    /// instructions]
    #[arg(conflicts_with = "commits")]
    pub(crate) paths: Vec<String>,
    /// Put every claim into the inbox instead of adding the valid ones
    #[arg(long)]
    pub(crate) review: bool,
    /// Read the commit history of this branch instead, for norms it follows
    #[arg(long, requires = "review")]
    pub(crate) commits: bool,
}

/// Maximum columns of a claim.
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

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ImportArgs,
) -> Result<CommandExit, CommandFailure> {
    if args.review {
        let sources = args.paths.clone();
        let commits = args.commits;
        return collect::run(session, &CollectArgs { sources, commits });
    }
    let progress = ProgressIndicator::start(session.printer, "importing", None);
    let (summary, reduced, accepted) = session.write(|engine, by| {
        progress.during(|_| {
            let audit = engine.audit(&args.paths)?;
            let reduced = engine.reduce(&audit, ClaimSelection::Importable)?;
            let ids: Vec<String> = reduced.staged.iter().map(|it| it.id.clone()).collect();
            let accepted = if ids.is_empty() {
                AcceptOutcome::default()
            } else {
                engine.accept_inbox_claims(&ids, by)?
            };
            Ok::<_, CommandFailure>((audit_summary(&audit), reduced, accepted))
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
        return Ok(CommandExit::Fine);
    }
    for (id, staged) in &accepted.entries {
        let line = format!(
            "{id}  {:<16} {}",
            staged.kind.name(),
            escape_invisible(&staged.statement)
        );
        session
            .printer
            .line(truncate_columns(&line, CLAIM_WIDTH + INDENT))?;
    }
    session.printer.talk(summary)?;
    let entries = pluralize(accepted.entries.len() as u64, "entry", "entries");
    session.printer.talk(format_args!(
        "{entries} added; {} already known, {} refused",
        reduced.known,
        accepted.refused.len() + reduced.refused
    ))?;
    for it in &accepted.refused {
        let statement = truncate_columns(&escape_invisible(&it.staged.statement), CLAIM_WIDTH);
        session
            .printer
            .talk(format_args!("  refused: {statement} ({})", it.reason))?;
    }
    if accepted.entries.is_empty() {
        Ok(CommandExit::Fine)
    } else {
        session
            .printer
            .hint("`ken brief` shows the briefing of an agent; `ken list` lists every entry")?;
        Ok(CommandExit::Fine)
    }
}

/// Columns of the indentation before a claim.
const INDENT: usize = 28;

fn refused(accepted: &AcceptOutcome) -> Vec<RefusedObject> {
    let all = accepted.refused.iter();
    all.map(|it| RefusedObject {
        id: it.staged.id.clone(),
        statement: it.staged.statement.clone(),
        why: it.reason.clone(),
    })
    .collect()
}
