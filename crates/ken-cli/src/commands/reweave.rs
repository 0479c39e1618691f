//! `ken reweave`: gives an entry new evidence, and new words if need be.

use super::Session;
use crate::args::ReweaveArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: ReweaveArgs) -> Result<Exit, Failure> {
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.entry)?.id;
        Ok(engine.reweave(id, args.evidence, args.statement, by)?)
    })?;
    session.written(&entry, "rewoven: the evidence is part of it now")
}
