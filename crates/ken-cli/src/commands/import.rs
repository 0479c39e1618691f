//! `ken import`: imports valid claims of documents, through the inbox and the guard.

use std::collections::BTreeMap;

use clap::Args;
use ken_engine::audit::AuditReport;
use ken_engine::import::{AcceptOutcome, ClaimSelection, InboxClaim, OlderEntries, ReduceOutcome};
use serde::Serialize;

use super::inbox::collect::{self, CollectArgs};
use super::setup::{can_answer, is_yes};
use super::{Session, import_export};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::audit::{audit_summary, limits_text};
use crate::print::progress::ProgressIndicator;
use crate::print::{BOLD, escape_invisible, pluralize, styled, truncate_columns};

/// `ken import`.
#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal, Ken shows the claims and asks before it adds them. Otherwise it adds them at once.

Examples:
  ken import                      import valid claims of CLAUDE.md, AGENTS.md, rules, decisions
  ken import --dry-run            show what would be added
  ken import entries.jsonl        restore an export of `ken ledger export`
  ken import --review docs/adr    put the claims into the inbox instead
  ken import --history            put reverts and norms of the history into the inbox")]
pub(crate) struct ImportArgs {
    /// Documents or folders, relative to the repository root, or an export of another repository
    /// [default: every document with agent instructions]
    #[arg(conflicts_with = "history")]
    pub(crate) paths: Vec<String>,
    /// Show what would be added without adding it
    #[arg(long, conflicts_with_all = ["review", "yes"])]
    pub(crate) dry_run: bool,
    /// Add without asking
    #[arg(long, short = 'y', conflicts_with = "review")]
    pub(crate) yes: bool,
    /// Put every claim into the inbox instead of adding the valid ones
    #[arg(long)]
    pub(crate) review: bool,
    /// Read the commit history of this branch instead; what it tells goes to the inbox
    #[arg(long, alias = "commits", conflicts_with = "yes")]
    pub(crate) history: bool,
    /// With the history, also take repeated fixes and sentences with must, never or because; most
    /// are not worth it
    #[arg(long, requires = "history")]
    pub(crate) all: bool,
}

/// Maximum columns of a claim.
const CLAIM_WIDTH: usize = 84;

#[derive(Serialize)]
struct ImportObject<'a> {
    schema: &'static str,
    entries: Vec<String>,
    /// Claims that would be added, with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned: Option<&'a [InboxClaim]>,
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
    if let Some(export) = import_export::find_export(session, &args.paths) {
        return import_export::run(session, &export);
    }
    if args.history && args.dry_run {
        return collect::preview_history(session, args.all);
    }
    if args.review || args.history {
        let sources = args.paths.clone();
        let (history, all) = (args.history, args.all);
        let args = CollectArgs {
            sources,
            history,
            all,
        };
        return collect::run(session, &args);
    }
    let progress = ProgressIndicator::start(session.printer, "auditing", None);
    let (audit, plan) = session.read(|engine| {
        progress.during(|_| {
            let audit = engine.audit(&args.paths)?;
            let plan = engine.plan_import(&audit, ClaimSelection::Importable)?;
            Ok::<_, CommandFailure>((audit, plan))
        })
    })?;
    let summary = format!("{}{}", limits_text(&audit), audit_summary(&audit));
    let asks = can_answer(session) && !args.yes && !plan.staged.is_empty();
    if args.dry_run || asks {
        return preview(session, &plan, &summary, args.dry_run).and_then(|agreed| {
            if agreed {
                let (reduced, accepted) = add(session, &audit)?;
                tell(session, &reduced, &accepted)?;
            }
            Ok(CommandExit::Fine)
        });
    }
    let (reduced, accepted) = add(session, &audit)?;
    if session.is_json() {
        session.printer.json(&object(&reduced, &accepted, None))?;
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
    tell(session, &reduced, &accepted)?;
    Ok(CommandExit::Fine)
}

/// Prints the claims of a plan by document. Returns whether the user wants them added.
fn preview(
    session: &mut Session<'_>,
    plan: &ReduceOutcome,
    summary: &str,
    dry_run: bool,
) -> Result<bool, CommandFailure> {
    if session.is_json() {
        let accepted = AcceptOutcome::default();
        let planned = object(plan, &accepted, Some(&plan.staged));
        session.printer.json(&planned)?;
        return Ok(false);
    }
    let mut by_document: BTreeMap<&str, Vec<&InboxClaim>> = BTreeMap::new();
    for staged in &plan.staged {
        let document = staged.cite.strip_prefix("doc:").unwrap_or(&staged.cite);
        let document = document.split('#').next().unwrap_or(document);
        by_document.entry(document).or_default().push(staged);
    }
    for (document, claims) in by_document {
        let count = pluralize(claims.len() as u64, "claim", "claims");
        let document = styled(BOLD, escape_invisible(document));
        session.printer.line(format_args!("{document}  {count}"))?;
        for staged in claims {
            let statement = escape_invisible(&staged.statement);
            let line = format!("  {:<16} {statement}", staged.kind.name());
            session
                .printer
                .line(truncate_columns(&line, CLAIM_WIDTH + INDENT))?;
        }
    }
    session.printer.talk(summary)?;
    let entries = pluralize(plan.staged.len() as u64, "entry", "entries");
    if dry_run {
        session.printer.talk(format_args!(
            "{entries} would be added; {} already known, {} refused",
            plan.known, plan.refused
        ))?;
        return Ok(false);
    }
    let agreed = is_yes(&session.printer.ask(&format!("Add {entries}? [Y/n] "))?);
    if !agreed {
        session.printer.talk("Nothing was added.")?;
        session
            .printer
            .hint("`ken import --review` puts the claims into the inbox, to decide one by one")?;
    }
    Ok(agreed)
}

/// Adds the valid claims of an audit as entries.
fn add(
    session: &mut Session<'_>,
    audit: &AuditReport,
) -> Result<(ReduceOutcome, AcceptOutcome), CommandFailure> {
    let progress = ProgressIndicator::start(session.printer, "importing", None);
    session.write(|engine, by| {
        progress.during(|_| {
            let reduced = engine.reduce(audit, ClaimSelection::Importable)?;
            let ids: Vec<String> = reduced.staged.iter().map(|it| it.id.clone()).collect();
            let accepted = if ids.is_empty() {
                AcceptOutcome::default()
            } else {
                engine.accept_inbox_claims(&ids, OlderEntries::Supersede, by)?
            };
            Ok::<_, CommandFailure>((reduced, accepted))
        })
    })
}

/// Prints how many claims became entries, and which the guard refused.
fn tell(
    session: &mut Session<'_>,
    reduced: &ReduceOutcome,
    accepted: &AcceptOutcome,
) -> Result<(), CommandFailure> {
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
        return Ok(());
    }
    session
        .printer
        .hint("`ken list` lists every entry; `ken brief` prints the briefing of an agent")
}

fn object<'a>(
    reduced: &ReduceOutcome,
    accepted: &AcceptOutcome,
    planned: Option<&'a [InboxClaim]>,
) -> ImportObject<'a> {
    ImportObject {
        schema: "ken.import.v1",
        entries: accepted
            .entries
            .iter()
            .map(|(id, _)| id.to_string())
            .collect(),
        planned,
        known: reduced.known,
        rejected: reduced.rejected,
        refused: refused(accepted),
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
