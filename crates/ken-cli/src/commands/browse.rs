//! `ken browse`: full-screen browser of entries that searches as you type.

use std::io::{self, IsTerminal as _};

use clap::Args;

use super::Session;
use crate::args::filter::WhichArgs;
use crate::browse::{ColorMode, EntryBrowser};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::progress::ProgressIndicator;

/// `ken browse`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken browse\n  ken browse payments")]
pub(crate) struct BrowseArgs {
    /// Initial query [default: list the newest entries]
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &BrowseArgs,
) -> Result<CommandExit, CommandFailure> {
    if session.is_json() || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let hint = "use `ken search QUERY` or `ken list` instead";
        return Err(CommandFailure::usage("`ken browse` needs a terminal").with_hint(hint));
    }
    let paint = if session.printer.is_colored() {
        ColorMode::Colored
    } else {
        ColorMode::Plain
    };
    let progress = ProgressIndicator::start(session.printer, "reading entries", None);
    session.read(|engine| {
        drop(progress);
        EntryBrowser::new(engine, args.which.to_filter(), args.query.join(" "), paint).run()
    })?;
    Ok(CommandExit::Fine)
}
