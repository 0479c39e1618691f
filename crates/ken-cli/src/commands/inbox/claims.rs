//! `ken inbox list`, `accept` and `reject`: decisions about pending claims.

use std::collections::BTreeSet;

use clap::Args;
use ken_engine::import::{InboxClaim, OlderEntries, SupersedeOutcome};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{DIM, escape_invisible, pluralize, styled, truncate_columns};

/// `ken inbox accept`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken inbox accept c-7k2f\n  ken inbox accept          every claim"
)]
pub(crate) struct AcceptArgs {
    /// Ids of claims, or unambiguous prefixes [default: every claim]
    pub(crate) ids: Vec<String>,
    /// Do not supersede the entries that the claims amend
    #[arg(long)]
    pub(crate) keep_older: bool,
}

/// `ken inbox reject`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken inbox reject c-7k2f")]
pub(crate) struct RejectArgs {
    /// Ids of claims, or unambiguous prefixes
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
}

#[derive(Serialize)]
struct AcceptObject {
    schema: &'static str,
    entries: Vec<String>,
    refused: Vec<(String, String)>,
    /// The older and the newer entry.
    superseded: Vec<(String, String)>,
    /// The older and the newer entry that stay current beside each other, and the reason.
    kept: Vec<(String, String, String)>,
}

#[derive(Serialize)]
struct RejectObject {
    schema: &'static str,
    rejected: usize,
}

pub(super) fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let all = session.read(|engine| Ok(engine.inbox_claims()?))?;
    for staged in &all {
        if session.is_json() {
            session.printer.json(staged)?;
        } else {
            line(session, staged)?;
        }
    }
    if !session.is_json() {
        let claims = pluralize(all.len() as u64, "pending claim", "pending claims");
        session.printer.talk(claims)?;
        if !all.is_empty() {
            session.printer.hint(
                "`ken inbox accept [ID …]` turns claims into entries, `ken inbox reject ID` rejects one permanently",
            )?;
        }
    }
    Ok(CommandExit::Fine)
}

/// Prints one claim with its findings.
pub(in crate::commands) fn line(
    session: &mut Session<'_>,
    staged: &InboxClaim,
) -> Result<(), CommandFailure> {
    let width = session.printer.width();
    let text = format!(
        "{}  {:<16} {}",
        staged.id,
        staged.kind.name(),
        escape_invisible(&staged.statement)
    );
    session.printer.line(truncate_columns(&text, width))?;
    for finding in &staged.findings {
        let note = format!("              {}", escape_invisible(finding));
        session
            .printer
            .line(styled(DIM, truncate_columns(&note, width)))?;
    }
    for note in amendment_notes(staged) {
        session.printer.line(format_args!("              {note}"))?;
    }
    Ok(())
}

/// Returns what accepting a claim does to older decisions, with ids only: an agent that reads them
/// must not be shown the text of entries.
pub(in crate::commands) fn amendment_notes(staged: &InboxClaim) -> impl Iterator<Item = String> {
    let before = staged.supersedes.iter();
    let before = before.map(|it| format!("supersedes {it} when you accept it"));
    let after = staged.superseded_by.iter();
    before.chain(after.map(|it| format!("superseded by {it}")))
}

pub(super) fn accept(
    session: &mut Session<'_>,
    args: &AcceptArgs,
) -> Result<CommandExit, CommandFailure> {
    let older = if args.keep_older {
        OlderEntries::Keep
    } else {
        OlderEntries::Supersede
    };
    let accepted =
        session.write(|engine, by| Ok(engine.accept_inbox_claims(&args.ids, older, by)?))?;
    let exit = if accepted.refused.is_empty() {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    };
    if session.is_json() {
        let refused = accepted.refused.iter();
        session.printer.json(&AcceptObject {
            schema: "ken.inbox.accept.v1",
            entries: accepted
                .entries
                .iter()
                .map(|(id, _)| id.to_string())
                .collect(),
            refused: refused
                .map(|it| (it.staged.id.clone(), it.reason.clone()))
                .collect(),
            superseded: accepted
                .older
                .superseded
                .iter()
                .map(|(old, new)| (old.to_string(), new.to_string()))
                .collect(),
            kept: accepted
                .older
                .kept
                .iter()
                .map(|it| {
                    (
                        it.older.to_string(),
                        it.newer.to_string(),
                        it.reason.clone(),
                    )
                })
                .collect(),
        })?;
        return Ok(exit);
    }
    for (id, _) in &accepted.entries {
        session.printer.line(id)?;
    }
    let entries = pluralize(accepted.entries.len() as u64, "entry", "entries");
    session
        .printer
        .talk(format_args!("{entries} created from claims"))?;
    tell_superseded(session, &accepted.older)?;
    for it in &accepted.refused {
        session.printer.talk(format_args!(
            "  {} stays pending: {}",
            it.staged.id, it.reason
        ))?;
    }
    Ok(exit)
}

/// Prints which older entries the new ones supersede, and which stay.
pub(in crate::commands) fn tell_superseded(
    session: &mut Session<'_>,
    outcome: &SupersedeOutcome,
) -> Result<(), CommandFailure> {
    for (old, new) in &outcome.superseded {
        session.printer.talk(format_args!(
            "  {new} supersedes {old}; `ken restore {old}` takes that back"
        ))?;
    }
    for it in &outcome.kept {
        session.printer.talk(format_args!(
            "  {} stays current beside {}: {}",
            it.older, it.newer, it.reason
        ))?;
    }
    Ok(())
}

pub(super) fn reject(
    session: &mut Session<'_>,
    ids: &[String],
) -> Result<CommandExit, CommandFailure> {
    let rejected = session.read(|engine| Ok(engine.reject_inbox_claims(ids)?))?;
    if session.is_json() {
        session.printer.json(&RejectObject {
            schema: "ken.inbox.reject.v1",
            rejected: rejected.len(),
        })?;
        return Ok(CommandExit::Fine);
    }
    let claims = pluralize(rejected.len() as u64, "claim", "claims");
    let commands: BTreeSet<&str> = rejected.iter().map(|it| it.source_command()).collect();
    let commands: Vec<String> = commands.iter().map(|it| format!("`{it}`")).collect();
    let commands = commands.join(" and ");
    session.printer.talk(format_args!(
        "{claims} rejected; {commands} will not add them again"
    ))?;
    Ok(CommandExit::Fine)
}
