//! Arguments of the commands that look after the ledger, its files and its neighbours.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use ken_core::content::FrictionType;
use ken_core::event::BlankReason;

use super::filter::FilterArgs;
use super::words;

/// `ken uninstall`.
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// Delete the ledger and every entry file too
    #[arg(long)]
    pub(crate) delete_knowledge: bool,
}

/// `ken sync`.
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Retract entries even where many files were deleted at once
    #[arg(long)]
    pub(crate) yes: bool,
    /// Then exchange events with a hub, in both directions [default: the only one, or `hub`]
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    pub(crate) remote: Option<Option<String>>,
}

/// `ken recover`.
#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// Also events that were written on other branches
    #[arg(long)]
    pub(crate) all: bool,
}

/// `ken blank`.
#[derive(Debug, Args)]
pub(crate) struct BlankArgs {
    /// The event, as `ken log ID` shows it
    pub(crate) event: String,
    /// Why its data must go
    #[arg(
        long,
        value_name = "REASON",
        value_parser = words::word::<BlankReason>(&["secret", "personal", "legal", "other"]),
    )]
    pub(crate) reason: BlankReason,
}

/// `ken export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// What to write
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    pub(crate) form: ExportForm,
    /// Write files below DIR instead of one text to standard output
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// What an export looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// One JSON object a line
    Jsonl,
    /// A folder of Open Knowledge Format documents; needs --out
    Okf,
    /// One Markdown text
    Markdown,
}

/// `ken index …`.
#[derive(Debug, Subcommand)]
pub(crate) enum IndexCommand {
    /// Throw the index away and build it from the ledger
    Rebuild,
}

/// `ken ledger …`.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Pack committed segments into one file, with a commit of its own
    Pack,
    /// Verify every line of every segment and pack
    Check,
    /// Print the lines of a segment or pack
    Cat {
        /// The file, such as .ken/semantic/v1/NAME.pack
        path: String,
    },
}

/// `ken friction …`.
#[derive(Debug, Subcommand)]
pub(crate) enum FrictionCommand {
    /// Record that something got in the way
    Record(RecordArgs),
    /// Count what was recorded, by type
    Report,
}

/// `ken friction record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// What happened
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_parser = words::word::<FrictionType>(&["tool_error", "redo", "validation_fail"]),
    )]
    pub(crate) friction: FrictionType,
    /// What the tool reported, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) context: String,
}

/// `ken completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// `ken man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page a command below DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
