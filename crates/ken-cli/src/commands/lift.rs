//! `ken lift`: outcomes of work with entries and without, where chance decided.

use ken_core::entry::Entry;
use ken_core::lift::Worth;
use ken_core::run::How;
use serde::Serialize;

use super::Session;
use crate::args::LiftArgs;
use crate::failure::{Exit, Failure};
use crate::print::cut;
use crate::print::worth::worth_text;

/// Columns of a title beside a chart.
const TITLE_WIDTH: usize = 60;

#[derive(Serialize)]
struct LiftObject {
    schema: &'static str,
    /// Absent for all entries together.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    worth: Worth,
}

pub(super) fn run(session: &mut Session<'_>, args: &LiftArgs) -> Result<Exit, Failure> {
    if let Some(id) = &args.id {
        let entry = session.read_shown(
            How::Show,
            |engine| Ok(engine.find(id)?),
            |entry| vec![entry.id],
        )?;
        let worth = entry.tallies.worth();
        return one(session, Some(&entry), worth);
    }
    let lifts = session.read_shown(
        How::Pull,
        |engine| Ok(engine.lifts()?),
        |lifts| lifts.entries.iter().map(|(entry, _)| entry.id).collect(),
    )?;
    one(session, None, lifts.all)?;
    for (entry, worth) in &lifts.entries {
        one(session, Some(entry), *worth)?;
    }
    if lifts.entries.is_empty() {
        session.printer.hint("entries are tried where `ken brief --run RUN` gives them to agents of a run that `ken run open` began")?;
    }
    Ok(Exit::Fine)
}

fn one(session: &mut Session<'_>, entry: Option<&Entry>, worth: Worth) -> Result<Exit, Failure> {
    if session.is_json() {
        session.printer.json(&LiftObject {
            schema: "ken.lift.v1",
            id: entry.map(|it| it.id.to_string()),
            worth,
        })?;
        return Ok(Exit::Fine);
    }
    let name = match entry {
        Some(entry) => format!("{}  {}", entry.id, cut(&entry.title(), TITLE_WIDTH)),
        None => "all entries".to_owned(),
    };
    session.printer.line(name)?;
    session
        .printer
        .line(format_args!("    {}", worth_text(worth)))?;
    Ok(Exit::Fine)
}
