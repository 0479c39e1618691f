//! `ken promote`: refuses the one direction that is never open.
//!
//! What agents ran into may suggest a norm but never becomes one by itself: that takes a promotion
//! artifact and a person's approval, which a later release brings.

use ken_core::kind::{Kind, Memory};

use super::Session;
use crate::args::PromoteArgs;
use crate::failure::{Exit, Failure};

/// The release that brings promotion with approval.
const PLANNED_IN: &str = "0.6";

pub(super) fn run(session: &mut Session<'_>, args: &PromoteArgs) -> Result<Exit, Failure> {
    if memory_of(session, &args.from)? == Memory::Episodic {
        let message = format!(
            "directional flow violation: nothing goes from {} to {} by itself",
            args.from, args.to
        );
        let hint = "write the lesson down with `ken add`, citing what shows it, and let a person approve it";
        return Err(Failure::refused("directional_flow", message).with_hint(hint));
    }
    let message = format!(
        "promoting {} to {} is not available yet; it is planned for release {PLANNED_IN}",
        args.from, args.to
    );
    Err(Failure::usage(message)
        .with_hint("until then add the entry where it belongs, citing its source"))
}

/// Returns the memory that `from` names: by itself, by a kind in it, or by an entry.
fn memory_of(session: &mut Session<'_>, from: &str) -> Result<Memory, Failure> {
    let first = from.split('/').next().unwrap_or(from);
    if let Ok(memory) = first.parse() {
        return Ok(memory);
    }
    if let Ok(kind) = first.parse::<Kind>() {
        return Ok(kind.memory());
    }
    let entry = session.read(|engine| Ok(engine.find(from)?))?;
    Ok(entry.id.prefix().memory())
}
