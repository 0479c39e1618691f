//! `ken inbox list`, `accept` and `reject`: decisions about pending claims.

use std::collections::BTreeSet;

use clap::Args;
use ken_engine::import::InboxClaim;
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
    Ok(())
}

pub(super) fn accept(
    session: &mut Session<'_>,
    ids: &[String],
) -> Result<CommandExit, CommandFailure> {
    let accepted = session.write(|engine, by| Ok(engine.accept_inbox_claims(ids, by)?))?;
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
    for it in &accepted.refused {
        session.printer.talk(format_args!(
            "  {} stays pending: {}",
            it.staged.id, it.reason
        ))?;
    }
    Ok(exit)
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
