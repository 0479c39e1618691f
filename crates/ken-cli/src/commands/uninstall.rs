//! `ken uninstall`: takes out what `ken init` and `ken setup` put in.

use std::path::Path;

use ken_engine::init::Knowledge;
use serde::Serialize;

use super::{Session, setup};
use crate::args::UninstallArgs;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct UninstallObject {
    schema: &'static str,
    removed: Vec<String>,
    knowledge_kept: bool,
}

pub(super) fn run(session: &mut Session<'_>, args: &UninstallArgs) -> Result<Exit, Failure> {
    let knowledge = if args.delete_knowledge {
        Knowledge::Delete
    } else {
        Knowledge::Keep
    };
    let told = setup::before_uninstall(session)?;
    let surroundings = &session.surroundings;
    let done = ken_engine::init::uninstall(&surroundings.start, &surroundings.git, knowledge)?;
    let removed = done.removed.iter();
    let removed = removed.map(|path| from_here(path, &surroundings.start));
    let removed: Vec<String> = told.into_iter().chain(removed).collect();
    if session.is_json() {
        session.printer.json(&UninstallObject {
            schema: "ken.uninstall.v1",
            removed,
            knowledge_kept: done.knowledge_kept,
        })?;
        return Ok(Exit::Fine);
    }
    for path in &removed {
        session.printer.line(path)?;
    }
    if done.knowledge_kept {
        session
            .printer
            .talk("the ledger and its entry files stay in .ken")?;
        session.printer.hint("`ken uninstall --delete-knowledge` deletes them; what is committed stays in git's history")?;
    } else {
        session.printer.talk("nothing of Ken is left in the tree")?;
    }
    Ok(Exit::Fine)
}

/// Returns a path from the top of the repository we are in, or from here.
fn from_here(path: &str, start: &Path) -> String {
    let tops = start
        .ancestors()
        .filter(|folder| folder.join(".git").exists());
    let below = tops
        .chain([start])
        .find_map(|top| Path::new(path).strip_prefix(top).ok());
    below.map_or_else(|| path.to_owned(), |below| below.display().to_string())
}
