//! `ken self uninstall`: removes the files that `ken init` and `ken setup` wrote.

use std::path::Path;

use clap::Args;
use ken_engine::init::LedgerRetention;
use serde::Serialize;

use crate::commands::{Session, setup};
use crate::failure::{CommandExit, CommandFailure};

/// `ken self uninstall`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken self uninstall")]
pub(crate) struct UninstallArgs {
    /// Also delete the ledger and every entry file
    #[arg(long)]
    pub(crate) delete_knowledge: bool,
}

#[derive(Serialize)]
struct UninstallObject {
    schema: &'static str,
    removed: Vec<String>,
    knowledge_kept: bool,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &UninstallArgs,
) -> Result<CommandExit, CommandFailure> {
    let knowledge = if args.delete_knowledge {
        LedgerRetention::Delete
    } else {
        LedgerRetention::Keep
    };
    let setup_files = setup::before_uninstall(session)?;
    let surroundings = &session.surroundings;
    let done = ken_engine::init::uninstall(&surroundings.start, &surroundings.git, knowledge)?;
    let removed = done.removed.iter();
    let removed = removed.map(|path| from_here(path, &surroundings.start));
    let removed: Vec<String> = setup_files.into_iter().chain(removed).collect();
    if session.is_json() {
        session.printer.json(&UninstallObject {
            schema: "ken.uninstall.v1",
            removed,
            knowledge_kept: done.ledger_kept,
        })?;
        return Ok(CommandExit::Fine);
    }
    for path in &removed {
        session.printer.line(path)?;
    }
    if done.ledger_kept {
        session
            .printer
            .talk("the ledger and its entry files stay in .ken")?;
        session.printer.hint("`ken self uninstall --delete-knowledge` deletes them; committed files stay in git's history")?;
    } else {
        session
            .printer
            .talk("removed all files of Ken from the worktree")?;
    }
    Ok(CommandExit::Fine)
}

/// Returns a path relative to the repository root, or to the start folder.
fn from_here(path: &str, start: &Path) -> String {
    let tops = start
        .ancestors()
        .filter(|folder| folder.join(".git").exists());
    let below = tops
        .chain([start])
        .find_map(|top| Path::new(path).strip_prefix(top).ok());
    below.map_or_else(|| path.to_owned(), |below| below.display().to_string())
}
