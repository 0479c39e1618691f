//! `ken entry supersede`: replaces an entry by a newer one.

use clap::Args;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken entry supersede`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken entry supersede L-7k2f L-9d2c")]
pub(crate) struct SupersedeArgs {
    /// The old entry
    pub(crate) old: String,
    /// The entry that replaces it
    pub(crate) new: String,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &SupersedeArgs,
) -> Result<CommandExit, CommandFailure> {
    let (old, entry) = session.write(|engine, by| {
        let (old, new) = (engine.find(&args.old)?.id, engine.find(&args.new)?.id);
        Ok((old, engine.supersede(old, new, by)?))
    })?;
    session.written(&entry, format_args!("supersedes {old}, which is kept"))
}
