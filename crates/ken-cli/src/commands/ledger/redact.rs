//! `ken ledger redact`: removes the data of an event from every copy this clone can reach.

use clap::Args;
use ken_core::ledger::event::BlankReason;
use ken_engine::SegmentName;

use super::files::ReplacedObject;
use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken ledger redact`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken ledger redact EVENT --reason secret")]
pub(crate) struct RedactArgs {
    /// Id of the event, as shown by `ken log ID`
    pub(crate) event: String,
    /// Reason for the redaction
    #[arg(
        long,
        value_name = "REASON",
        value_parser = values::word::<BlankReason>(&["secret", "personal", "legal", "other"]),
    )]
    pub(crate) reason: BlankReason,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &RedactArgs,
) -> Result<CommandExit, CommandFailure> {
    let (replaced, entry_files) = session.write(|engine, by| {
        let event = engine.event(&args.event)?.event;
        let entries = event.entries().filter_map(|id| engine.entry(id).ok());
        let names = entries.filter_map(|entry| entry.file_name());
        let files: Vec<String> = names.map(|name| format!(".ken/entries/{name}")).collect();
        Ok((engine.redact(&args.event, args.reason, by)?, files))
    })?;
    if session.is_json() {
        session.printer.json(&ReplacedObject::new(&replaced))?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(args.event.to_ascii_uppercase())?;
    let files = pluralize(replaced.removed.len() as u64, "file", "files");
    session.printer.talk(format_args!(
        "redacted in the worktree, the journal, the index and the views ({files} replaced)"
    ))?;
    if replaced.committed {
        session.printer.talk(
            "committed the replaced segments; commit the entry files as well: git add .ken && git commit",
        )?;
    }
    match replaced.commits_in_history {
        Some(0) => session
            .printer
            .talk("git's history does not contain the data"),
        Some(commits) => {
            let commits = pluralize(commits, "commit", "commits");
            session.printer.talk(format_args!(
                "git's history still contains the data in {commits}; anyone with a clone can read it"
            ))?;
            let first = match args.reason {
                BlankReason::Secret => "rotate the secret; ",
                BlankReason::Personal | BlankReason::Legal | BlankReason::Other => "",
            };
            let segments = replaced.removed.iter().map(SegmentName::tree_path);
            let paths: Vec<String> = segments
                .chain(entry_files)
                .map(|path| format!(" --path {path}"))
                .collect();
            // The pack in the tree has every event of the removed segments, so they can go.
            session.printer.hint(format_args!(
                "{first}to remove the data from the history too, commit everything and rewrite it:\n  git filter-repo --invert-paths{}\n  ken ledger render\n  git add .ken && git commit -m \"entry files\"\n  git push --force --all\nThen everyone else clones again.",
                paths.concat()
            ))
        }
        None => session
            .printer
            .talk("cannot determine whether git's history contains the data"),
    }?;
    Ok(CommandExit::Fine)
}
