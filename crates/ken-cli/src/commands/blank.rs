//! `ken blank`: removes an event's data everywhere this clone can reach.

use ken_core::event::BlankReason;

use super::Session;
use super::ledger::ReplacedObject;
use crate::args::BlankArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

pub(super) fn run(session: &mut Session<'_>, args: &BlankArgs) -> Result<Exit, Failure> {
    let replaced = session.write(|engine, by| Ok(engine.blank(&args.event, args.reason, by)?))?;
    if session.is_json() {
        session.printer.json(&ReplacedObject::new(&replaced))?;
        return Ok(Exit::Fine);
    }
    session.printer.line(args.event.to_ascii_uppercase())?;
    let files = counted(replaced.removed.len() as u64, "file", "files");
    session.printer.talk(format_args!(
        "blanked in the tree, the journal, the index and the views ({files} replaced)"
    ))?;
    match replaced.commits_in_history {
        Some(0) => session.printer.talk("git's history does not hold it"),
        Some(commits) => {
            let commits = counted(commits, "commit", "commits");
            session.printer.talk(format_args!(
                "git's history still holds it in {commits}; whoever has a clone can read it there"
            ))?;
            let first = match args.reason {
                BlankReason::Secret => "rotate the secret; ",
                BlankReason::Personal | BlankReason::Legal | BlankReason::Other => "",
            };
            session.printer.hint(format_args!(
                "{first}only rewriting history, in every clone, removes it there"
            ))
        }
        None => session
            .printer
            .talk("git could not say whether its history holds it"),
    }?;
    Ok(Exit::Fine)
}
