//! `ken scoring`: how much each signal counts when entries are ranked.

use ken_core::score::Weights;
use ken_engine::scoring::Scoring;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Session;
use crate::args::{ScoringCommand, Share};
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct ScoringObject {
    schema: &'static str,
    /// Whether the workspace chose the weights itself.
    own: bool,
    weights: Weights,
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: Option<ScoringCommand>,
) -> Result<Exit, Failure> {
    let scoring = match command {
        None | Some(ScoringCommand::Show) => session.read(|engine| Ok(engine.scoring()?))?,
        Some(ScoringCommand::Set { shares }) => {
            let weights = weights(&shares)?;
            session.write(|engine, by| Ok(engine.set_scoring(Some(weights), by)?))?
        }
        Some(ScoringCommand::Reset) => {
            session.write(|engine, by| Ok(engine.set_scoring(None, by)?))?
        }
    };
    print(session, scoring)?;
    Ok(Exit::Fine)
}

fn weights(shares: &[Share]) -> Result<Weights, Failure> {
    let mut members = Map::new();
    for Share { name, weight } in shares {
        members.insert(name.clone(), Value::from(*weight));
    }
    let hint = "give all six, such as semantic=0.38 thompson=0.25 freshness=0.15 status=0.10 thread=0.07 cooccurrence=0.05";
    Weights::from_json(&Value::Object(members)).map_err(|e| Failure::usage(e).with_hint(hint))
}

fn print(session: &mut Session<'_>, scoring: Scoring) -> Result<(), Failure> {
    let Scoring { weights, own } = scoring;
    if session.is_json() {
        return session.printer.json(&ScoringObject {
            schema: "ken.scoring.v1",
            own,
            weights,
        });
    }
    for (name, weight) in weights.named() {
        session
            .printer
            .line(format_args!("{name:<14}{weight:>5.2}"))?;
    }
    let whose = if own {
        "chosen for this workspace"
    } else {
        "the default"
    };
    session.printer.talk(whose)
}
