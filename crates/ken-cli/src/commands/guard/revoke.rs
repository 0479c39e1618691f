//! `ken guard revoke`: disables every entry from one author or origin, and enables it again.

use std::collections::BTreeSet;

use clap::Args;
use ken_core::ledger::event::{Origin, Switch};
use ken_core::ledger::source::ContributionSource;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_engine::runs::BlastRadius;
use serde::Serialize;

use crate::args::values;
use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};

/// Names listed per line.
const LISTED_MAX: usize = 10;

/// `ken guard revoke`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken guard revoke --author agent:scraper --dry-run\n  ken guard revoke --author agent:scraper\n  ken guard revoke --author agent:scraper --undo"
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
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) undo: bool,
    /// Only show how far its entries have spread
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Serialize)]
struct RevokedObject {
    schema: &'static str,
    source: String,
    revoked: bool,
    entries: usize,
    /// Entries of others that were made from them.
    derived: BTreeSet<EntryId>,
    runs: BTreeSet<String>,
    commits: BTreeSet<String>,
    clones: BTreeSet<String>,
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
    let radius = session.read(|engine| Ok(engine.blast_radius(&source)?))?;
    if !args.dry_run {
        session.write(|engine, by| Ok(engine.revoke(&source, state, by)?))?;
    }
    let entries = radius.entries.len();
    if session.is_json() {
        session.printer.json(&RevokedObject {
            schema: "ken.revoked.v1",
            source: source.to_string(),
            revoked: state == Switch::On && !args.dry_run,
            entries,
            derived: radius.derived,
            runs: radius.runs,
            commits: radius.commits,
            clones: radius.clones,
        })?;
        return Ok(CommandExit::Fine);
    }
    session.printer.line(&source)?;
    if state == Switch::On {
        print_radius(session, &radius)?;
    }
    let entries = pluralize(entries as u64, "entry", "entries");
    match state {
        Switch::On if args.dry_run => session
            .printer
            .talk(format_args!("nothing was revoked; it would be {entries}"))?,
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

/// Prints how far the entries of a source have spread, as far as this clone knows.
fn print_radius(session: &mut Session<'_>, radius: &BlastRadius) -> Result<(), CommandFailure> {
    let derived = radius.derived.iter().map(ToString::to_string).collect();
    let reached = [
        ("made from them", derived),
        ("shown in runs", radius.runs.iter().cloned().collect()),
        (
            "commits of these runs",
            radius.commits.iter().cloned().collect(),
        ),
        (
            "recorded by clones",
            radius.clones.iter().cloned().collect(),
        ),
    ];
    for (what, names) in reached {
        let names: Vec<String> = names;
        let listed = names.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>();
        let more = names.len().saturating_sub(LISTED_MAX);
        let mut line = format!("  {what}: {}", names.len());
        if !listed.is_empty() {
            line.push_str(&format!(" ({}", listed.join(", ")));
            line.push_str(if more > 0 { ", …)" } else { ")" });
        }
        session.printer.line(escape_invisible(&line))?;
    }
    Ok(())
}
