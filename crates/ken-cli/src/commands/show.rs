//! `ken show`: one entry, for people; below `ken knowledge` as canonical JSON.

use ken_core::canonical;
use ken_core::entry::{Approval, Entry};
use ken_core::event::Recorded;
use ken_core::run::How;
use ken_engine::Engine;
use ken_engine::lift::Grounds;
use ken_engine::promotion::Standing;

use super::Session;
use crate::args::{Format, ShowArgs, Surface};
use crate::asking;
use crate::failure::{Exit, Failure};
use crate::print::entry_text;
use crate::print::worth::grounds_text;
use ken_core::object::EntryObject;

pub(super) fn run(session: &mut Session<'_>, args: &ShowArgs) -> Result<Exit, Failure> {
    let default = match session.surface {
        Surface::Top => Format::Text,
        Surface::Knowledge => Format::Json,
    };
    let surroundings = session.surroundings.clone();
    let ask = |engine: &mut Engine| {
        asking::find(&surroundings, engine, &args.which.id, |engine, entry| {
            asked_of(engine, entry, args.explain)
        })
    };
    let Asked {
        entry,
        versions,
        approvals,
        grounds,
    } = session.read_shown(How::Show, ask, |it| vec![it.entry.id])?;
    if !session.printer.is_json(default) {
        let width = session.printer.width();
        session
            .printer
            .text(entry_text::render(&entry, &versions, &approvals, width))?;
        if let Some(grounds) = &grounds {
            session.printer.text(grounds_text(&entry, grounds))?;
        }
        return Ok(Exit::Fine);
    }
    let mut object = EntryObject::new(&entry).asked_for(&entry, &args.which.id);
    if !approvals.is_empty() {
        let standings: Vec<String> = approvals.iter().map(|(_, it)| standing(it)).collect();
        object = object.with("approval_standings", standings.into());
    }
    match session.surface {
        Surface::Top => session.printer.json(&object)?,
        Surface::Knowledge => session.printer.line(canonical::to_string(&object))?,
    }
    Ok(Exit::Fine)
}

/// All there is to show of one entry.
struct Asked {
    entry: Entry,
    versions: Vec<Recorded>,
    approvals: Vec<(Approval, Standing)>,
    grounds: Option<Grounds>,
}

fn asked_of(engine: &mut Engine, entry: Entry, explain: bool) -> Result<Asked, Failure> {
    Ok(Asked {
        versions: versions(engine, &entry)?,
        approvals: engine.standings(&entry)?,
        grounds: explain.then(|| engine.grounds_of(&entry)).transpose()?,
        entry,
    })
}

/// Returns what an approval is worth, in the words of programs.
fn standing(it: &Standing) -> String {
    match it {
        Standing::Unsigned => "unsigned".to_owned(),
        Standing::Signed => "signed".to_owned(),
        Standing::Doubtful(why) => format!("invalid: {why}"),
    }
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
