//! `ken inbox` without a subcommand: one list of everything that is pending for a person.

use ken_core::ledger::entry::Entry;
use ken_core::ledger::store::EntryFilter;
use ken_core::trust::facts::Validity;
use ken_core::values::id::EntryId;
use ken_engine::Engine;
use ken_engine::contradictions::Contradiction;
use ken_engine::duplicates::LISTED_MAX;
use ken_engine::guard::QuarantinedEntry;
use ken_engine::impact::ObservedEffect;
use ken_engine::import::InboxClaim;
use ken_engine::promotion::PendingApproval;
use ken_engine::runs::HarmAlarm;
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
    claims: &'a [InboxClaim],
    approvals: Vec<approve::PendingJson>,
    quarantined: Vec<QuarantinedJson>,
    contradictions: Vec<contradictions::PairJson<'a>>,
    /// Entries that were edited concurrently: one version is in use.
    concurrent: Vec<EntryId>,
    /// Entries that are stale or whose code changed.
    stale: Vec<EntryId>,
    /// Entries that Ken muted, because sessions that were shown them went worse.
    harmful: Vec<HarmJson>,
}

#[derive(Serialize)]
struct HarmJson {
    id: EntryId,
    #[serde(flatten)]
    effect: ObservedEffect,
}

/// Everything that is pending.
struct PendingItems {
    claims: Vec<InboxClaim>,
    approvals: Vec<PendingApproval>,
    wants_signatures: bool,
    quarantined: Vec<QuarantinedEntry>,
    contradictions: Vec<Contradiction>,
    concurrent: Vec<Entry>,
    stale: Vec<(Entry, Option<Validity>)>,
    harmful: Vec<HarmAlarm>,
}

impl PendingItems {
    /// Reads the ledger. What reads or checks every entry comes from the caller, which may show
    /// progress or keep it.
    fn read(
        engine: &mut Engine,
        contradictions: Vec<Contradiction>,
        stale: Vec<(Entry, Option<Validity>)>,
    ) -> Result<Self, CommandFailure> {
        Ok(Self {
            claims: engine.inbox_claims()?,
            approvals: engine.pending_approvals()?,
            wants_signatures: engine.requires_signatures()?,
            quarantined: engine.quarantined_entries()?,
            contradictions,
            concurrent: engine.concurrently_edited()?,
            stale,
            harmful: engine.harm_alarms()?,
        })
    }

    fn json(&self) -> InboxJson<'_> {
        let approvals = self.approvals.iter();
        let contradictions = self.contradictions.iter();
        InboxJson {
            schema: "ken.inbox.v1",
            claims: &self.claims,
            approvals: approvals
                .map(|it| approve::object(it, self.wants_signatures))
                .collect(),
            quarantined: self.quarantined.iter().map(quarantined_json).collect(),
            contradictions: contradictions.map(contradictions::PairJson::new).collect(),
            concurrent: self.concurrent.iter().map(|entry| entry.id).collect(),
            stale: self.stale.iter().map(|(entry, _)| entry.id).collect(),
            harmful: self.harmful.iter().map(harm_json).collect(),
        }
    }
}

/// Returns the JSON document of the inbox, for a reader that is a person.
pub(crate) fn inbox_document(
    engine: &mut Engine,
    contradictions: Vec<Contradiction>,
    stale: Vec<(Entry, Option<Validity>)>,
) -> Result<serde_json::Value, CommandFailure> {
    let pending = PendingItems::read(engine, contradictions, stale)?;
    serde_json::to_value(pending.json()).map_err(|error| CommandFailure::json(&error))
}

pub(super) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let (conflicts, conflicts_total) = contradictions::read_open(session, LISTED_MAX)?;
    let all = session.read(|engine| {
        let stale = engine.stale_entries(&EntryFilter::default())?;
        PendingItems::read(engine, conflicts, stale)
    })?;
    if session.is_json() {
        session.printer.json(&all.json())?;
        return note_more(session, all.contradictions.len(), conflicts_total);
    }
    let PendingItems {
        claims: pending,
        approvals,
        quarantined,
        contradictions: conflicts,
        concurrent,
        stale,
        harmful,
        ..
    } = all;
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
    let keep = "ken show ID, ken edit ID";
    print_titles(session, "concurrent edit", keep, &concurrent)?;
    let reanchor = "ken entry reanchor ID, ken retract ID";
    let changed: Vec<Entry> = stale.into_iter().map(|(entry, _)| entry).collect();
    print_titles(session, "stale entry", reanchor, &changed)?;
    print_harmful(session, &harmful)?;
    let decided = pending.len() + approvals.len() + quarantined.len() + conflicts.len();
    let all = decided + concurrent.len() + changed.len() + harmful.len();
    if all == 0 {
        session.printer.talk("the inbox is empty")?;
    }
    Ok(CommandExit::Fine)
}

/// Lists entries with their titles below a heading.
fn print_titles(
    session: &mut Session<'_>,
    noun: &str,
    command: &str,
    entries: &[Entry],
) -> Result<(), CommandFailure> {
    heading(session, entries.len(), noun, command)?;
    for entry in entries {
        let title = escape_invisible(&entry.title());
        session
            .printer
            .line(format_args!("{}  {title}", entry.id))?;
    }
    Ok(())
}

/// Lists entries that Ken muted because of measured harm.
fn print_harmful(session: &mut Session<'_>, harmful: &[HarmAlarm]) -> Result<(), CommandFailure> {
    let decide = "ken entry mute ID --off";
    heading(session, harmful.len(), "muted entry", decide)?;
    for alarm in harmful {
        let title = escape_invisible(&alarm.entry.title());
        session
            .printer
            .line(format_args!("{}  {title}", alarm.entry.id))?;
        // A person decides by the figures, so they stand below the title.
        for line in alarm.effect.to_lines(false) {
            session.printer.line(format_args!("    {line}"))?;
        }
    }
    Ok(())
}

fn harm_json(alarm: &HarmAlarm) -> HarmJson {
    HarmJson {
        id: alarm.entry.id,
        effect: alarm.effect.clone(),
    }
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
