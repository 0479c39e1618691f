//! `ken archive`: archives an entry, or every entry not confirmed recently.

use clap::Args;
use ken_core::values::id::EntryId;
use ken_core::values::text::Tag;
use serde::Serialize;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken archive`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken archive L-7k2f\n  ken archive --older-than 180")]
#[command(group = clap::ArgGroup::new("which").args(["id", "older_than", "thread"]).required(true))]
pub(crate) struct ArchiveArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: Option<String>,
    /// Archive every entry not confirmed for more than this many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u32>,
    /// Archive every entry whose scope is this thread
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
}

#[derive(Serialize)]
struct ArchivedObject {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    older_than_days: Option<u32>,
    archived: Vec<String>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ArchiveArgs,
) -> Result<CommandExit, CommandFailure> {
    if let Some(days) = args.older_than {
        let ids = session.write(|engine, by| Ok(engine.archive_older_than(days, by)?))?;
        let why = format!("not confirmed for {days} days");
        return archived(session, &ids, Some(days), &why);
    }
    if let Some(thread) = &args.thread {
        let (ids, promotable) = session.write(|engine, by| {
            let promotable = engine.promotable_entries(thread, by)?;
            Ok((engine.archive_thread(thread, by)?, promotable))
        })?;
        let why = format!("of thread {thread}");
        let exit = archived(session, &ids, None, &why)?;
        if let Some(first) = promotable.first() {
            let many = pluralize(promotable.len() as u64, "of them has", "of them have");
            session.printer.hint(format_args!(
                "{many} proven useful: run `ken restore {first}` and `ken entry promote {first} --to workspace` to keep it"
            ))?;
        }
        return Ok(exit);
    }
    let wanted = args.id.as_deref().unwrap_or_default();
    let entry = session.write(|engine, by| {
        let id = engine.find(wanted)?.id;
        Ok(engine.archive(id, by)?)
    })?;
    let id = entry.id;
    session.written(
        &entry,
        format_args!("archived; `ken restore {id}` restores it"),
    )
}

fn archived(
    session: &mut Session<'_>,
    ids: &[EntryId],
    older_than_days: Option<u32>,
    why: &str,
) -> Result<CommandExit, CommandFailure> {
    let archived: Vec<String> = ids.iter().map(ToString::to_string).collect();
    if session.is_json() {
        let object = ArchivedObject {
            schema: "ken.archive.v1",
            older_than_days,
            archived,
        };
        session.printer.json(&object)?;
        return Ok(CommandExit::Fine);
    }
    for id in &archived {
        session.printer.line(id)?;
    }
    let count = pluralize(ids.len() as u64, "entry", "entries");
    session
        .printer
        .talk(format_args!("archived {count} {why}"))?;
    Ok(CommandExit::Fine)
}
