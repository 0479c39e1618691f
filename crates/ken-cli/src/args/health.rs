//! `ken health`, `ken maintain`, `ken distil` and `ken capture`: how knowledge fares and what keeps it in order.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ken_core::anchor::Target;
use ken_core::citation::Evidence;
use ken_core::kind::Kind;
use ken_core::maintenance::{Category, Mode, Service};
use ken_core::text::{Statement, Tag};

use super::words;

pub(super) const CAPTURE_EXAMPLES: &str = "\
Examples:
  ken capture --problem \"Retried payments were charged twice\" \\
      --solution \"Send the request's key with every retry\" \\
      --anchor src/pay.rs#charge --verify \"cargo test pay\" --cite commit:3fce3b5 --tag payments

Problem and solution become one claim of at most three sentences; say both so that they hold beyond the case.
This is the way to keep what you learned: you know what mattered and what shows it. `ken compound` is the same.

  ken capture ~/.claude/projects/PROJECT/SESSION.jsonl
  ken capture notes.md

What a transcript shows is found by pattern: failures that were followed by a fix, what people corrected, commands that came again and again. It waits until somebody decides (`ken stage`); secrets are taken out before anything is written.";

/// `ken health …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HealthCommand {
    /// Tell how knowledge fares: what fourteen rules say, how work ended, what is due
    Report,
    /// Count everything, hold entries against the code, and write a proposal if a limit is reached
    Review(ReviewArgs),
}

/// `ken health review`.
#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// Limits as JSON, such as {"contradictions":1}; those not named keep their default, and without FILE all do
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) thresholds: Option<Option<PathBuf>>,
}

/// `ken maintain`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct MaintainArgs {
    /// Run this service now: dedup, stale_sweep, contradiction or confidence_reset [default: list them]
    #[arg(value_name = "SERVICE")]
    pub(crate) service: Option<Service>,
    #[command(subcommand)]
    pub(crate) command: Option<MaintainCommand>,
}

/// `ken maintain …`.
#[derive(Debug, Subcommand)]
pub(crate) enum MaintainCommand {
    /// Show or set what may happen unasked; only a person sets it
    Policy(MaintainPolicyArgs),
}

/// `ken maintain policy`.
#[derive(Debug, Args)]
pub(crate) struct MaintainPolicyArgs {
    /// How much happens unasked: nothing, what --auto lists, or everything
    #[arg(
        long,
        value_name = "MODE",
        value_parser = words::word::<Mode>(&["suggest", "auto_notify", "autonomous"]),
    )]
    pub(crate) mode: Option<Mode>,
    /// What may happen unasked: dedup, stale_sweep, contradiction, distillation
    #[arg(long, value_name = "ACTION", value_delimiter = ',', value_parser = words::word::<Category>(
        &["dedup", "stale_sweep", "contradiction", "distillation"],
    ))]
    pub(crate) auto: Option<Vec<Category>>,
    /// Entries that may be changed unasked within a day
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<u32>,
    /// Runs that may be made unasked within a day
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<u32>,
    /// Go back to the default
    #[arg(long, conflicts_with_all = ["mode", "auto", "budget", "max_runs"])]
    pub(crate) reset: bool,
}

/// `ken distil`.
#[derive(Debug, Args)]
pub(crate) struct DistilArgs {
    /// The entries that belong together
    #[arg(long, value_name = "ID", num_args = 1.., requires = "statement")]
    pub(crate) sources: Vec<String>,
    /// What they say together: one to three sentences
    #[arg(long, value_name = "TEXT", requires = "sources")]
    pub(crate) statement: Option<Statement>,
    /// What kind of knowledge it is
    #[arg(long, value_name = "KIND", default_value = "learning", value_parser = words::kind())]
    pub(crate) kind: Kind,
}

/// `ken capture`.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// A transcript of Claude Code or Codex, or notes in Markdown: what it shows waits for a decision; `-` reads standard
    /// input
    #[arg(conflicts_with_all = ["problem", "solution", "cite", "anchor", "verify", "tag", "lens", "kind"])]
    pub(crate) file: Option<PathBuf>,
    /// Read FILE as a transcript of this agent, whatever it looks like
    #[arg(long, value_name = "AGENT", requires = "file")]
    pub(crate) agent: Option<CaptureAgent>,
    /// Let the judge say what FILE shows (see `ken judge`)
    #[arg(long, requires = "file")]
    pub(crate) judge: bool,
    /// What went wrong, in a sentence
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    pub(crate) problem: Option<String>,
    /// What solved it, in a sentence or two
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    pub(crate) solution: Option<String>,
    /// What shows it: commit:HASH, pr:NUMBER, doc:PATH, test:NAME or transcript:HASH
    #[arg(
        long,
        visible_alias = "evidence",
        value_name = "TYPE:REF",
        required_unless_present = "file"
    )]
    pub(crate) cite: Vec<Evidence>,
    /// The code it is about: PATH, PATH#SYMBOL or PATH:FIRST-LAST
    #[arg(long, value_name = "ANCHOR")]
    pub(crate) anchor: Vec<Target>,
    /// A step that shows whether it still holds; at most three
    #[arg(long, value_name = "STEP")]
    pub(crate) verify: Vec<String>,
    /// A tag, such as auth/jwt
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<Tag>,
    /// A reviewer's point of view: security, correctness, performance, …
    #[arg(long, value_name = "LENS")]
    pub(crate) lens: Option<Tag>,
    /// What kind of knowledge it is
    #[arg(long, value_name = "KIND", default_value = "learning")]
    pub(crate) kind: CaptureKind,
}

/// Agents whose transcripts are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CaptureAgent {
    ClaudeCode,
    Codex,
}

/// What a solved problem may teach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CaptureKind {
    Learning,
    Bug,
    Technique,
    Pattern,
    AntiPattern,
    Decision,
    Convention,
    Incident,
}

impl CaptureKind {
    /// Returns the kind of entry.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Learning => Kind::Learning,
            Self::Bug => Kind::Bug,
            Self::Technique => Kind::Technique,
            Self::Pattern => Kind::Pattern,
            Self::AntiPattern => Kind::AntiPattern,
            Self::Decision => Kind::Decision,
            Self::Convention => Kind::Convention,
            Self::Incident => Kind::Incident,
        }
    }
}
