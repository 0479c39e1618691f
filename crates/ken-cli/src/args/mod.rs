//! Arguments that several commands share, and the options of every command.
//!
//! The arguments of a single command are in its module in [`commands`](crate::commands).

pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod id;
pub(crate) mod values;

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use ken_core::values::actor::Actor;

use crate::commands::KenCommand;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "ken",
    version,
    about = "Records what agents and people learn about a codebase, and checks it against the code",
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: KenCommand,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Author of the change: human:NAME, agent:NAME or ci:NAME [default: $KEN_ACTOR, the agent
    /// that runs Ken, git's user.email]
    #[arg(long, global = true, value_name = "ACTOR")]
    pub(crate) by: Option<Actor>,
    /// Run that the command belongs to [default: $KEN_RUN]
    #[arg(long, global = true, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Replace secrets by `[REDACTED:type]` instead of refusing the text
    #[arg(long, global = true)]
    pub(crate) redact: bool,
    /// Run as if started in DIR
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Output format: text, or one JSON object per line (--json); `verify` has three more
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Short for --format json
    #[arg(long, global = true, conflicts_with = "format", hide = true)]
    pub(crate) json: bool,
    /// Print only the result and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// When to use color; NO_COLOR is honored
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    // Only for `verify`: code hosts, build logs, pull requests.
    Sarif,
    Github,
    Markdown,
}

/// When to use color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// The group that a command was called in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    Top,
    /// `ken knowledge`, whose `show` prints JSON.
    Knowledge,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_well_formed() {
        crate::commands::help::command().debug_assert();
    }
}
