//! `ken revoke`: turns off everything from one author or origin, and on again.

use ken_core::event::Switch;
use ken_core::source::Source;
use serde::Serialize;

use super::Session;
use crate::args::RevokeArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

#[derive(Serialize)]
struct RevokedObject {
    schema: &'static str,
    source: String,
    revoked: bool,
    entries: usize,
}

pub(super) fn run(session: &mut Session<'_>, args: &RevokeArgs) -> Result<Exit, Failure> {
    let source = match (&args.author, args.origin) {
        (Some(author), _) => Source::Author(author.clone()),
        (None, Some(origin)) => Source::Origin(origin),
        (None, None) => return Err(Failure::usage("name an author or an origin")),
    };
    let state = if args.undo { Switch::Off } else { Switch::On };
    let entries = session.write(|engine, by| Ok(engine.revoke(&source, state, by)?))?;
    if session.is_json() {
        session.printer.json(&RevokedObject {
            schema: "ken.revoked.v1",
            source: source.to_string(),
            revoked: state == Switch::On,
            entries,
        })?;
        return Ok(Exit::Fine);
    }
    session.printer.line(&source)?;
    let entries = counted(entries as u64, "entry", "entries");
    match state {
        Switch::On => {
            session.printer.talk(format_args!(
                "revoked: agents are not shown the {entries} from it any more"
            ))?;
            let what = match &source {
                Source::Author(author) => format!("--author {author}"),
                Source::Origin(origin) => format!("--origin {}", origin.name()),
            };
            session
                .printer
                .hint(format_args!("`ken revoke {what} --undo` takes it back"))?;
        }
        Switch::Off => session.printer.talk(format_args!(
            "taken back: the {entries} from it count again"
        ))?,
    }
    Ok(Exit::Fine)
}
