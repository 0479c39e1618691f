//! `ken self completions`: prints the completion script of a shell.

use clap::Args;
use clap_complete::Shell;

use crate::commands::{Session, help};
use crate::failure::{CommandExit, CommandFailure};

/// `ken self completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken self completions bash")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &CompletionsArgs,
) -> Result<CommandExit, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "ken", &mut script);
    session.printer.text(String::from_utf8_lossy(&script))?;
    Ok(CommandExit::Fine)
}
