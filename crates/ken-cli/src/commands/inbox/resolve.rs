//! `ken inbox resolve`: resolves a contradiction.

use clap::Args;
use ken_core::values::text::Tag;
use ken_engine::contradictions::ContradictionResolution;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken inbox resolve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken inbox resolve L-7k2f L-9d2c --keep L-7k2f\n  ken inbox resolve L-7k2f L-9d2c --both",
    group = clap::ArgGroup::new("how").required(true).args(["keep", "both", "scope"]),
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
    let said = session.write(|engine, by| {
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
        let (how, said) = match &args.keep {
            Some(kept) => {
                let kept = side(kept)?;
                let left = if kept == one { other } else { one };
                (
                    ContradictionResolution::Keep(kept),
                    format!("{kept} stays, {left} gives way to it"),
                )
            }
            None if args.both => (
                ContradictionResolution::Both,
                "both stay, side by side".to_owned(),
            ),
            None => {
                let mut scopes = Vec::new();
                for text in &args.scope {
                    let Some((id, tag)) = text.split_once('=') else {
                        return Err(CommandFailure::usage(format!("`{text}` is not ID=TAG")));
                    };
                    let tag: Tag = tag.parse().map_err(CommandFailure::usage)?;
                    scopes.push((side(id)?, tag));
                }
                (
                    ContradictionResolution::Scoped(scopes),
                    "both stay, each for its own".to_owned(),
                )
            }
        };
        engine.resolve_contradiction(one, other, how, by)?;
        Ok(said)
    })?;
    if session.is_json() {
        session.printer.json(&serde_json::json!({
            "schema": "ken.resolved.v1", "first": args.one, "second": args.other, "said": said
        }))?;
    } else {
        session.printer.talk(said)?;
    }
    Ok(CommandExit::Fine)
}
