//! `ken self uninstall`: removes the files that `ken init` and `ken setup` wrote.

use std::path::Path;

use clap::Args;
use ken_engine::init::LedgerRetention;
use serde::Serialize;

use crate::commands::{Session, setup};
use crate::failure::{CommandExit, CommandFailure};
use crate::world;

/// `ken self uninstall`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken self uninstall")]
pub(crate) struct UninstallArgs {
    /// Also delete the ledger and every entry file; asks first
    #[arg(long)]
    pub(crate) delete_knowledge: bool,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

#[derive(Serialize)]
struct UninstallObject {
    schema: &'static str,
    removed: Vec<String>,
    /// Files and folders of Ken that are still there.
    kept: Vec<String>,
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
    if args.delete_knowledge && !args.yes {
        confirm_deletion(session)?;
    }
    let setup_files = setup::before_uninstall(session)?;
    let surroundings = &session.surroundings;
    let done = ken_engine::init::uninstall(&surroundings.start, &surroundings.git, knowledge)?;
    let removed = done.removed.iter();
    let removed = removed.map(|path| from_here(path, &surroundings.start));
    let removed: Vec<String> = setup_files.into_iter().chain(removed).collect();
    let mut kept = world::user_folders();
    kept.retain(|it| it.is_dir());
    let kept: Vec<String> = kept.iter().map(|it| it.display().to_string()).collect();
    if session.is_json() {
        session.printer.json(&UninstallObject {
            schema: "ken.uninstall.v1",
            removed,
            kept,
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
            .talk("the ledger and its entry files stay in .ken, the journal in .git/ken")?;
        session.printer.hint("`ken self uninstall --delete-knowledge` asks and deletes them; committed files stay in git's history")?;
    } else {
        session
            .printer
            .talk("removed all files of Ken from the repository")?;
    }
    for path in kept {
        session.printer.talk(format_args!(
            "kept: {path}, which your other repositories use too"
        ))?;
    }
    Ok(CommandExit::Fine)
}

/// Asks before knowledge is deleted; without a terminal, `--yes` is needed.
fn confirm_deletion(session: &mut Session<'_>) -> Result<(), CommandFailure> {
    if !setup::can_answer(session) {
        let failure = CommandFailure::refused(
            "confirmation_needed",
            "--delete-knowledge deletes the ledger and every entry file; nothing was removed",
        );
        return Err(failure.with_hint("run `ken self uninstall --delete-knowledge --yes`"));
    }
    let answer = session
        .printer
        .ask("Delete the ledger and every entry file? What is not committed is lost. [y/N] ")?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        Ok(())
    } else {
        Err(CommandFailure::refused(
            "not_confirmed",
            "nothing was removed",
        ))
    }
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
