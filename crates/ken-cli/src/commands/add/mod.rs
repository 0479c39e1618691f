//! `ken add`: one entry from flags or JSON, or many from JSON lines.

mod capture;
mod harvest;
mod input;
mod lines;

use ken_core::entry::Entry;

use super::Session;
use crate::args::AddArgs;
use crate::failure::{Exit, Failure};

pub(super) use capture::run as capture;
pub(crate) use input::EntryInput;

pub(super) fn run(session: &mut Session<'_>, args: &AddArgs) -> Result<Exit, Failure> {
    if let Some(path) = &args.from_jsonl {
        return lines::run(session, args, path);
    }
    let mut input = match &args.content {
        Some(json) => EntryInput::parse(json).map_err(|failure| failure.at("--content"))?,
        None => EntryInput::default(),
    };
    input.apply(args)?;
    let (entry, against) = session.write_as(|engine, reader| {
        let proposal = input.proposal(engine, &reader.agent)?;
        let added = engine.add_for(reader, vec![proposal])?;
        Ok((engine.entry(added[0])?, engine.norms_against(added[0])?))
    })?;
    tell_quarantine(session, &entry)?;
    for it in &against {
        let (one, other) = (it.first.id, it.second.id);
        session.printer.note(&format!(
            "{one} and {other} contradict each other ({}); `ken verify` fails until `ken resolve {one} {other}` settles it",
            it.why
        ))?;
    }
    let file = entry.file_name().unwrap_or_default();
    session.written(
        &entry,
        format_args!("added as {}: .ken/entries/{file}", entry.status.value),
    )
}

/// Says that the guard set the entry apart, which nobody would notice otherwise.
fn tell_quarantine(session: &mut Session<'_>, entry: &Entry) -> Result<(), Failure> {
    if entry.quarantine.is_empty() {
        return Ok(());
    }
    let id = entry.id;
    let held = session.read(|engine| Ok(engine.held_entry(id)?))?;
    let why = held.map_or_else(String::new, |it| it.why);
    session.printer.note(&format!(
        "{id} is quarantined: {why}; a person lets it out with `ken quarantine lift {id} --reason TEXT`"
    ))
}
