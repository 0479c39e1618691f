//! Arguments that name one entry.

use clap::Args;

/// Argument that names one entry.
#[derive(Debug, Args)]
pub(crate) struct IdArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
}

/// Arguments that name one entry and an optional reason.
#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// Reason, for the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}
