//! `ken hub retention` and `ken hub hold`: how long a hub keeps what is out of use, and what it
//! must keep longer.

use clap::{Args, Subcommand};

/// `ken hub retention …`.
#[derive(Debug, Subcommand)]
pub(crate) enum RetentionCommand {
    /// Set a rule
    Set(RetentionSetArgs),
    /// List the rules of an organization
    #[command(after_help = "Example:\n  ken hub retention list acme")]
    List {
        /// The organization
        organization: String,
    },
    /// Delete and redact what the rules say; run it daily, such as from a timer
    Apply(RetentionApplyArgs),
}

/// Text below the options of `ken hub retention set --help`.
const SET_HELP: &str = "\
Examples:
  ken hub retention set acme --kind quarantine --days 90
  ken hub retention set acme payments --kind learning --days 365
  ken hub retention set acme payments --kind learning --days never

Kinds: `runs` (ended runs and their notes), `quarantine` (events that nobody decided on), and each
kind of entry: its archived and retracted entries, since they are out of use. Entries in use stay.";

/// `ken hub retention set`.
#[derive(Debug, Args)]
#[command(after_help = SET_HELP)]
pub(crate) struct RetentionSetArgs {
    /// The organization
    pub(crate) organization: String,
    /// A workspace, whose rule replaces the organization's [default: every workspace]
    pub(crate) workspace: Option<String>,
    /// What the rule is about
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: String,
    /// Days, or `never` to remove the rule
    #[arg(long, value_name = "DAYS|never", value_parser = days)]
    pub(crate) days: DaysArg,
}

/// Text below the options of `ken hub retention apply --help`.
const APPLY_HELP: &str = "\
Examples:
  ken hub retention apply acme --dry-run
  KEN_ACTOR=human:ada@example.org ken hub retention apply acme

An entry is deleted by redacting its events in your name, here and in every clone that pulls. Git
keeps the former versions of committed files; see docs/guides/audit-a-hub.md.";

/// `ken hub retention apply`.
#[derive(Debug, Args)]
#[command(after_help = APPLY_HELP)]
pub(crate) struct RetentionApplyArgs {
    /// The organization
    pub(crate) organization: String,
    /// Only count
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Days of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DaysArg {
    Never,
    Days(u32),
}

fn days(text: &str) -> Result<DaysArg, String> {
    /// Longest retention in days: a hundred years.
    const DAYS_MAX: u32 = 36_525;

    if text == "never" {
        return Ok(DaysArg::Never);
    }
    match text.parse() {
        Ok(days @ 1..=DAYS_MAX) => Ok(DaysArg::Days(days)),
        Ok(_) | Err(_) => Err(format!(
            "expected a number from 1 to {DAYS_MAX}, or `never`"
        )),
    }
}

/// `ken hub hold …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HoldCommand {
    /// Place a hold: retention and erasure delete nothing until it is released; people can still
    /// redact an event and discard a quarantined one
    Add(HoldAddArgs),
    /// List the holds of an organization, released ones included
    #[command(after_help = "Example:\n  ken hub hold list acme")]
    List {
        /// The organization
        organization: String,
    },
    /// Release a hold
    #[command(after_help = "Example:\n  ken hub hold release acme ID")]
    Release {
        /// The organization
        organization: String,
        /// Id of the hold, as listed by `ken hub hold list`
        id: String,
    },
}

/// `ken hub hold add`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken hub hold add acme --reason \"Case 7\"\n  ken hub hold add acme payments --reason \"Case 7\""
)]
pub(crate) struct HoldAddArgs {
    /// The organization
    pub(crate) organization: String,
    /// A workspace, also a removed one [default: everything of the organization]
    pub(crate) workspace: Option<String>,
    /// Why, such as the number of a case
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}
