//! `ken duplicates`: entries that seem to say the same.

use ken_core::likeness::Merging;
use ken_core::run::How;
use ken_engine::pairs::Pair;
use serde::Serialize;

use super::Session;
use crate::args::DuplicatesArgs;
use crate::failure::{Exit, Failure};
use crate::print::{counted, cut};

/// Columns of a claim.
const CLAIM_WIDTH: usize = 84;

#[derive(Serialize)]
struct PairObject {
    schema: &'static str,
    first: String,
    second: String,
    cosine: Option<f64>,
    /// Whether they say the same without doubt.
    sure: bool,
}

pub(super) fn run(session: &mut Session<'_>, args: &DuplicatesArgs) -> Result<Exit, Failure> {
    if let [one, other] = &args.dismiss[..] {
        session.write(|engine, by| {
            let (one, other) = (engine.find(one)?.id, engine.find(other)?.id);
            Ok(engine.dismiss_duplicate(one, other, by)?)
        })?;
        session
            .printer
            .talk("they stay two, and are not listed again")?;
        return Ok(Exit::Fine);
    }
    let pairs = session.read_shown(
        How::Pull,
        |engine| Ok(engine.duplicates()?),
        |pairs| {
            pairs
                .iter()
                .flat_map(|it| [it.first.id, it.second.id])
                .collect()
        },
    )?;
    for pair in &pairs {
        one(session, pair)?;
    }
    if session.is_json() {
        return Ok(Exit::Fine);
    }
    match pairs.first() {
        None => session
            .printer
            .talk("no two entries seem to say the same")?,
        Some(Pair { first, second, .. }) => {
            let count = counted(pairs.len() as u64, "pair", "pairs");
            session.printer.talk(count)?;
            let (first, second) = (first.id, second.id);
            session.printer.hint(format_args!(
                "`ken merge {second} --into {first}` makes two one, `ken duplicates --dismiss {first} {second}` keeps them apart"
            ))?;
        }
    }
    Ok(Exit::Fine)
}

fn one(session: &mut Session<'_>, pair: &Pair) -> Result<(), Failure> {
    let sure = pair.merging == Merging::Merge;
    if session.is_json() {
        return session.printer.json(&PairObject {
            schema: "ken.duplicates.v1",
            first: pair.first.id.to_string(),
            second: pair.second.id.to_string(),
            cosine: pair.cosine,
            sure,
        });
    }
    let word = if sure { "the same" } else { "alike" };
    session.printer.line(word)?;
    for entry in [&pair.first, &pair.second] {
        let line = format!("  {}  {}", entry.id, cut(&entry.title(), CLAIM_WIDTH));
        session.printer.line(line)?;
    }
    Ok(())
}
