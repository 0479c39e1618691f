//! `ken search` and its relatives: what is looked for, and how much of it is shown.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use ken_core::score::Role;
use ken_core::surface::{BUDGET, CAP, Tier};
use ken_core::text::Tag;
use ken_engine::search::Floor;

use super::filter::WhichArgs;

/// `ken search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for: words, a question, an identifier
    #[arg(value_name = "QUERY", required_unless_present_any = ["paths", "diff", "error", "file", "unanswered"])]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) hand: HandArgs,
    /// Who asks; each role looks for other kinds first
    #[arg(long = "for", value_name = "ROLE")]
    pub(crate) role: Option<Asker>,
    /// The thread of work the question comes from
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = CAP)]
    pub(crate) limit: usize,
    /// How much of each entry: summary, standard, full or auto
    #[arg(
        long,
        value_name = "TIER",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) tier: AskedTier,
    /// Tokens that should do; 500 with --context
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Print the `Knowledge Context` block for an agent's prompt
    #[arg(long)]
    pub(crate) context: bool,
    /// How relevant an entry must be: none, relevant, strict or a cosine
    #[arg(long, value_name = "FLOOR", default_value = "relevant", value_parser = floor)]
    pub(crate) threshold: Floor,
    /// Show what every score is made of, and what was withheld
    #[arg(long)]
    pub(crate) explain: bool,
    /// Rank by the mean of what is believed of an entry, without a draw
    #[arg(long)]
    pub(crate) mean: bool,
    /// Show also what the code contradicts
    #[arg(long)]
    pub(crate) include_stale: bool,
    /// List questions asked here that had no good answer
    #[arg(long, conflicts_with = "query")]
    pub(crate) unanswered: bool,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
}

/// `ken browse`.
#[derive(Debug, Args)]
pub(crate) struct BrowseArgs {
    /// What to look for first; the newest entries are listed without it
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
}

/// `ken brief`.
#[derive(Debug, Args)]
pub(crate) struct BriefArgs {
    /// What is going to be done, in a sentence
    #[arg(value_name = "TASK")]
    pub(crate) task: Vec<String>,
    #[command(flatten)]
    pub(crate) hand: HandArgs,
    /// Who begins; each role looks for other kinds first
    #[arg(long = "for", value_name = "ROLE")]
    pub(crate) role: Option<Asker>,
    /// Tokens that should do
    #[arg(long, value_name = "TOKENS", default_value_t = BUDGET)]
    pub(crate) budget: usize,
}

/// What somebody has in hand, instead of words or beside them.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is in hand")]
pub(crate) struct HandArgs {
    /// Files and folders: what is known about them
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) paths: Vec<PathBuf>,
    /// What changed since this revision
    #[arg(long, value_name = "REV")]
    pub(crate) diff: Option<String>,
    /// A file under review
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The output of something that failed, from standard input
    #[arg(long)]
    pub(crate) error: bool,
}

impl HandArgs {
    /// Returns whether somebody asked in words only.
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            paths,
            diff,
            file,
            error,
        } = self;
        paths.is_empty() && diff.is_none() && file.is_none() && !error
    }
}

/// `ken scoring …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ScoringCommand {
    /// Show the weights that hold here
    Show,
    /// Set all six weights for everybody in this workspace
    Set {
        /// Signals and their weights, which sum to 1
        #[arg(value_name = "SIGNAL=WEIGHT", required = true, value_parser = share)]
        shares: Vec<Share>,
    },
    /// Go back to the default weights
    Reset,
}

/// A signal and how much it counts.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) weight: f64,
}

fn share(text: &str) -> Result<Share, String> {
    let parts = text.split_once('=');
    let parsed = parts.and_then(|(name, weight)| Some((name, weight.parse::<f64>().ok()?)));
    let (name, weight) = parsed.ok_or("write SIGNAL=WEIGHT, such as semantic=0.4")?;
    let name = name.to_owned();
    Ok(Share { name, weight })
}

/// How much of each entry is shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AskedTier {
    Summary,
    Standard,
    Full,
    Auto,
}

impl AskedTier {
    pub(crate) fn tier(self) -> Option<Tier> {
        match self {
            Self::Summary => Some(Tier::Summary),
            Self::Standard => Some(Tier::Standard),
            Self::Full => Some(Tier::Full),
            Self::Auto => None,
        }
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Asker {
    Researcher,
    Planner,
    Debugger,
    Executor,
    Reviewer,
}

impl Asker {
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Researcher => Role::Researcher,
            Self::Planner => Role::Planner,
            Self::Debugger => Role::Debugger,
            Self::Executor => Role::Executor,
            Self::Reviewer => Role::Reviewer,
        }
    }
}

fn floor(text: &str) -> Result<Floor, String> {
    match text {
        "none" => return Ok(Floor::None),
        "relevant" => return Ok(Floor::Relevant),
        "strict" => return Ok(Floor::Strict),
        _ => {}
    }
    match f64::from_str(text) {
        Ok(cosine) if (-1.0..=1.0).contains(&cosine) => Ok(Floor::Cosine(cosine)),
        Ok(_) | Err(_) => Err("write none, relevant, strict or a number from -1 to 1".to_owned()),
    }
}
