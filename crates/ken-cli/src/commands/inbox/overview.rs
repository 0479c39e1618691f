//! `ken inbox` without a subcommand: one list of everything that is pending for a person.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::facts::Validity;
use ken_core::values::id::EntryId;
use ken_engine::duplicates::LISTED_MAX;
use serde::Serialize;

use super::{approve, claims};
use crate::commands::Session;
use crate::commands::guard::{QuarantinedJson, quarantined_json};
use crate::commands::health::{contradictions, note_more};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};

/// JSON view of the inbox.
#[derive(Serialize)]
struct InboxJson<'a> {
    schema: &'static str,
    claims: &'a [ken_engine::import::InboxClaim],
    approvals: Vec<approve::PendingJson>,
    quarantined: Vec<QuarantinedJson>,
    contradictions: Vec<contradictions::PairJson<'a>>,
    /// Entries that are stale or whose code changed.
    stale: Vec<EntryId>,
}

pub(super) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let (pending, approvals, signed, quarantined) = session.read(|engine| {
        Ok((
            engine.inbox_claims()?,
            engine.pending_approvals()?,
            engine.requires_signatures()?,
            engine.quarantined_entries()?,
        ))
    })?;
    let (conflicts, conflicts_total) = contradictions::read_open(session, LISTED_MAX)?;
    let stale = session.read(|engine| Ok(engine.stale_entries(&EntryFilter::default())?))?;
    if session.is_json() {
        let json = InboxJson {
            schema: "ken.inbox.v1",
            claims: &pending,
            approvals: approvals
                .iter()
                .map(|it| approve::object(it, signed))
                .collect(),
            quarantined: quarantined.iter().map(quarantined_json).collect(),
            contradictions: conflicts
                .iter()
                .map(contradictions::PairJson::new)
                .collect(),
            stale: stale.iter().map(|(entry, _)| entry.id).collect(),
        };
        session.printer.json(&json)?;
        return note_more(session, conflicts.len(), conflicts_total);
    }
    heading(
        session,
        pending.len(),
        "claim",
        "ken inbox accept ID, ken inbox reject ID",
    )?;
    for claim in &pending {
        claims::line(session, claim)?;
    }
    heading(session, approvals.len(), "approval", "ken inbox approve ID")?;
    for approval in &approvals {
        session.printer.text(approve::lines(approval))?;
    }
    let release = "ken guard quarantine release ID --reason TEXT";
    heading(session, quarantined.len(), "quarantined entry", release)?;
    for it in &quarantined {
        let reason = escape_invisible(&it.reason);
        session
            .printer
            .line(format_args!("{}  {reason}", it.entry.id))?;
    }
    heading(
        session,
        conflicts_total,
        "contradiction",
        "ken inbox resolve ID ID --keep ID",
    )?;
    for pair in &conflicts {
        contradictions::print(session, pair)?;
    }
    if conflicts.len() < conflicts_total {
        session.printer.talk(format_args!(
            "{} of {conflicts_total} contradictions; `ken health contradictions` lists more",
            conflicts.len()
        ))?;
    }
    print_stale(session, &stale)?;
    let all = pending.len() + approvals.len() + quarantined.len() + conflicts.len() + stale.len();
    if all == 0 {
        session.printer.talk("the inbox is empty")?;
    }
    Ok(CommandExit::Fine)
}

/// Lists entries that are stale or whose code changed.
fn print_stale(
    session: &mut Session<'_>,
    stale: &[(Entry, Option<Validity>)],
) -> Result<(), CommandFailure> {
    let reanchor = "ken entry reanchor ID, ken retract ID";
    heading(session, stale.len(), "stale entry", reanchor)?;
    for (entry, _) in stale {
        let title = escape_invisible(&entry.title());
        session
            .printer
            .line(format_args!("{}  {title}", entry.id))?;
    }
    Ok(())
}

/// Prints the heading of a section that has items, with the command that decides about one.
fn heading(
    session: &mut Session<'_>,
    count: usize,
    noun: &str,
    command: &str,
) -> Result<(), CommandFailure> {
    if count == 0 {
        return Ok(());
    }
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    let counted = pluralize(count as u64, noun, &plural);
    session.printer.line(format_args!("{counted} ({command})"))
}
