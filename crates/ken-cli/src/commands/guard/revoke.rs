//! `ken guard revoke`: disables every entry from one author or origin, and enables it again.

use clap::Args;
use ken_core::ledger::event::{Origin, Switch};
use ken_core::ledger::source::ContributionSource;
use ken_core::values::actor::Actor;
use serde::Serialize;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken guard revoke`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken guard revoke --author agent:scraper\n  ken guard revoke --author agent:scraper --undo"
)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["author", "origin"]))]
pub(crate) struct RevokeArgs {
    /// Revoke everything by this author, including its sessions (agent:NAME/…)
    #[arg(long, value_name = "ACTOR")]
    pub(crate) author: Option<Actor>,
    /// Revoke everything from this origin
    #[arg(long, value_name = "ORIGIN", value_parser = values::word::<Origin>(&["human", "agent", "ci", "import", "peer", "web"]))]
    pub(crate) origin: Option<Origin>,
    /// Undo a revocation
    #[arg(long)]
    pub(crate) undo: bool,
}

#[derive(Serialize)]
struct RevokedObject {
    schema: &'static str,
    source: String,
    revoked: bool,
    entries: usize,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &RevokeArgs,
) -> Result<CommandExit, CommandFailure> {
    let source = match (&args.author, args.origin) {
        (Some(author), _) => ContributionSource::Author(author.clone()),
        (None, Some(origin)) => ContributionSource::Origin(origin),
        (None, None) => return Err(CommandFailure::usage("give an author or an origin")),
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
        return Ok(CommandExit::Fine);
    }
    session.printer.line(&source)?;
    let entries = pluralize(entries as u64, "entry", "entries");
    match state {
        Switch::On => {
            session.printer.talk(format_args!(
                "revoked: agents no longer see the {entries} from this source"
            ))?;
            let what = match &source {
                ContributionSource::Author(author) => format!("--author {author}"),
                ContributionSource::Origin(origin) => format!("--origin {}", origin.name()),
            };
            session.printer.hint(format_args!(
                "`ken guard revoke {what} --undo` undoes the revocation"
            ))?;
        }
        Switch::Off => session.printer.talk(format_args!(
            "revocation undone: agents see the {entries} from this source again"
        ))?,
    }
    Ok(CommandExit::Fine)
}
