//! `ken contradictions`, `ken resolve` and `ken norms`: what cannot both hold, and what a change must keep.

use clap::{Args, Subcommand};
use ken_core::citation::Evidence;

/// `ken contradictions`.
#[derive(Debug, Args)]
pub(crate) struct ContradictionsArgs {
    /// Write down the ones that are new, so that both sides are shown together from now on
    #[arg(long, conflicts_with = "dismiss")]
    pub(crate) flag: bool,
    /// Two entries that do not contradict each other: never list them again
    #[arg(long, value_name = "ID", num_args = 2)]
    pub(crate) dismiss: Vec<String>,
}

/// `ken resolve`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("how").required(true).args(["keep", "both", "scope"]))]
pub(crate) struct ResolveArgs {
    /// One side
    pub(crate) one: String,
    /// The other
    pub(crate) other: String,
    /// The side that stays; the other gives way to it and is kept
    #[arg(long, value_name = "ID")]
    pub(crate) keep: Option<String>,
    /// Both stay, side by side
    #[arg(long)]
    pub(crate) both: bool,
    /// Both stay, and this one is about TAG only; may be repeated
    #[arg(long, value_name = "ID=TAG")]
    pub(crate) scope: Vec<String>,
}

/// `ken norms`.
#[derive(Debug, Subcommand)]
pub(crate) enum NormsCommand {
    /// List norms to begin with, with what each checks
    Examples,
    /// Add one of them; from then on `ken verify --base` holds changes against it
    Add(AddNormArgs),
}

/// `ken norms add`.
#[derive(Debug, Args)]
pub(crate) struct AddNormArgs {
    /// Its name, as `ken norms examples` lists it
    pub(crate) name: String,
    /// Why it is wanted here: commit:…, pr:…, doc:…, test:… or transcript:… [default: the example itself]
    #[arg(long, value_name = "TYPE:REF")]
    pub(crate) cite: Option<Evidence>,
}
