//! `ken observe`: what an agent found, for Ken to judge.
//!
//! The answer names no entry: whoever found something before has not seen one yet, and need not now.

use ken_core::anchor::Anchor;
use ken_core::run::Finding;
use serde::Serialize;

use super::Session;
use crate::args::ObserveArgs;
use crate::failure::{Exit, Failure};

#[derive(Serialize)]
struct ObservedObject<'a> {
    schema: &'static str,
    run: &'a str,
}

pub(super) fn run(session: &mut Session<'_>, args: ObserveArgs) -> Result<Exit, Failure> {
    let anchor = |at| Anchor {
        at,
        fingerprint: None,
    };
    let finding = Finding {
        statement: args.statement,
        evidence: args.anchor.into_iter().map(anchor).collect(),
        verify: args.verify,
        severity_milli: args.severity,
        confidence_milli: args.confidence,
        dismissed: args.dismissed,
    };
    let run = session.write_as(|engine, reader| Ok(engine.observe(reader, finding)?))?;
    if session.is_json() {
        session.printer.json(&ObservedObject {
            schema: "ken.observe.v1",
            run: &run.id,
        })?;
        return Ok(Exit::Fine);
    }
    session.printer.line(&run.id)?;
    session
        .printer
        .talk("noted; what it confirms or becomes is decided when the run is closed")?;
    Ok(Exit::Fine)
}
