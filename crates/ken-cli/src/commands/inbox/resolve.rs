//! `ken inbox resolve`: resolves a contradiction.

use clap::Args;
use ken_core::trust::run::ExposureChannel;
use ken_core::values::text::Tag;
use ken_engine::contradictions::ContradictionResolution;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::escape_invisible;

/// `ken inbox resolve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken inbox resolve L-7k2f L-9d2c\n  ken inbox resolve L-7k2f L-9d2c --keep L-7k2f\n  ken inbox resolve L-7k2f L-9d2c --both",
    group = clap::ArgGroup::new("how").args(["keep", "both", "scope"]),
)]
pub(crate) struct ResolveArgs {
    /// One entry
    pub(crate) one: String,
    /// The other entry
    pub(crate) other: String,
    /// The entry to keep; it supersedes the other
    #[arg(long, value_name = "ID")]
    pub(crate) keep: Option<String>,
    /// Keep both entries
    #[arg(long)]
    pub(crate) both: bool,
    /// Keep both entries, this one limited to TAG; may be repeated
    #[arg(long, value_name = "ID=TAG")]
    pub(crate) scope: Vec<String>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &ResolveArgs,
) -> Result<CommandExit, CommandFailure> {
    if args.keep.is_none() && !args.both && args.scope.is_empty() {
        return show_choices(session, args);
    }
    let message = session.write(|engine, by| {
        let (one, other) = (engine.find(&args.one)?.id, engine.find(&args.other)?.id);
        let side = |text: &str| {
            let id = engine.find(text)?.id;
            if id == one || id == other {
                Ok(id)
            } else {
                Err(CommandFailure::usage(format!(
                    "{id} is neither {one} nor {other}"
                )))
            }
        };
        let (how, message) = match &args.keep {
            Some(kept) => {
                let kept = side(kept)?;
                let left = if kept == one { other } else { one };
                (
                    ContradictionResolution::Keep(kept),
                    format!("kept {kept}; it supersedes {left}"),
                )
            }
            None if args.both => (ContradictionResolution::Both, "kept both".to_owned()),
            None => {
                let mut scopes = Vec::new();
                for text in &args.scope {
                    let Some((id, tag)) = text.split_once('=') else {
                        return Err(CommandFailure::usage(format!(
                            "`{text}` is not a valid ID=TAG"
                        )));
                    };
                    let tag: Tag = tag.parse().map_err(CommandFailure::usage)?;
                    scopes.push((side(id)?, tag));
                }
                (
                    ContradictionResolution::Scoped(scopes),
                    "kept both, each limited to its tag".to_owned(),
                )
            }
        };
        engine.resolve_contradiction(one, other, how, by)?;
        Ok(message)
    })?;
    if session.is_json() {
        session.printer.json(&serde_json::json!({
            "schema": "ken.resolved.v1", "first": args.one, "second": args.other, "said": message
        }))?;
    } else {
        session.printer.talk(message)?;
    }
    Ok(CommandExit::Fine)
}

/// Prints both entries and the ways to resolve the contradiction.
fn show_choices(
    session: &mut Session<'_>,
    args: &ResolveArgs,
) -> Result<CommandExit, CommandFailure> {
    let (one, other) = session.read_shown(
        ExposureChannel::Pull,
        |engine| Ok((engine.find(&args.one)?, engine.find(&args.other)?)),
        |(one, other)| vec![one.id, other.id],
    )?;
    let (first, second) = (one.id, other.id);
    for entry in [&one, &other] {
        let title = escape_invisible(&entry.title());
        session
            .printer
            .line(format_args!("{}  {title}", entry.id))?;
    }
    session.printer.hint(format_args!(
        "choose `ken inbox resolve {first} {second}` with `--keep {first}`, `--keep {second}`, `--both` or `--scope ID=TAG`"
    ))?;
    Ok(CommandExit::Refused)
}
