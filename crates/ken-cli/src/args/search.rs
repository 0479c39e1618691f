//! `ken search`: what is looked for, and how much of it is shown.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use ken_core::score::Role;
use ken_core::text::Tag;
use ken_engine::search::Floor;

use super::filter::WhichArgs;

/// `ken search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for: words, a question, an identifier
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Who asks; each role looks for other kinds first
    #[arg(long = "for", value_name = "ROLE")]
    pub(crate) role: Option<Asker>,
    /// The thread of work the question comes from
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) limit: usize,
    /// How relevant an entry must be: none, relevant, strict or a cosine
    #[arg(long, value_name = "FLOOR", default_value = "relevant", value_parser = floor)]
    pub(crate) threshold: Floor,
    /// Show what every score is made of, and what was withheld
    #[arg(long)]
    pub(crate) explain: bool,
    /// Rank by the mean of what is believed of an entry, without a draw
    #[arg(long)]
    pub(crate) mean: bool,
    /// The run whose draws serve
    #[arg(long, value_name = "RUN", conflicts_with = "mean", default_value = "")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
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
