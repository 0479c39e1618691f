//! `ken show`: one entry, for people; below `ken knowledge` as canonical JSON.

use ken_core::canonical;
use ken_core::entry::Entry;
use ken_core::event::Recorded;
use ken_core::run::How;
use ken_engine::Engine;

use super::Session;
use crate::args::{Format, ShowArgs, Surface};
use crate::failure::{Exit, Failure};
use crate::print::entry_json::EntryObject;
use crate::print::entry_text;
use crate::print::worth::grounds_text;

pub(super) fn run(session: &mut Session<'_>, args: &ShowArgs) -> Result<Exit, Failure> {
    let default = match session.surface {
        Surface::Top => Format::Text,
        Surface::Knowledge => Format::Json,
    };
    let ask = |engine: &mut Engine| {
        let entry = engine.find(&args.which.id)?;
        let versions = versions(engine, &entry)?;
        let grounds = args
            .explain
            .then(|| engine.grounds_of(&entry))
            .transpose()?;
        Ok((entry, versions, grounds))
    };
    let (entry, versions, grounds) =
        session.read_shown(How::Show, ask, |(entry, ..)| vec![entry.id])?;
    if !session.printer.is_json(default) {
        let width = session.printer.width();
        session
            .printer
            .text(entry_text::render(&entry, &versions, width))?;
        if let Some(grounds) = &grounds {
            session.printer.text(grounds_text(&entry, grounds))?;
        }
        return Ok(Exit::Fine);
    }
    let object = EntryObject::new(&entry).asked_for(&entry, &args.which.id);
    match session.surface {
        Surface::Top => session.printer.json(&object)?,
        Surface::Knowledge => session.printer.line(canonical::to_string(&object))?,
    }
    Ok(Exit::Fine)
}

/// Returns the events of concurrent wordings, the one that is shown first.
pub(crate) fn versions(engine: &Engine, entry: &Entry) -> Result<Vec<Recorded>, Failure> {
    if entry.concurrent.is_empty() {
        return Ok(Vec::new());
    }
    let shown = entry
        .revision
        .iter()
        .filter(|id| !entry.concurrent.contains(id));
    let mut versions = Vec::new();
    for id in shown.chain(&entry.concurrent) {
        versions.push(engine.event(&id.to_string())?);
    }
    Ok(versions)
}
