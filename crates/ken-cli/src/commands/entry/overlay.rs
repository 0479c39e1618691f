//! `ken entry pin`, `mute`, `invalidate` and `annotate`: overlays, which change the ranking and
//! visibility of an entry, not its validity.

use clap::Args;
use ken_core::ledger::event::{Overlay, Switch};
use ken_core::values::text::enum_label;

use crate::commands::{Session, note};
use crate::failure::{CommandExit, CommandFailure};

/// Arguments of every overlay.
#[derive(Debug, Args)]
pub(crate) struct OverlayArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// Remove the overlay
    #[arg(long)]
    pub(crate) off: bool,
    /// The reason, or the text of an annotation
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    overlay: Overlay,
    args: OverlayArgs,
) -> Result<CommandExit, CommandFailure> {
    let reason = note(args.note)?;
    let (state, did) = if args.off {
        (Switch::Off, "removed")
    } else {
        (Switch::On, "set")
    };
    let entry = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok(engine.set_overlay(id, overlay, state, reason, by)?)
    })?;
    session.written(&entry, format_args!("{} {did}", enum_label(&overlay)))
}
