//! `ken cite`: adds evidence to an entry, for ever.

use super::Session;
use crate::args::CiteArgs;
use crate::failure::{Exit, Failure};
use crate::print::counted;

pub(super) fn run(session: &mut Session<'_>, args: CiteArgs) -> Result<Exit, Failure> {
    let entry = session.write(|engine, by| {
        let mut entry = engine.find(&args.id)?;
        for evidence in args.evidence {
            entry = engine.cite(entry.id, evidence, by)?;
        }
        Ok(entry)
    })?;
    let count = counted(entry.citations.len() as u64, "citation", "citations");
    session.written(&entry, format_args!("cited; it has {count} now"))
}
