//! `ken self man`: manual pages, generated from the same texts as `--help`.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::commands::{Session, help};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken self man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken self man --out man")]
pub(crate) struct ManArgs {
    /// Write one page per command into DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &ManArgs,
) -> Result<CommandExit, CommandFailure> {
    let Some(out) = &args.out else {
        let mut page = Vec::new();
        let written = clap_mangen::Man::new(help::command()).render(&mut page);
        written.map_err(|e| CommandFailure::io("cannot render the manual page", &e))?;
        session.printer.text(String::from_utf8_lossy(&page))?;
        return Ok(CommandExit::Fine);
    };
    let out = session.surroundings.start.join(out);
    let failed =
        |error| CommandFailure::io(format_args!("cannot write to `{}`", out.display()), &error);
    fs::create_dir_all(&out).map_err(failed)?;
    clap_mangen::generate_to(help::command(), &out).map_err(failed)?;
    let pages = fs::read_dir(&out).map_err(failed)?.count();
    let pages = pluralize(pages as u64, "page", "pages");
    session
        .printer
        .talk(format_args!("wrote {pages} to {}", out.display()))?;
    Ok(CommandExit::Fine)
}
