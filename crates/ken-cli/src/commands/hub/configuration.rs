//! `ken hub config`: checks and lists the settings of `ken serve`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `ken hub config …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigurationCommand {
    /// Check a configuration file, the environment and the files they name
    Check(CheckArgs),
    /// Print every setting: key of the file, environment variable, option
    #[command(after_help = "Example:\n  ken hub config reference")]
    Reference,
}

/// Text below the options of `ken hub config check --help`.
const CHECK_HELP: &str = "\
Examples:
  ken hub config check hub.toml
  ken hub config check hub.toml --connect

Lists every setting that is not at its default, and where it comes from. Secrets are not printed.
Starts no hub.";

/// `ken hub config check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// Configuration file [default: $KEN_SERVE_CONFIG]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Also connect to the database: check its schema version and the rights of the role
    #[arg(long)]
    pub(crate) connect: bool,
}
