//! `ken inbox compare`: lists entries that pending claims repeat, contradict or relate to.

use ken_core::trust::run::ExposureChannel;
use ken_core::values::id::EntryId;
use ken_engine::import::RelationKind;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize, truncate_columns};

pub(in crate::commands) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let reflection = session.read_shown(
        ExposureChannel::Pull,
        |engine| Ok(engine.reflect()?),
        |reflection| {
            let named = reflection.seen.iter().flat_map(|it| [&it.staged, &it.with]);
            // The others are inbox claims.
            let mut entries: Vec<EntryId> = named.filter_map(|it| it.parse().ok()).collect();
            entries.sort();
            entries.dedup();
            entries
        },
    )?;
    if session.is_json() {
        session.printer.json(&reflection)?;
        return Ok(CommandExit::Fine);
    }
    let width = session.printer.width();
    for seen in &reflection.seen {
        let word = match seen.relation {
            RelationKind::Contradiction => "contradicts",
            RelationKind::Duplicate => "duplicates",
            RelationKind::Link => "relates to",
        };
        session
            .printer
            .line(format_args!("{} {word} {}", seen.staged, seen.with))?;
        for statement in [&seen.says, &seen.other_says] {
            session.printer.line(truncate_columns(
                &format!("    {}", escape_invisible(statement)),
                width,
            ))?;
        }
    }
    let claims = pluralize(reflection.staged as u64, "claim", "claims");
    let entries = pluralize(reflection.entries as u64, "entry", "entries");
    let pairs = pluralize(reflection.compared as u64, "pair", "pairs");
    session.printer.talk(format_args!(
        "{claims} compared with {entries}, {pairs} checked"
    ))?;
    Ok(CommandExit::Fine)
}
