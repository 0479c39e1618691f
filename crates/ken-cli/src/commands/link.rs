//! `ken link`: says how one entry stands to another.

use ken_core::text::word;

use super::Session;
use crate::args::LinkArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: &LinkArgs) -> Result<Exit, Failure> {
    let (entry, to) = session.write(|engine, by| {
        let (from, to) = (engine.find(&args.from)?.id, engine.find(&args.to)?.id);
        Ok((engine.link(from, to, args.rel, by)?, to))
    })?;
    let (id, rel) = (entry.id, word(&args.rel));
    session.written(&entry, format_args!("linked: {id} {rel} {to}"))
}
