//! `ken guard quarantine`: quarantined entries, and their release by a person.

use clap::Subcommand;
use ken_engine::guard::QuarantinedEntry;
use serde::Serialize;

use crate::commands::{Session, note};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};

/// `ken guard quarantine …`.
#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List quarantined entries with the reason
    #[command(after_help = "Example:\n  ken guard quarantine list")]
    List,
    /// Quarantine entries until a person releases them
    #[command(after_help = "Example:\n  ken guard quarantine add L-7k2f --reason \"Source unclear\"", group = clap::ArgGroup::new("which").required(true).args(["id", "base"]))]
    Add {
        /// The entry: its id, an unambiguous prefix of it, or its alias
        id: Option<String>,
        /// Quarantine every entry that the change since REV adds or edits, such as a merged fork
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// Reason, for the history
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Release an entry; people only
    #[command(
        after_help = "Example:\n  ken guard quarantine release L-7k2f --reason \"Checked the source\""
    )]
    Release {
        /// The entry: its id, an unambiguous prefix of it, or its alias
        id: String,
        /// Why the entry is safe
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// JSON view of a quarantined entry.
#[derive(Serialize)]
pub(in crate::commands) struct QuarantinedJson {
    schema: &'static str,
    id: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<String>,
}

/// Returns the view of a quarantined entry.
pub(in crate::commands) fn quarantined_json(it: &QuarantinedEntry) -> QuarantinedJson {
    QuarantinedJson {
        schema: "ken.quarantined.v1",
        id: it.entry.id.to_string(),
        reason: it.reason.clone(),
        statement: statement(it),
    }
}

/// Returns the statement, unless it was redacted.
fn statement(it: &QuarantinedEntry) -> Option<String> {
    let content = it.entry.content.as_ref();
    content.map(|content| content.statement.to_string())
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: Option<QuarantineCommand>,
) -> Result<CommandExit, CommandFailure> {
    match command {
        None | Some(QuarantineCommand::List) => list(session),
        Some(QuarantineCommand::Add { id, base, reason }) => add(session, id, base, reason),
        Some(QuarantineCommand::Release { id, reason }) => release(session, &id, reason),
    }
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let quarantined = session.read(|engine| Ok(engine.quarantined_entries()?))?;
    for it in &quarantined {
        if session.is_json() {
            session.printer.json(&quarantined_json(it))?;
            continue;
        }
        session.printer.line(format_args!(
            "{}  {}",
            it.entry.id,
            escape_invisible(&it.reason)
        ))?;
        let shown = escape_invisible(statement(it).as_deref().unwrap_or("(redacted)"));
        session.printer.line(format_args!("  {shown}"))?;
    }
    if !session.is_json() {
        let count = quarantined.len() as u64;
        let count = pluralize(count, "quarantined entry", "quarantined entries");
        session.printer.talk(count)?;
        if !quarantined.is_empty() {
            session.printer.hint(
                "`ken show ID` shows the entry, `ken guard quarantine release ID --reason …` releases it, `ken retract ID` retracts it",
            )?;
        }
    }
    Ok(CommandExit::Fine)
}

fn add(
    session: &mut Session<'_>,
    id: Option<String>,
    base: Option<String>,
    reason: String,
) -> Result<CommandExit, CommandFailure> {
    let reason = note(Some(reason))?.ok_or_else(|| CommandFailure::usage("the reason is empty"))?;
    if let Some(base) = base {
        let ids = session.write(|engine, by| Ok(engine.quarantine_change(&base, &reason, by)?))?;
        for id in &ids {
            session.printer.line(id)?;
        }
        let count = pluralize(ids.len() as u64, "entry", "entries");
        session.printer.talk(format_args!("quarantined {count}"))?;
        if ids.is_empty() {
            session.printer.hint(format_args!(
                "no entry was added since `{base}`; after a merge commit, the commit before it is `HEAD~1`"
            ))?;
        }
        return Ok(CommandExit::Fine);
    }
    let wanted = id.ok_or_else(|| CommandFailure::usage("give an entry, or --base REV"))?;
    let entry = session.write(|engine, by| {
        let id = engine.find(&wanted)?.id;
        Ok(engine.quarantine(id, &reason, by)?)
    })?;
    session.written(
        &entry,
        "quarantined: agents do not see it until a person releases it",
    )
}

fn release(
    session: &mut Session<'_>,
    id: &str,
    reason: String,
) -> Result<CommandExit, CommandFailure> {
    let reason = note(Some(reason))?.ok_or_else(|| CommandFailure::usage("the reason is empty"))?;
    let entry = session.write(|engine, by| {
        let id = engine.find(id)?.id;
        Ok(engine.release(id, reason, by)?)
    })?;
    session.written(
        &entry,
        format_args!("released; its status is {}", entry.status.value),
    )
}
