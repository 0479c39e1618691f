//! `ken mark`: an operator's mark on an entry, which changes what is shown and not what is true.

use ken_core::event::Switch;
use ken_core::text::word;

use super::{Session, note};
use crate::args::MarkArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: MarkArgs) -> Result<Exit, Failure> {
    let reason = note(args.note)?;
    let (state, did) = if args.off {
        (Switch::Off, "no longer marked")
    } else {
        (Switch::On, "marked")
    };
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.set_overlay(id, args.mark, state, reason, by)?)
    })?;
    session.written(&entry, format_args!("{did}: {}", word(&args.mark)))
}
