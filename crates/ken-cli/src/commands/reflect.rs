//! `ken reflect`: what claims that wait would repeat, contradict or link to.

use ken_engine::digest::Relation;

use super::Session;
use crate::failure::{Exit, Failure};
use crate::print::{counted, cut, visible};

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let reflection = session.read(|engine| Ok(engine.reflect()?))?;
    if session.is_json() {
        session.printer.json(&reflection)?;
        return Ok(Exit::Fine);
    }
    let width = session.printer.width();
    for seen in &reflection.seen {
        let word = match seen.relation {
            Relation::Contradiction => "contradicts",
            Relation::Duplicate => "says the same as",
            Relation::Link => "is about the same as",
        };
        session
            .printer
            .line(format_args!("{} {word} {}", seen.staged, seen.with))?;
        for said in [&seen.says, &seen.other_says] {
            session
                .printer
                .line(cut(&format!("    {}", visible(said)), width))?;
        }
    }
    let claims = counted(reflection.staged as u64, "claim", "claims");
    let entries = counted(reflection.entries as u64, "entry", "entries");
    let pairs = counted(reflection.compared as u64, "pair", "pairs");
    session.printer.talk(format_args!(
        "{claims} held against {entries}, {pairs} compared"
    ))?;
    Ok(Exit::Fine)
}
